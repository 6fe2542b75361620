/** Generated conversations for property tests: valid ones, and odd ones that real clients send. */

import fc from 'fast-check';
import type { RelativePrices } from '../../../src/memory/models/schedules.ts';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import type { ViewOptions } from '../laws/view-of.ts';
import { lines } from './chat.ts';
import { anyPath, anyUrl } from './urls.ts';

type Message = Record<string, unknown>;

/** Few names and ids, so that they repeat across turns as in real traffic. */
const toolName = fc.constantFrom('search', 'read_file', 'run', 'write_file', 'a tool with spaces', 'état');
const callId = fc.constantFrom('call_1', 'call_2', 'call_3', 'call (odd); id=1⟧', 'x'.repeat(80));

const outputText = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 200, maxLength: 600 }),
  fc.array(anyUrl, { minLength: 3, maxLength: 12 }).map((urls) => urls.join('\n')),
  fc
    .array(fc.record({ id: fc.uuid(), total: fc.double({ noNaN: true }), path: anyPath }), {
      maxLength: 8,
    })
    .map((rows) => JSON.stringify(rows)),
  fc.constantFrom(
    '⟦removed: tool output for search (call_id=call_1); reason=context_compaction⟧',
    '\ud83d\ude00'.repeat(90),
  ),
);

const textPart = (text: string): Message => ({ type: 'text', text });

/** A text as the content of a message: a string or parts. */
const contentOf = (outputText: fc.Arbitrary<string>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 4, arbitrary: outputText as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: outputText.map((text) => [textPart(text)]) },
    {
      weight: 1,
      arbitrary: fc.array(outputText, { minLength: 2, maxLength: 3 }).map((texts) => texts.map(textPart)),
    },
    {
      weight: 1,
      arbitrary: outputText.map((text) => [
        { ...textPart(text), source: 'of page 7', cache_control: { type: 'ephemeral' } },
      ]),
    },
  );

const argumentsText = fc.oneof(
  fc.constant('{}'),
  fc.record({ query: fc.string({ maxLength: 300 }), n: fc.integer() }).map((value) => JSON.stringify(value)),
  fc.constantFrom('not json', '[1,2]', '{"_removed": "by me"}'),
);

