/**
 * Generated conversations in Messages, with all that the API takes and other protocols lack:
 * several messages of a role in a row, results in several messages, a message of the system
 * anywhere, the API's own tools, whose results may come many messages later, paused turns, marks in
 * every place.
 * https://platform.claude.com/docs/en/api/messages/create
 */
import fc from 'fast-check';
import { lines } from './chat.ts';

type Json = Record<string, unknown>;

const MODELS = ['claude-opus-5-5', 'claude-sonnet-4-6', 'claude-haiku-5-5', 'of-a-gateway'];

/** As models before Claude Opus 4.7 have it. */
const MANUAL = { thinking: { type: 'enabled', budget_tokens: 1_024 } };

const textOfSize = fc.oneof(
  fc.constantFrom('ok', '.', ' padded ', 'état 🦞', '\u2028"\\', '⟦removed: observation; reason=offloaded⟧'),
  fc.tuple(fc.integer({ min: 2, max: 60 }), fc.nat(5)).map(([size, of]) => lines(size, `row ${of}`)),
);

const text = textOfSize.map((said): Json => ({ type: 'text', text: said }));
const reminder = textOfSize.map(
  (said): Json => ({ type: 'text', text: `<system-reminder>\n${said}\n</system-reminder>` }),
);

/** What editors put after results. */
const state = textOfSize.map(
  (said): Json => ({ type: 'text', text: `<environment_details>\n${said}\n</environment_details>` }),
);

const inBase64 = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo'.repeat(80) };
const media = fc.constantFrom<Json>(
  { type: 'image', source: inBase64 },
  { type: 'image', source: { type: 'url', url: 'https://shop.test/a.png' } },
  { type: 'document', source: { ...inBase64, media_type: 'application/pdf' }, title: 'A paper' },
  {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: lines(20, 'said') },
    citations: { enabled: true },
  },
  {
    type: 'document',
    source: { type: 'content', content: [{ type: 'text', text: lines(9, 'in a source') }] },
  },
  {
    type: 'search_result',
    source: 'https://shop.test/a',
    title: 'Found',
    content: [{ type: 'text', text: lines(12, 'found') }],
    citations: { enabled: true },
  },
);
const spoken = fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: media });

const list = (of: fc.Arbitrary<Json>, maxLength = 3) => fc.array(of, { minLength: 1, maxLength });

const words: fc.Arbitrary<unknown> = fc.oneof(textOfSize, list(spoken));

/** Messages of a user, in a row. */
const asked: fc.Arbitrary<Json[]> = fc
  .array(words, { minLength: 1, maxLength: 2 })
  .map((contents) => contents.map((content) => ({ role: 'user', content })));

const thinking = fc.oneof(
  fc.nat(99).map((of): Json => ({ type: 'thinking', thinking: lines(5, 'maybe'), signature: `sig-${of}` })),
  fc.nat(99).map((of): Json => ({ type: 'thinking', thinking: '', signature: `sig-${of}` })),
  fc.nat(99).map((of): Json => ({ type: 'redacted_thinking', data: `data-${of}` })),
);

/** A tool of the API with its result. Ids are given later. */
const serverTool = fc.constantFrom<readonly [Json, Json]>(
  [
    { type: 'server_tool_use', name: 'web_search', input: { query: 'shops' } },
    {
      type: 'web_search_tool_result',
      content: [
        {
          type: 'web_search_result',
          url: 'https://shop.test',
          title: 'Shop',
          encrypted_content: 'Ab9+'.repeat(60),
        },
      ],
    },
  ],
  [
    { type: 'server_tool_use', name: 'code_execution', input: { code: 'print(1)' } },
    {
      type: 'code_execution_tool_result',
      content: { type: 'code_execution_result', stdout: lines(9), stderr: '', return_code: 0, content: [] },
    },
  ],
  [
    { type: 'mcp_tool_use', name: 'look', server_name: 'shop', input: {} },
    { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: lines(20, 'mcp') }] },
  ],
);

