/** Generated conversations for property tests: valid ones, and the odd things that real clients send. */
import fc from 'fast-check';
import type { MemoryStrategyRequest } from '../../src/memory/strategy.ts';

type Message = Record<string, unknown>;

/** Few names and ids, so that they repeat across turns as they do in real traffic. */
const toolName = fc.constantFrom('search', 'read_file', 'run', 'a tool with spaces', 'état');
const callId = fc.constantFrom('call_1', 'call_2', 'call_3', 'call (odd); id=1⟧', 'x'.repeat(80));

const outputText = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 200, maxLength: 600 }),
  fc.array(fc.webUrl(), { minLength: 3, maxLength: 12 }).map((urls) => urls.join('\n')),
  fc
    .array(fc.record({ id: fc.uuid(), total: fc.double({ noNaN: true }), path: fc.webPath() }), {
      maxLength: 8,
    })
    .map((rows) => JSON.stringify(rows)),
  fc.constantFrom(
    '⟦removed: tool output for search (call_id=call_1); reason=context_compaction⟧',
    '\ud83d\ude00'.repeat(90),
  ),
);

const textPart = (text: string): Message => ({ type: 'text', text });

const outputContent = fc.oneof(
  { weight: 4, arbitrary: outputText as fc.Arbitrary<unknown> },
  { weight: 1, arbitrary: outputText.map((text) => [textPart(text)]) },
  {
    weight: 1,
    arbitrary: fc.array(outputText, { minLength: 2, maxLength: 3 }).map((texts) => texts.map(textPart)),
  },
  {
    weight: 1,
    arbitrary: outputText.map((text) => [{ ...textPart(text), cache_control: { type: 'ephemeral' } }]),
  },
);

const argumentsText = fc.oneof(
  fc.constant('{}'),
  fc.record({ query: fc.string({ maxLength: 300 }), n: fc.integer() }).map((value) => JSON.stringify(value)),
  fc.constantFrom('not json', '[1,2]', '{"_removed": "by me"}'),
);

const user: fc.Arbitrary<Message> = fc.oneof(
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

const observation = outputText.map((text): Message => ({ role: 'user', content: `Observation: ${text}` }));

const answer: fc.Arbitrary<Message> = fc.record(
  {
    role: fc.constant('assistant'),
    content: fc.string({ maxLength: 60 }),
    reasoning_content: fc.string({ maxLength: 20 }),
  },
  { requiredKeys: ['role', 'content'] },
);

const step: fc.Arbitrary<Message[]> = fc
  .record({
    content: fc.oneof(fc.constant(null), fc.string({ maxLength: 30 })),
    calls: fc.uniqueArray(
      fc.record({ id: callId, name: toolName, input: argumentsText, output: outputContent }),
      {
        minLength: 1,
        maxLength: 3,
        selector: (call) => call.id,
      },
    ),
    reversed: fc.boolean(),
  })
  .map(({ content, calls, reversed }) => {
    const results = calls.map(
      ({ id, output }): Message => ({ role: 'tool', tool_call_id: id, content: output }),
    );
    return [
      {
        role: 'assistant',
        content,
        tool_calls: calls.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: input },
        })),
      },
      ...(reversed ? results.toReversed() : results),
    ];
  });

const turn: fc.Arbitrary<Message[]> = fc
  .tuple(
    user,
    fc.array(
      fc.oneof(
        step,
        answer.map((message) => [message]),
        fc.tuple(answer, observation),
      ),
      { maxLength: 5 },
    ),
    fc.option(answer, { nil: undefined }),
  )
  .map(([asked, steps, closing]) => [asked, ...steps.flat(), ...(closing ? [closing] : [])]);

const system = fc.constantFrom<Message>(
  { role: 'system', content: 'You are helpful. Today is Monday.' },
  { role: 'developer', content: [textPart('Never guess.')] },
);

export interface ConversationBody {
  readonly model: string;
  readonly messages: Message[];
}

/** A conversation that every upstream takes. */
export const conversation: fc.Arbitrary<ConversationBody> = fc
  .tuple(
    fc.array(system, { maxLength: 2 }),
    fc.array(turn, { minLength: 1, maxLength: 6 }),
    fc.option(system, { nil: undefined }),
  )
  .map(([preamble, turns, late]) => {
    const [first = [], ...others] = turns;
    return { model: 'gpt-4.1', messages: [...preamble, ...first, ...(late ? [late] : []), ...others.flat()] };
  });

/** A conversation with a few messages taken out anywhere: orphaned results, missing results, no user message. */
export const brokenConversation: fc.Arbitrary<ConversationBody> = fc
  .tuple(conversation, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }))
  .map(([body, holes]) => {
    const removed = new Set(holes.map((hole) => hole % body.messages.length));
    const messages = body.messages.filter((_, index) => !removed.has(index));
    return { ...body, messages: messages.length > 0 ? messages : body.messages };
  });

const budget = fc.integer({ min: 0, max: 1500 });

/** Settings of `summarize` that act on conversations of this size. */
export const summarizeStrategy: fc.Arbitrary<MemoryStrategyRequest> = fc.record(
  {
    mode: fc.constant('summarize' as const),
    token_budget: budget,
    context_limit: fc.integer({ min: 3, max: 5 }),
    keep_last_n_turns: fc.integer({ min: 0, max: 3 }),
    summary_max_tokens: fc.constantFrom(64, 100, 300, 2048),
    low_watermark_pct: fc.constantFrom(0, 0.5, 0.9),
    min_reclaim_tokens: fc.constantFrom(0, 100),
    frontier: fc.constantFrom('jump' as const, 'slide' as const),
    text_observation_prefixes: fc.constant<string[]>(['Observation:']),
  },
  { requiredKeys: ['mode'] },
);

/** Strategies that act on conversations of this size, every field in use. */
export const strategy: fc.Arbitrary<MemoryStrategyRequest> = fc.oneof(
  { weight: 2, arbitrary: summarizeStrategy },
  fc.record(
    {
      mode: fc.constant('compact' as const),
      token_budget: budget,
      compact_trigger_turns: fc.integer({ min: 0, max: 4 }),
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
      keep_last_n_turns: fc.integer({ min: 0, max: 3 }),
      low_watermark_pct: fc.constantFrom(0, 0.5),
      frontier: fc.constantFrom('jump' as const, 'slide' as const),
    },
    { requiredKeys: ['mode'] },
  ),
);