const asked: fc.Arbitrary<Message> = fc.oneof(
  fc.string({ maxLength: 60 }).map((content): Message => ({ role: 'user', content })),
  fc.string({ maxLength: 20 }).map(
    (text): Message => ({
      role: 'user',
      content: [
        textPart(text),
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    }),
  ),
);

const answer: fc.Arbitrary<Message> = fc.record(
  {
    role: fc.constant('assistant'),
    content: fc.string({ maxLength: 60 }),
    reasoning_content: fc.string({ maxLength: 20 }),
  },
  { requiredKeys: ['role', 'content'] },
);

/** The generators that conversations are made from. */
interface Ingredients {
  readonly user: fc.Arbitrary<Message>;
  /** The fields of a step's reasoning. */
  readonly thought: fc.Arbitrary<Message>;
  readonly input: fc.Arbitrary<string>;
  readonly output: fc.Arbitrary<string>;
}

const stepOf = ({ thought, input, output }: Ingredients): fc.Arbitrary<Message[]> =>
  fc
    .record({
      content: fc.oneof(fc.constant(null), fc.string({ maxLength: 30 })),
      thought,
      calls: fc.uniqueArray(fc.record({ id: callId, name: toolName, input, output: contentOf(output) }), {
        minLength: 1,
        maxLength: 3,
        selector: (call) => call.id,
      }),
      reversed: fc.boolean(),
    })
    .map(({ content, thought, calls, reversed }) => {
      const results = calls.map(
        ({ id, output }): Message => ({ role: 'tool', tool_call_id: id, content: output }),
      );
      return [
        {
          role: 'assistant',
          content,
          ...thought,
          tool_calls: calls.map(({ id, name, input }) => ({
            id,
            type: 'function',
            function: { name, arguments: input },
          })),
        },
        ...(reversed ? results.toReversed() : results),
      ];
    });

/** What a program says after the results of a step. */
const remark = fc
  .oneof(
    fc
      .nat(99)
      .map((of) => `<environment_details>\n${lines(1 + (of % 20), 'open file')}\n</environment_details>`),
    fc.nat(99).map((of) => `Progress: ${of}/100`),
    fc.constant('[The editor has saved all files]'),
    fc.constant('Go on, please.'),
  )
  .map((content): Message => ({ role: 'user', content }));

const turnOf = (ingredients: Ingredients): fc.Arbitrary<Message[]> => {
  const observation = ingredients.output.map(
    (text): Message => ({ role: 'user', content: `Observation: ${text}` }),
  );
  const work = fc.oneof(
    { weight: 3, arbitrary: stepOf(ingredients) },
    fc.tuple(stepOf(ingredients), remark).map(([step, said]) => [...step, said]),
    answer.map((message) => [message]),
    fc.tuple(answer, observation),
  );
  return fc
    .tuple(ingredients.user, fc.array(work, { maxLength: 5 }), fc.option(answer, { nil: undefined }))
    .map(([asked, steps, closing]) => [asked, ...steps.flat(), ...(closing ? [closing] : [])]);
};

const system = fc.constantFrom<Message>(
  { role: 'system', content: 'You are helpful. Today is Monday.' },
  { role: 'developer', content: [textPart('Never guess.')] },
);

export interface ConversationBody {
  readonly model: string;
  readonly messages: Message[];
}

const conversationOf = (ingredients: Ingredients): fc.Arbitrary<ConversationBody> =>
  fc
    .tuple(
      fc.array(system, { maxLength: 2 }),
      fc.array(turnOf(ingredients), { minLength: 1, maxLength: 6 }),
      fc.option(system, { nil: undefined }),
    )
    .map(([preamble, turns, late]) => {
      const [first = [], ...others] = turns;
      const messages = [...preamble, ...first, ...(late ? [late] : []), ...others.flat()];
      return { model: 'gpt-4.1', messages };
    });

/** A conversation that every upstream accepts. */
export const conversation = conversationOf({
  user: asked,
  thought: fc.constant({}),
  input: argumentsText,
  output: outputText,
});

/** More than 1,000 tokens: many lines, one line, or text that no tokenizer shortens. */
const largeText = fc.oneof(
  fc.tuple(fc.integer({ min: 90, max: 160 }), fc.nat(3)).map(([size, of]) => lines(size, `row ${of}`)),
  fc.integer({ min: 90, max: 160 }).map((size) => lines(size).replaceAll('\n', ' ')),
  fc
    .integer({ min: 1_600, max: 2_400 })
    .map((size) => Buffer.from(lines(size)).toString('base64').slice(0, size)),
  fc.constant(`${'\ud83e\udde9e\u0301 '.repeat(500)}\r\n${lines(40)}`),
);

/** Few texts, so that they are repeated. */
const repeatedText = fc.constantFrom(
  ...['a', 'b', 'c'].map((name) => lines(8, `row of ${name}`)),
  'ok',
  'Error: no such row',
);

const image = fc.nat(2).map((of) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${String(of).repeat(400)}` },
}));
const otherPart = fc.constantFrom<object>(
  { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } },
  {
    type: 'file',
    file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${'QUJD'.repeat(90)}` },
  },
  { type: 'file', file: { file_id: 'file-1' } },
  { type: 'text', text: 'and this', cache_control: { type: 'ephemeral' } },
);

/** The reasoning before a step, in the fields that servers have for it. */
const thought: fc.Arbitrary<Message> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: 40 }).map((size) => ({ reasoning_content: lines(size, 'maybe') })),
  },
  fc.nat(9).map((of) => ({ reasoning: lines(9, `thought ${of}`), reasoning_content: 'Well.' })),
  fc.nat(9).map((of) => {
    const text = lines(9, `thought ${of}`);
    const data = 'gAAAAABo'.repeat(20 + of);
    const details = [
      { type: 'reasoning.text', text, signature: 'c2ln' },
      { type: 'reasoning.encrypted', data },
    ];
    return { reasoning: text, reasoning_details: details };
  }),
  fc.constantFrom<Message>({ reasoning_content: '' }, { reasoning: null, reasoning_details: [] }),
);

/**
 * A conversation with everything that `auto` edits: large outputs, repeated ones, large arguments,
 * reasoning, inline images and files.
 */
export const richConversation = conversationOf({
  user: fc.oneof(
    asked,
    fc
      .tuple(
        fc.string({ maxLength: 20 }),
        fc.array(fc.oneof(image, otherPart), { minLength: 1, maxLength: 3 }),
      )
      .map(([text, parts]): Message => ({ role: 'user', content: [textPart(text), ...parts] })),
  ),
  thought,
  input: fc.oneof(
    fc.constantFrom('{}', '{"path":"a.ts"}', '{"path":"b.ts"}'),
    fc.nat(3).map((of) => JSON.stringify({ path: `${of}.ts`, text: lines(50, `code ${of}`) })),
    argumentsText,
  ),
  output: fc.oneof(
    { weight: 2, arbitrary: largeText },
    { weight: 3, arbitrary: repeatedText },
    { weight: 2, arbitrary: fc.nat(9).map((of) => lines(30, `found ${of}`)) },
    { weight: 2, arbitrary: fc.nat(9).map((of) => recordsText(of)) },
    { weight: 2, arbitrary: outputText },
  ),
});