const resultContent: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: textOfSize.map((content) => ({ content })) },
  { weight: 3, arbitrary: list(spoken).map((content) => ({ content })) },
  fc.constantFrom<Json>(
    {},
    { content: '' },
    { content: [] },
    { content: 'no such file', is_error: true },
    { content: 'well', is_error: false },
    { content: [{ type: 'tool_reference', tool_name: 'read_file' }] },
  ),
);

const call = fc.record({
  name: fc.constantFrom('read_file', 'run', 'of_no_list'),
  input: fc.constantFrom<Json>(
    {},
    { path: 'a.ts' },
    { path: 'état', text: lines(30, 'code') },
    { _removed: 'by me' },
  ),
  result: resultContent,
});

/** How the results of a step are spread over messages. */
const spread = fc.record({
  /** Whether calls are in messages of their own. */
  splitsCalls: fc.boolean(),
  splitsResults: fc.boolean(),
  reversed: fc.boolean(),
  behind: fc.oneof(fc.constant<Json[]>([]), list(fc.oneof(text, reminder, state, media), 2)),
  behindApart: fc.boolean(),
});

interface Ids {
  next: number;
  /** The tool of the API that runs until the caller's results have come this many times. */
  running?: { readonly use: string; readonly result: Json; steps: number; readonly isCode: boolean };
}

type Part = (ids: Ids) => Json[];

const maybe = <Value>(of: fc.Arbitrary<Value>) => fc.array(of, { maxLength: 1 });

