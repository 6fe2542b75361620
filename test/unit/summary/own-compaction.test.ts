import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../src/memory/conversation/history.ts';
import type { SummarizedPrefix } from '../../../src/memory/edits/summarize.ts';
import { summarizesOnDemand } from '../../../src/memory/models/upstream-apis.ts';
import { readCompaction } from '../../../src/protocol/messages/compaction.ts';
import { readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import type { Memory } from '../../../src/storage/conversation/memories.ts';
import { compactionFor, type OwnCompactions, shownBlock } from '../../../src/summary/own-compaction.ts';
import { COMPACTION_BETA, compactionOf } from '../../../tools/upstream/compaction.ts';
import { violations } from '../../../tools/upstream/strict-messages.ts';

type Json = Record<string, unknown>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const headers = { 'anthropic-beta': COMPACTION_BETA, 'x-api-key': 'sk-one' };

const user = (content: unknown): Json => ({ role: 'user', content });
const assistant = (content: unknown): Json => ({ role: 'assistant', content });
const call = (id: string): Json =>
  assistant([
    { type: 'thinking', thinking: 'So.', signature: 's' },
    { type: 'tool_use', id, name: 'f', input: { n: 1 } },
  ]);
const result = (id: string): Json => user([{ type: 'tool_result', tool_use_id: id, content: `of ${id}` }]);

/** Two turns, the second in progress: 0 asks, 1 to 3 answer, 4 asks, 5 to 8 work. */
const MESSAGES = [
  user('First.'),
  call('a'),
  result('a'),
  assistant('Done.'),
  user('Second.'),
  call('b'),
  result('b'),
  call('c'),
  result('c'),
];

function requestOf(fields: Json = {}, messages: readonly Json[] = MESSAGES) {
  const body = { model: 'claude-opus-5-5', max_tokens: 10, messages, ...fields };
  const read = readMessagesRequest(encoder.encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

const request = requestOf({ stream: true, stop_sequences: ['.'], memory_strategy: 'native' });
const history = readHistory(request.messages);

/** The prefix before a message that begins a unit. */
function prefixTo(end: number, asked: number | undefined): SummarizedPrefix {
  const unit = history.units.findIndex(({ first }) => first === end);
  return { unit, end, request: asked, first: undefined, covered: 2_000, limit: 500, freed: 1_000 };
}

const own: OwnCompactions = {
  timeoutMs: 1,
  account: 'here',
  call: (range) => {
    const body = request.ownCompaction?.body(range) ?? new Uint8Array();
    const server = { baseUrl: 'http://upstream', headers: {} };
    return {
      server,
      model: 'm',
      path: '/messages',
      body,
      timeoutMs: 1,
      backoffMs: 1,
      schedule: undefined,
    };
  },
};

function memoryOf(end: number, signed: string | null): Memory {
  return { covers_end: end, memory_text: 'What was said.', ref: null, signed } as Memory;
}

/** What is sent, and the version that is kept of its answer. */
function made(prefix: SummarizedPrefix, base: Memory | null = null) {
  const asked = compactionFor(own, { history, prefix }, base);
  if (!asked) throw new Error('nothing is asked for');
  const body = JSON.parse(decoder.decode(asked.body)) as Json;
  expect(violations(body, { headers })).toEqual([]);
  const { blocks = [] } = compactionOf(body, headers);
  const memory = memoryOf(prefix.end, JSON.stringify({ block: JSON.stringify(blocks[0]), ...asked.bound }));
  return { body, block: blocks[0] as Json, memory };
}

const texts = ({ messages }: Json): string[] =>
  (messages as Json[]).map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content),
  );

describe("the API's own summary of a prefix", () => {
  it('is asked for over exactly the messages that leave, without thinking', () => {
    const { body, memory } = made(prefixTo(4, undefined));
    expect(texts(body)).toEqual([
      'First.',
      '[{"type":"tool_use","id":"a","name":"f","input":{"n":1}}]',
      '[{"type":"tool_result","tool_use_id":"a","content":"of a"}]',
      'Done.',
    ]);
    expect(body).toMatchObject({ compaction: { type: 'summarize' } });
    for (const field of ['stream', 'stop_sequences', 'memory_strategy'])
      expect(body).not.toHaveProperty(field);
    expect(shownBlock(own, memory, { history, prefix: prefixTo(4, undefined) })).toContain('"signature"');
  });

  it.each([
    ['a text', 'Done. \n'],
    ['a block', [{ type: 'text', text: 'Done. \n', citations: null }]],
  ])('is asked for without white space at its end, in %s', (_, content) => {
    const messages = [user('First.'), assistant(content)];
    const body = requestOf({}, messages).ownCompaction?.body({ messages: [0, 1] });
    const sent = JSON.parse(decoder.decode(body)) as Json;
    expect(violations(sent, { headers })).toEqual([]);
    expect(sent.messages).toEqual(JSON.parse(JSON.stringify(messages).replace('Done. \\n', 'Done.')));
  });

  it('replaces no request that stays, and the next one does', () => {
    const first = made(prefixTo(7, 4));
    expect(texts(first.body)).not.toContain('Second.');
    // As if the turn were over at the next move.
    const prefix = { ...prefixTo(7, 4), request: undefined };
    const second = made(prefix, first.memory);
    expect(texts(second.body)).toEqual([JSON.stringify([first.block]), 'Second.']);
  });

  it('begins with a user message where the request of the turn stays', () => {
    const one = requestOf({}, MESSAGES.slice(4));
    const body = one.ownCompaction?.body({ messages: [1, 2] });
    const { messages } = JSON.parse(decoder.decode(body)) as { messages: Json[] };
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(JSON.stringify(messages[0])).toContain('not part of this summary');
  });

  it('builds on a text by Precis where the base has no block of this account', () => {
    const { memory } = made(prefixTo(4, undefined));
    const kept = JSON.parse(memory.signed ?? '');
    for (const signed of [null, JSON.stringify({ ...kept, account: 'elsewhere' })]) {
      const { body } = made({ ...prefixTo(7, undefined), request: undefined }, memoryOf(4, signed));
      expect(texts(body)[0]).toContain('What was said.');
      expect(texts(body).slice(1)).toEqual(expect.arrayContaining(['Second.']));
      expect(texts(body)).not.toContain('First.');
    }
  });

  it('starts over where the block replaces a message that stays now', () => {
    const { memory } = made({ ...prefixTo(7, undefined), request: undefined });
    const { body } = made(prefixTo(7, 4), memory);
    expect(texts(body)[0]).toBe('First.');
  });

  it.each<[what: string, prefix: SummarizedPrefix, account: string]>([
    ['another account', prefixTo(7, 4), 'elsewhere'],
    ['other messages that stay', { ...prefixTo(7, 4), request: undefined }, 'here'],
  ])('is not shown for %s', (_, prefix, account) => {
    const { memory } = made(prefixTo(7, 4));
    expect(shownBlock({ ...own, account }, memory, { history, prefix })).toBeUndefined();
    expect(shownBlock(own, memory, { history, prefix: prefixTo(7, 4) })).toBeDefined();
  });

  it('is first in the view in the bytes that came, with a mark after it', () => {
    const { block } = made(prefixTo(4, undefined));
    const marked = [...MESSAGES];
    marked[3] = assistant([{ type: 'text', text: 'Done.', cache_control: { type: 'ephemeral' } }]);
    const signed = JSON.stringify(block).replace('"type":', '"type" : ');
    const summary = { block: 'x', covers: [0, 3], form: 'signed', signed, tokens: 1 } as const;
    const view = {
      removals: new Map(),
      dropped: new Set([0, 1, 2, 3]),
      summary,
      tokens: 0,
      incomplete: false,
    };
    const injected = [{ role: 'user', content: 'Remember.' }] as const;
    const json = decoder.decode(requestOf({}, marked).write(view, { injected }));
    const head = signed.slice(0, -1);
    expect(json).toContain(
      `"messages":[{"role":"assistant","content":[${head},"cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"Remember."}`,
    );
    expect(violations(JSON.parse(json), { headers })).toEqual([]);
  });

  it.each<[what: string, fields: Json]>([
    ['an edit of the context', { context_management: { edits: [] } }],
    ['a compaction of its own', { compaction: { type: 'summarize' } }],
    ['a remaining budget', { output_config: { task_budget: { total: 9, remaining: 5 } } }],
  ])('is not asked for beside %s', (_, fields) => {
    expect(requestOf(fields).ownCompaction).toBeUndefined();
    const [key = ''] = Object.keys(fields);
    expect(requestOf({ [key]: null }).ownCompaction).toBeDefined();
  });

  it('is not asked for where the caller has a block', () => {
    const block = { type: 'compaction', content: 'x', signature: 's' };
    expect(requestOf({}, [assistant([block]), ...MESSAGES]).ownCompaction).toBeUndefined();
  });

  it('leaves out the settings that a compaction refuses, and keeps the others', () => {
    const fields = {
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      tool_choice: { type: 'any' },
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      output_config: { effort: 'low', format: { type: 'json_schema' } },
      system: 'Help.',
    };
    const body = JSON.parse(
      decoder.decode(requestOf(fields).ownCompaction?.body({ messages: [0, 1, 2, 3] })),
    );
    expect(body).toMatchObject({ output_config: { effort: 'low' }, system: 'Help.', tools: fields.tools });
    for (const field of ['thinking', 'tool_choice']) expect(body).not.toHaveProperty(field);
    expect(body.output_config).not.toHaveProperty('format');
    expect(body.max_tokens).toBeGreaterThan(4_096);
    expect(violations(body, { headers })).toEqual([]);
  });
});

describe('an answer to a request for a compaction', () => {
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    iterations: [{ type: 'compaction', input_tokens: 144, output_tokens: 276, cache_read_input_tokens: 50 }],
  };
  const block = '{ "type":"compaction","content":"It was said.","signature":"Eu" }';
  const answer = (content: string, stop: string) =>
    readCompaction(
      encoder.encode(`{"content":[${content}],"stop_reason":"${stop}","usage":${JSON.stringify(usage)}}`),
    );

  it('has the block in the bytes that came, and the usage of its call', () => {
    expect(answer(block, 'compaction')).toEqual({
      made: { text: 'It was said.', signed: block },
      stopReason: 'compaction',
      usage: { prompt_tokens: 194, completion_tokens: 276, cached_tokens: 50 },
    });
  });

  it.each([
    ['', 'max_tokens'],
    [block, 'end_turn'],
    [`${block},${block}`, 'compaction'],
    ['{"type":"text","text":"Hi."}', 'compaction'],
    ['{"type":"compaction","content":null,"signature":"Eu"}', 'compaction'],
    ['{"type":"compaction","content":"It was said."}', 'compaction'],
  ])('has none: %s, %s', (content, stop) => {
    expect(answer(content, stop)?.made).toBeUndefined();
    expect(answer(content, stop)?.usage.completion_tokens).toBe(276);
  });

  it.each(['[]', '{"content":', '{"content":"text"}'])('is none: %s', (text) => {
    expect(readCompaction(encoder.encode(text))).toBeUndefined();
  });
});

describe('models', () => {
  it.each([
    'claude-opus-4-6',
    'claude-opus-5-5',
    'claude-sonnet-5-5',
    'claude-fable-5-1',
    'claude-mythos-preview',
  ])('have it: %s', (model) => expect(summarizesOnDemand(model)).toBe(true));
  it.each([undefined, 'claude-haiku-5-5', 'claude-opus-4-5', 'claude-sonnet-4-5', 'gpt-6.2-sol', 'local'])(
    'lack it: %s',
    (model) => expect(summarizesOnDemand(model)).toBe(false),
  );
});