/** JSON: indented, a list of equal records, or in a string. */
function recordsText(of: number): string {
  const records = Array.from({ length: 10 + of }, (_, at) => ({ id: `r${of}_${at}`, size: at, ok: true }));
  const form = of % 3;
  if (form === 0) return JSON.stringify(records, null, 2);
  if (form === 1) return JSON.stringify(records);
  return JSON.stringify({ found: of, text: JSON.stringify({ records }, null, 2) });
}

const withHoles = (conversation: fc.Arbitrary<ConversationBody>): fc.Arbitrary<ConversationBody> =>
  fc.tuple(conversation, fc.array(fc.nat(), { minLength: 1, maxLength: 5 })).map(([body, holes]) => {
    const removed = new Set(holes.map((hole) => hole % body.messages.length));
    const messages = body.messages.filter((_, index) => !removed.has(index));
    return { ...body, messages: messages.length > 0 ? messages : body.messages };
  });

/**
 * A conversation with some messages removed: orphaned results, missing results, no user message.
 */
export const brokenConversation = withHoles(conversation);
export const brokenRichConversation = withHoles(richConversation);

/**
 * A conversation in which ids are unique, some results come late or twice, and some calls wait for
 * theirs. Only ids and positions change.
 */
const withLateResults = (conversation: fc.Arbitrary<ConversationBody>): fc.Arbitrary<ConversationBody> =>
  fc
    .tuple(
      conversation,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 12 }), fc.constantFrom('moved', 'again')), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.option(fc.nat(), { nil: undefined }),
    )
    .map(([body, delays, lost]) => {
      let messages = withOwnIds(body.messages);
      for (const [which, by, how] of delays) {
        const results = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []));
        const at = results[which % Math.max(1, results.length)];
        const result = at === undefined ? undefined : messages[at];
        if (at === undefined || !result) break;
        const others = how === 'moved' ? messages.toSpliced(at, 1) : messages;
        messages = others.toSpliced(Math.min(others.length, at + by), 0, result);
      }
      const last = messages.findLastIndex(({ role }) => role === 'tool');
      if (lost !== undefined && last >= 0) messages = messages.toSpliced(last, 1);
      return { ...body, messages };
    });

function withOwnIds(messages: readonly Message[]): Message[] {
  let ids = new Map<string, string>();
  let count = 0;
  return messages.map((message) => {
    const { tool_calls: calls, tool_call_id: id } = message;
    if (id !== undefined) return { ...message, tool_call_id: ids.get(String(id)) };
    if (!Array.isArray(calls)) return message;
    ids = new Map(calls.map((call) => [call.id, `call_${count++}`]));
    return { ...message, tool_calls: calls.map((call) => ({ ...call, id: ids.get(call.id) })) };
  });
}

export const lateConversation = withLateResults(conversation);
export const lateRichConversation = withLateResults(richConversation);