/** An answer of several blocks, and the results that follow it. */
const step: fc.Arbitrary<Part> = fc
  .record({
    thoughts: fc.array(thinking, { maxLength: 2 }),
    said: maybe(text),
    server: maybe(serverTool),
    later: maybe(thinking),
    /** A tool of the API whose result comes with a later answer. */
    waits: fc.option(fc.tuple(serverTool, fc.nat(3)), { nil: undefined, freq: 3 }),
    calls: fc.oneof(
      { weight: 9, arbitrary: fc.array(call, { minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.array(call, { minLength: 60, maxLength: 100 }) },
    ),
    spread,
  })
  .map(({ thoughts, said, server, later, waits, calls, spread: how }) => (ids: Ids) => {
    const came = resultOfRunning(ids);
    const { running } = ids;
    const caller = running?.isCode ? { caller: { type: CODE, tool_id: running.use } } : {};
    const served = server.flatMap((pair) => serverBlocks(pair, ids));
    const begun = waits && !running ? begin(waits, ids) : [];
    const uses = calls.map(({ name, input }) => ({
      type: 'tool_use',
      id: `toolu_${ids.next++}`,
      name,
      input,
      ...caller,
    }));
    const results = calls.map(({ result }, at) => ({
      type: 'tool_result',
      tool_use_id: uses[at]?.id,
      ...result,
    }));
    const ordered = how.reversed ? results.toReversed() : results;
    const head = [...came, ...thoughts, ...said, ...served, ...later, ...begun];
    const answers = how.splitsCalls
      ? [[...head, uses[0]], ...uses.slice(1).map((use) => [use])]
      : [[...head, ...uses]];
    const groups = how.splitsResults ? ordered.map((result) => [result] as Json[]) : [ordered as Json[]];
    if (how.behind.length > 0) {
      if (how.behindApart) groups.push(how.behind);
      else groups[groups.length - 1]?.push(...how.behind);
    }
    return [
      ...answers.map((content) => ({ role: 'assistant', content })),
      ...groups.map((content) => ({ role: 'user', content })),
    ];
  });

function serverBlocks([use, result]: readonly [Json, Json], ids: Ids): Json[] {
  const id = `srvtoolu_${ids.next++}`;
  return [
    { ...use, id },
    { ...result, tool_use_id: id },
  ];
}

const CODE = 'code_execution_20260120';

/** The use of a tool of the API, which runs while the caller's own calls wait for their results. */
function begin([pair, steps]: readonly [readonly [Json, Json], number], ids: Ids): Json[] {
  const [use, result] = serverBlocks(pair, ids) as [Json, Json];
  const isCode = use.name === 'code_execution';
  ids.running = { use: String(use.id), result, steps: isCode ? steps : 0, isCode };
  return [use];
}

/** The result of a tool of the API that has run until now. @param ends whether no call follows */
function resultOfRunning(ids: Ids, ends = false): Json[] {
  const { running } = ids;
  if (!running) return [];
  if (!ends && running.steps-- > 0) return [];
  delete ids.running;
  return [running.result];
}

/** An answer that ends its turn, in one message or more. */
const closing: fc.Arbitrary<Part> = fc
  .record({
    thoughts: fc.array(thinking, { maxLength: 2 }),
    server: maybe(serverTool),
    said: fc.oneof(textOfSize, list(text, 2)),
    more: maybe(textOfSize),
  })
  .map(({ thoughts, server, said, more }) => (ids: Ids) => {
    const served = server.flatMap((pair) => serverBlocks(pair, ids));
    const head = [...resultOfRunning(ids, true), ...thoughts, ...served];
    const content =
      typeof said === 'string' && head.length === 0
        ? said
        : [...head, ...(typeof said === 'string' ? [{ type: 'text', text: said }] : said)];
    return [{ role: 'assistant', content }, ...more.map((text) => ({ role: 'assistant', content: text }))];
  });

const late: fc.Arbitrary<Json> = fc.oneof(
  words.filter((content) => typeof content === 'string').map((content) => ({ role: 'system', content })),
  list(text, 2).map((content) => ({ role: 'system', content })),
  fc.constantFrom<Json>(
    { role: 'system', content: [], output_config: { effort: 'low' } },
    { role: 'system', content: [], output_config: { effort: 'high' } },
    { role: 'system', content: 'Now think.', output_config: { effort: 'max' } },
    { role: 'system', content: [{ type: 'tool_addition', tool: { name: 'read_file' } }] },
    { role: 'system', content: 'Until the next.', clear_at: 'next_user_message' },
    {
      role: 'system',
      content: 'Until then.',
      clear_at: 'next_user_message',
      output_config: { effort: 'low' },
    },
    { role: 'system', content: 'For ever.', clear_at: 'never' },
  ),
);

const turn = fc.record({
  asked,
  steps: fc.array(step, { maxLength: 5 }),
  closing: maybe(closing),
});

/** Marks, and where: by the fraction of all blocks. */
const marks = fc.array(
  fc.record({
    at: fc.integer({ min: 0, max: 999 }),
    ttl: fc.constantFrom('5m', undefined, undefined),
    inside: fc.boolean(),
  }),
  { maxLength: 4 },
);

const system: fc.Arbitrary<Json> = fc.oneof(
  fc.constant({}),
  textOfSize.map((system) => ({ system })),
  fc.constantFrom<Json>({ system: [] }, { system: '' }),
  list(text).map((system) => ({ system })),
);

/** A body that is accepted in most cases, whose messages end where a request would. */
export const oddMessages: fc.Arbitrary<Json> = fc
  .record({
    model: fc.constantFrom(...MODELS),
    system,
    turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
    late: fc.array(fc.tuple(fc.nat(), late), { maxLength: 4 }),
    marks,
    automatic: fc.boolean(),
    /** Whether a tool must be loaded by a reference. */
    defers: fc.boolean(),
    ends: fc.constantFrom('user', 'any'),
    compaction: fc.integer({ min: 0, max: 12 }),
    pauses: fc.integer({ min: 0, max: 8 }),
    thinking: fc.constantFrom<Json>({}, { thinking: { type: 'adaptive' } }, MANUAL),
  })
  .map(({ model, system, turns, late, marks, automatic, defers, ends, compaction, pauses, thinking }) => {
    const ids: Ids = { next: 0 };
    let messages = turns.flatMap(({ asked, steps, closing }) => [
      ...asked,
      ...steps.flatMap((part) => part(ids)),
      ...closing.flatMap((part) => part(ids)),
    ]);
    if (compaction === 0)
      messages.unshift({ role: 'user', content: [{ type: 'compaction', content: lines(9, 'earlier') }] });
    if (compaction === 1)
      messages.unshift({
        role: 'assistant',
        content: [{ type: 'compaction', content: lines(9, 'earlier') }],
      });
    if (ends === 'user')
      messages = messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1);
    if (pauses === 0) messages.push(...paused(ids));
    for (const [where, message] of late) {
      const setsAlone = 'output_config' in message && (message.content as unknown[]).length === 0;
      const places = messages.flatMap(({ role }, at) => {
        const next = messages[at + 1];
        const isPlace = role === 'user' && (!next || next.role === 'assistant');
        return isPlace || setsAlone ? [at + 1] : [];
      });
      const at = places[where % places.length];
      if (at !== undefined) messages = messages.toSpliced(at, 0, message);
    }
    const ownThinking = model === MODELS[1] ? thinking : {};
    if (ownThinking === MANUAL) messages = withThinkingFirst(messages);
    const body: Json = {
      model,
      max_tokens: 1_000,
      ...ownThinking,
      ...system,
      tools: ['read_file', 'run'].map((name) => ({
        name,
        input_schema: { type: 'object' },
        ...(defers && name === 'read_file' ? { defer_loading: true } : {}),
      })),
      messages,
      ...(automatic ? { cache_control: { type: 'ephemeral' } } : {}),
    };
    return marked(body, marks);
  });

/** With a budget of thinking, a model begins each turn with some. */
function withThinkingFirst(messages: readonly Json[]): Json[] {
  let isRequest = false;
  return messages.map((message, at) => {
    const { role, content } = message;
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Json[]);
    if (role === 'user') {
      const isBehindResults = messages[at - 1]?.role !== 'assistant' && !isRequest && at > 0;
      isRequest = !isBehindResults && blocks.every(({ type }) => type !== 'tool_result');
    }
    const [first] = blocks;
    const begins = ['thinking', 'redacted_thinking', 'compaction'].includes(String(first?.type));
    if (role !== 'assistant' || !isRequest) return message;
    isRequest = false;
    return begins
      ? message
      : { ...message, content: [{ type: 'redacted_thinking', data: 'first' }, ...blocks] };
  });
}

/** A turn that goes on while a tool of the API runs. */
function paused(ids: Ids): Json[] {
  const came = resultOfRunning(ids, true);
  const id = `srvtoolu_${ids.next++}`;
  return [
    {
      role: 'assistant',
      content: [
        ...came,
        { type: 'text', text: 'I search.' },
        { type: 'server_tool_use', id, name: 'web_search', input: { query: lines(30, 'q') } },
      ],
    },
  ];
}

function marked(
  body: Json,
  marks: readonly { at: number; ttl: string | undefined; inside: boolean }[],
): Json {
  const copy = structuredClone(body);
  const all: Json[] = [
    ...(copy.tools as Json[]),
    ...(Array.isArray(copy.system) ? (copy.system as Json[]) : []),
    ...(copy.messages as Json[]).flatMap(({ content }) =>
      Array.isArray(content) ? (content as Json[]) : [],
    ),
  ];
  for (const { at, ttl, inside } of marks) {
    const block = all[Math.floor((at / 1_000) * all.length)];
    const within = block && Array.isArray(block.content) ? (block.content as Json[])[0] : undefined;
    const target = inside && within ? within : block;
    if (target) target.cache_control = { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) };
  }
  return copy;
}