/** The same conversation with numbers in all tool outputs and calls, so that none is repeated. */
export function withoutRepeats(body: ConversationBody): ConversationBody {
  const numbered = (content: unknown, at: number): unknown => {
    if (typeof content === 'string') return content.replace(/^(Observation: )?/, `$1${at} `);
    return (content as Message[]).map((part, index) => ({ ...part, text: `${at}.${index} ${part.text}` }));
  };
  const messages = body.messages.map((message, at): Message => {
    const { role, content, tool_calls: calls } = message;
    if (role === 'tool' || String(content).startsWith('Observation: '))
      return { ...message, content: numbered(content, at) };
    if (!Array.isArray(calls)) return message;
    const tool_calls = calls.map((call, index) => {
      const { name, arguments: input } = call.function;
      const changed = input.startsWith('{')
        ? input.replace(/^\{ ?/, `{"at":"${at}.${index}"${input === '{}' ? '' : ','}`)
        : `${input} ${at}.${index}`;
      return { ...call, function: { name, arguments: changed } };
    });
    return { ...message, tool_calls };
  });
  return { ...body, messages };
}

const budget = fc.integer({ min: 0, max: 1500 });

/** `rehydrate` for conversations of this size. */
const rehydrate = fc.oneof(
  fc.boolean(),
  fc.record(
    { items: fc.integer({ min: 1, max: 4 }), max_tokens: fc.constantFrom(1, 150, 600, 5_000) },
    { requiredKeys: [] },
  ),
);

/** Settings of `summarize` that act on conversations of this size. */
export const summarizeStrategy: fc.Arbitrary<MemoryStrategyRequest> = fc.record(
  {
    mode: fc.constant('summarize' as const),
    token_budget: budget,
    context_limit: fc.integer({ min: 3, max: 5 }),
    max_messages: fc.integer({ min: 3, max: 12 }),
    keep_last_n_turns: fc.integer({ min: 0, max: 3 }),
    keep_first_user: fc.boolean(),
    summary_max_tokens: fc.constantFrom(64, 100, 300, 2048),
    rehydrate,
    low_watermark_pct: fc.constantFrom(0, 0.5, 0.9),
    min_reclaim_tokens: fc.constantFrom(0, 100),
    frontier: fc.constantFrom('jump' as const, 'slide' as const),
    text_observation_prefixes: fc.constant<string[]>(['Observation:']),
  },
  { requiredKeys: ['mode'] },
);

/** Strategies that act on conversations of this size, with every field in use. */
export const strategy: fc.Arbitrary<MemoryStrategyRequest> = fc.oneof(
  { weight: 2, arbitrary: summarizeStrategy },
  fc.record(
    {
      mode: fc.constant('compact' as const),
      token_budget: budget,
      compact_trigger_turns: fc.integer({ min: 0, max: 4 }),
      compact_trigger_steps: fc.integer({ min: 4, max: 6 }),
      compact_keep: fc.integer({ min: 0, max: 4 }),
      compact_keep_steps: fc.integer({ min: 0, max: 4 }),
      compact_clear_tool_inputs: fc.boolean(),
      compact_exclude_tools: fc.subarray(['search', 'run']),
      compact_min_tokens: fc.constantFrom(0, 50, 200),
      compact_preview_tokens: fc.constantFrom(0, 16, 48),
      compact_offload: fc.boolean(),
      low_watermark_pct: fc.constantFrom(0, 0.5, 0.9),
      min_reclaim_tokens: fc.constantFrom(0, 100),
      frontier: fc.constantFrom('jump' as const, 'slide' as const),
      text_observation_prefixes: fc.constant<string[]>(['Observation:']),
    },
    { requiredKeys: ['mode'] },
  ),
  fc.record(
    {
      mode: fc.constant('trim' as const),
      token_budget: budget,
      max_turns: fc.integer({ min: 3, max: 5 }),
      max_messages: fc.integer({ min: 3, max: 12 }),
      keep_last_n_turns: fc.integer({ min: 0, max: 3 }),
      low_watermark_pct: fc.constantFrom(0, 0.5),
      frontier: fc.constantFrom('jump' as const, 'slide' as const),
    },
    { requiredKeys: ['mode'] },
  ),
);

const autoBudget = fc.oneof(
  fc.integer({ min: 0, max: 2_000 }),
  fc.integer({ min: 2_000, max: 8_000 }),
  fc.integer({ min: 8_000, max: 16_000 }),
);

export type AutoRequest = Extract<MemoryStrategyRequest, { mode: 'auto' }>;

const often = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 2, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) });
const seldom = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 1, arbitrary: value }, { weight: 5, arbitrary: fc.constant(undefined) });

/** Settings of `auto` that act on conversations of this size. Each field often has its default. */
export const autoStrategy: fc.Arbitrary<AutoRequest> = fc
  .record({
    mode: fc.constant('auto' as const),
    token_budget: often(autoBudget),
    token_soft_budget: seldom(autoBudget),
    context_window_tokens: seldom(fc.integer({ min: 500, max: 20_000 })),
    context_limit: seldom(fc.integer({ min: 3, max: 5 })),
    compact_trigger_turns: seldom(fc.integer({ min: 0, max: 4 })),
    compact_trigger_steps: seldom(fc.integer({ min: 3, max: 6 })),
    max_messages: seldom(fc.integer({ min: 3, max: 12 })),
    keep_last_n_turns: seldom(fc.integer({ min: 0, max: 3 })),
    keep_first_user: seldom(fc.constant(false)),
    compact_keep: seldom(fc.integer({ min: 0, max: 3 })),
    compact_keep_steps: often(fc.integer({ min: 0, max: 3 })),
    compact_clear_tool_inputs: seldom(fc.constant(false)),
    compact_purge: seldom(fc.constant(false)),
    clear_reasoning: often(fc.constantFrom(true, true, true, false)),
    keep_reasoning_turns: often(fc.constantFrom(1, 1, 2, 3)),
    compact_exclude_tools: seldom(fc.subarray(['search', 'run'])),
    compact_include_tools: seldom(fc.constant(['search', 'read_file'])),
    compact_min_tokens: often(fc.constantFrom(0, 50, 200)),
    compact_preview_tokens: often(fc.constantFrom(0, 16, 100)),
    compact_offload: seldom(fc.constant(false)),
    offload_min_tokens: often(fc.constantFrom(1_000, 1_300)),
    offload_fresh_tokens: often(fc.constantFrom(1_000, 1_200, 1_600)),
    offload_digest: often(fc.constant('model' as const)),
    summary_max_tokens: often(fc.constantFrom(64, 100, 300)),
    rehydrate: often(rehydrate),
    low_watermark_pct: often(fc.constantFrom(0, 0.3, 0.9)),
    min_reclaim_tokens: often(fc.constantFrom(0, 0, 1, 100, 1_000)),
    frontier: seldom(fc.constant('slide' as const)),
    text_observation_prefixes: seldom(fc.constant<string[]>([])),
  })
  .map(({ token_soft_budget: soft, keep_last_n_turns: keep, offload_digest, ...given }) => {
    const input = {
      ...given,
      // Avoid contradictions, which are refused.
      offload_digest: given.compact_offload === false ? undefined : offload_digest,
      token_soft_budget: soft && Math.min(soft, given.token_budget ?? soft),
      keep_last_n_turns: keep && Math.min(keep, given.context_limit ?? keep),
    };
    return JSON.parse(JSON.stringify(input)) as AutoRequest;
  });

/** Leaves little but what must stay. */
export const tightStrategy: fc.Arbitrary<AutoRequest> = fc.record({
  mode: fc.constant('auto' as const),
  token_budget: fc.constantFrom(1, 300),
  compact_keep: fc.constantFrom(0, 1),
  compact_keep_steps: fc.constantFrom(0, 1),
  keep_first_user: fc.boolean(),
  min_reclaim_tokens: fc.constant(0),
});

/** The same, with little room and reasoning that leaves with its turn. */
export const clearingStrategy: fc.Arbitrary<AutoRequest> = fc
  .tuple(autoStrategy, fc.integer({ min: 300, max: 3_000 }))
  .map(([input, token_budget]) => {
    const { token_soft_budget: _, context_window_tokens: __, ...given } = input;
    return { ...given, token_budget, clear_reasoning: true, keep_reasoning_turns: 1 };
  });

/** Of caches that charge for writing or do not, with a step for long prompts or without. */
const relativePrices: fc.Arbitrary<RelativePrices> = fc.record({
  cached: fc.constantFrom(0.01, 0.1, 0.5, 1),
  written: fc.constantFrom(1, 1.25, 2),
  output: fc.constantFrom(4, 5, 8),
  step: fc.option(fc.record({ above: fc.integer({ min: 500, max: 20_000 }), input: fc.constantFrom(2, 5) }), {
    nil: undefined,
  }),
});

/** Options beside the strategy that `auto` uses. */
export const autoOptions = (retrieval: boolean): fc.Arbitrary<ViewOptions> =>
  fc.record({
    retrieval: fc.constant(retrieval),
    prices: relativePrices,
  });

/** What a view is made of. */
export type Planned = readonly [ConversationBody, MemoryStrategyRequest, ViewOptions];

/** All modes, for laws of more than one protocol. */
export const PLANNED: readonly (readonly [modes: string, fc.Arbitrary<Planned>])[] = [
  ['every mode but auto', fc.tuple(conversation, strategy, fc.constant({}))],
  ['auto', fc.tuple(richConversation, autoStrategy, autoOptions(false))],
  ['auto that clears reasoning', fc.tuple(richConversation, clearingStrategy, autoOptions(false))],
];

/**
 * The same in each protocol: without previews, which would name a part by its protocol's type, with
 * a summary that does not depend on its input, and without refs, since parts and transcripts are
 * stored as their protocol writes them.
 */
export function inAnyProtocol(input: MemoryStrategyRequest, options: ViewOptions) {
  const words = (_: string, limit: number): string => 'word '.repeat(Math.min(limit, 20)).trimEnd();
  const previews = input.mode === 'compact' || input.mode === 'auto' ? { compact_preview_tokens: 0 } : {};
  return [
    { ...input, ...previews } as MemoryStrategyRequest,
    { ...options, words, tenant: undefined },
  ] as const;
}
