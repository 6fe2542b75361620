import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../../src/lib/hash-table.ts';
import type { Message } from '../../../src/memory/conversation/message.ts';
import { prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { EarlierLiterals } from '../../../src/memory/edits/earlier-literals.ts';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import { contentOf } from '../../../src/memory/edits/removed-content.ts';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { type SharedArray, sharedWith } from '../../../src/protocol/known-array.ts';
import { KnownArrays } from '../../../src/protocol/known-arrays.ts';
import { BLOCK_FIELDS } from '../../../src/protocol/messages/block.ts';
import { readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import type { Additions, ModelRequest } from '../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { continuedBy } from '../../../src/protocol/written-bodies.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { messagesBody } from '../../../tools/upstream/blocks.ts';
import { itemsOf } from '../../../tools/upstream/items.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
  conversation,
  lateConversation,
  lateRichConversation,
  richConversation,
} from '../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import { type Viewed, viewOfRequest } from '../../support/laws/view-of.ts';

const encoder = new TextEncoder();

type Json = Record<string, unknown>;

/** How the next body differs from a conversation's last one. */
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('grow' as const), by: fc.nat(6) }) },
  fc.record({ kind: fc.constant('cut' as const), by: fc.nat(4) }),
  fc.record({ kind: fc.constant('edit' as const), at: fc.nat(30), content: fc.string({ maxLength: 9 }) }),
  fc.record({ kind: fc.constant('fork' as const), at: fc.nat(30) }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat(30) }),
  fc.record({ kind: fc.constant('field' as const), value: fc.constantFrom('a', 'b') }),
  fc.record({ kind: fc.constant('space' as const) }),
);

type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** One client's conversation, from request to request. */
class Talk {
  private messages: readonly Json[] = [];
  private length = 3;
  private spaces = 0;
  private before: string | undefined;
  private readonly whole: readonly Json[];

  constructor(whole: readonly Json[]) {
    this.whole = whole;
    this.messages = whole;
  }

  /** @param other where a fork goes on */
  next(
    step: Change,
    other: readonly Json[],
  ): { messages: Json[]; spaces: number; before: string | undefined } {
    if (step.kind === 'grow') this.length += step.by;
    if (step.kind === 'cut') this.length = Math.max(1, this.length - step.by);
    if (step.kind === 'space') this.spaces = 1 - this.spaces;
    if (step.kind === 'field') this.before = step.value;
    if (step.kind === 'edit') this.splice(step.at, 1, { role: 'user', content: step.content });
    if (step.kind === 'remove') this.splice(step.at, 1);
    if (step.kind === 'fork') this.messages = [...this.messages.slice(0, step.at), ...other];
    if (this.messages.length === 0) this.messages = this.whole;
    const { spaces, before } = this;
    return { messages: this.messages.slice(0, this.length), spaces, before };
  }

  private splice(at: number, removed: number, ...added: Json[]): void {
    this.messages = this.messages.toSpliced(at % this.length, removed, ...added);
  }
}

/** What is added to a view. Marks move with the frontier, and with the number that is allowed. */
const additions: fc.Arbitrary<Additions> = fc.record(
  {
    marks: fc.constantFrom(1, 2, 3),
    thinkingFrom: fc.nat(6),
    tools: fc.constant(['{"name":"retrieve_ref","input_schema":{"type":"object"}}']),
  },
  { requiredKeys: [] },
);

interface Protocol {
  readonly name: SharedArray['read']['protocol'];
  body(messages: Json[], before: string | undefined): object;
  read(
    bytes: Uint8Array,
    shared?: SharedArray,
  ): ReturnType<typeof readChatRequest | typeof readResponsesRequest | typeof readMessagesRequest>;
}

const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'chat',
    body: (messages, user) => ({ model: 'gpt-4.1', messages, user }),
    read: readChatRequest,
  },
  {
    name: 'responses',
    body: (messages, instructions) => ({ model: 'gpt-4.1', input: itemsOf(messages), instructions }),
    read: readResponsesRequest,
  },
  {
    name: 'messages',
    body: (messages, text) => {
      const { system, messages: said, ...more } = messagesBody({ model: 'gpt-4.1', messages });
      const entries = [{ type: 'text', text: text ?? 'Help.' }, ...((system as Json[]) ?? [])];
      const isSaid = (said as Json[]).length > 0;
      const array = isSaid ? markedBehind(said as Json[]) : [{ role: 'user', content: 'Hello.' }];
      return { ...more, messages: array, system: entries };
    },
    read: readMessagesRequest,
  },
];

/** With a mark after the last block, as clients set it that move it with each request. */
function markedBehind(messages: Json[]): Json[] {
  const { content, ...last } = messages.at(-1) ?? {};
  const block = Array.isArray(content) ? (content.at(-1) as Json | undefined) : undefined;
  if (!Array.isArray(content) || block?.type !== 'tool_result') return messages;
  const marked = { ...block, cache_control: { type: 'ephemeral' } };
  return [...messages.slice(0, -1), { ...last, content: [...content.slice(0, -1), marked] }];
}

/** All that callers, storage and upstream see of a view. */
function seen({ request, plan, report, bytes }: Viewed<ModelRequest>): object {
  const { messages } = request;
  const { units, turns, bonds, requestPoints } = plan.history;
  return {
    shape: [units, turns, bonds, requestPoints],
    bytes: new TextDecoder().decode(bytes),
    report,
    roles: messages.map(({ role, wireRole }) => [role, wireRole]),
    names: messages.map(({ digest, identity }) => [digest, identity]),
    pairs: messages.map(({ calls, answers }) => [calls, answers]),
    sizes: messages.map((message) => [message.bytes, message.flatTokens, message.content().text]),
    hashes: prefixHashes(messages, sha256Hex),
    stored: plan.segments.flat().map((removal) => withContent(removal, messages)),
  };
}

/** A removal with all that is stored of it. */
function withContent(removal: Removal, messages: readonly Message[]): object {
  const isKept = removal.kind !== 'reasoning';
  return { ...removal, content: isKept ? contentOf(removal, messages).text : undefined };
}

/** All that is stored ahead of the next move. */
function ahead({ plan, request }: Viewed<ModelRequest>): object {
  const { upcoming, next } = plan.ahead?.() ?? { upcoming: [] };
  return { next, upcoming: upcoming.map((removal) => withContent(removal, request.messages)) };
}

const RUNS = runs(24, 150);

describe.each(PROTOCOLS)('arrays that an isolate knows, over $name', ({ name, body, read }) => {
  const talk = fc.oneof(conversation, richConversation, lateConversation, lateRichConversation);
  const step = fc.tuple(fc.nat(2), change, fc.nat(2), additions);

  it('give the view that each array has on its own, whatever came before and was forgotten', () => {
    let shares = 0;
    let again = 0;
    let continued = 0;
    forAll(
      { numRuns: RUNS, endOnFailure: true },
      fc.array(talk, { minLength: 3, maxLength: 3 }),
      fc.array(step, { minLength: 4, maxLength: 14 }),
      fc.tuple(anyStrategy, autoStrategy, autoStrategy),
      fc.constantFrom(20_000, 100_000, 10_000_000),
      fc.boolean(),
      (bodies, steps, strategies: readonly MemoryStrategyRequest[], most, retrieval) => {
        const arrays = new KnownArrays(most, 0).of('a tenant');
        const behind: (() => void)[] = [];
        const talks = bodies.map(({ messages }) => new Talk(messages as readonly Json[]));
        for (const [who, changed, chosen, added] of steps) {
          const other = (bodies[(who + 1) % 3]?.messages ?? []) as readonly Json[];
          const next = talks[who]?.next(changed, other);
          const strategy = strategies[chosen];
          if (!next || !strategy) throw new Error('no such talk');
          const bytes = encoder.encode(JSON.stringify(body(next.messages, next.before), null, next.spaces));
          const shared = arrays.find(bytes, name);
          const known = read(bytes, shared);
          const fresh = read(bytes);
          if (!known.ok || !fresh.ok) throw new Error('a valid body was refused');
          if (shared) shares++;
          if (shared?.same) again++;
          expect(known.value.root).toEqual(fresh.value.root);
          const request = shared?.same ?? known.value;
          const options = { retrieval, marks: true, additions: added };
          const kept = { found: shared };
          const viewed = viewOfRequest<ModelRequest>(request, strategy, { ...options, kept });
          const alone = viewOfRequest<ModelRequest>(fresh.value, strategy, options);
          if (continuedBy(request.bytes, viewed.bytes, kept)?.shared) continued++;
          expect(seen(viewed)).toEqual(seen(alone));
          // It is computed after the answer, when another request may have come.
          behind.push(() => expect(ahead(viewed)).toEqual(ahead(alone)));
          if (behind.length > 1) behind.shift()?.();
          if (request.array) arrays.keep(request, shared);
        }
        for (const check of behind) check();
      },
    );
    expect(shares).toBeGreaterThan(2 * RUNS);
    expect(again).toBeGreaterThan(RUNS / 3);
    expect(continued).toBeGreaterThan(RUNS / 48);
  });
});

describe('the array of an earlier request', () => {
  const read = (text: string, shared?: SharedArray) => readChatRequest(encoder.encode(text), shared);
  const array = (text: string) => {
    const first = read(text);
    if (!first.ok || !first.value.array) throw new Error('no array was read');
    return first.value.array;
  };
  const sharedBy = (text: string, earlier: string) => sharedWith(encoder.encode(text), array(earlier));

  it.each([
    ['a longer number', '{"messages":[{"role":"user"},12]}', '{"messages":[{"role":"user"},123]}', 1],
    ['the same number', '{"messages":[{"role":"user"},12]}', '{"messages":[{"role":"user"},12,1]}', 1],
    ['a longer array', '{"messages":[{"a":1},{"a":2}]}', '{"messages":[{"a":1},{"a":2},{"a":3}]}', 2],
    ['a shorter array', '{"messages":[{"a":1},{"a":2}]}', '{"messages":[{"a":1}]}', 1],
    ['another last message', '{"messages":[{"a":1},{"a":2}]}', '{"messages":[{"a":1},{"a":3}]}', 1],
  ])('shares all elements before the first that differs: %s', (_, earlier, text, count) => {
    const shared = sharedBy(text, earlier);
    expect(shared?.items).toHaveLength(count);
    expect(read(text, shared)).toEqual(read(text));
  });

  it.each([
    ['the first message', '{"messages":[{"a":1}]}', '{"messages":[{"a":2}]}'],
    ['a field before it', '{"model":"a","messages":[{"a":1}]}', '{"model":"b","messages":[{"a":1}]}'],
    ['its length', '{"messages":[{"a":1}]}', '{}'],
  ])('shares nothing if %s differs', (_, earlier, text) => {
    expect(sharedBy(text, earlier)).toBeUndefined();
  });

  it.each([
    ['a broken end', '{"messages":[{"a":1},{"a":2}}'],
    ['a missing comma', '{"messages":[{"a":1}{"a":2}]}'],
    ['half an element', '{"messages":[{"a":1},{"a"'],
  ])('hides no fault after it: %s', (_, text) => {
    const shared = sharedBy(text, '{"messages":[{"a":1}]}');
    expect(shared?.items).toHaveLength(1);
    expect(read(text, shared)).toMatchObject({ ok: false });
    expect(read(text, shared)).toEqual(read(text));
  });

  it('counts towards the values that a body may have', () => {
    const many = (values: number) => `{"messages":[{"a":[${'1,'.repeat(values)}1]}`;
    const shared = sharedBy(`${many(200_000)}]}`, `${many(200_000)}]}`);
    const text = `${many(200_000)},{"a":[${'1,'.repeat(200_000)}1]}]}`;
    expect(shared?.items).toHaveLength(1);
    expect(read(text, shared)).toMatchObject({ ok: false, reason: { code: 'invalid_json' } });
    expect(read(text, shared)).toEqual(read(text));
  });
});

describe('the literals of an array', () => {
  const lines = (word: string) => Array.from({ length: 60 }, (_, at) => `${word} line ${at}`).join('\n');
  const step = (id: string, output: string): Json[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: output },
  ];
  const begin = [{ role: 'user', content: 'Begin.' }, ...step('call_1', lines('some'))];
  const end = ['a', 'b', 'c', 'd'].flatMap((id) => [
    { role: 'user', content: 'Go on.' },
    ...step(id, 'Nothing.'),
    { role: 'assistant', content: 'Done.' },
  ]);
  const strategy = { mode: 'compact', token_budget: 600, compact_preview_tokens: 40 } as const;

  it('are its own messages’ while an array that begins as it does is read', () => {
    const arrays = new KnownArrays(1e6, 0).of('a tenant');
    const readNext = (messages: readonly Json[]) => {
      const bytes = encoder.encode(JSON.stringify({ model: 'gpt-4.1', messages }));
      const read = readChatRequest(bytes, arrays.find(bytes, 'chat'));
      if (!read.ok || !read.value.array) throw new Error('no array was read');
      arrays.keep(read.value, undefined);
      return read.value.messages;
    };
    const order = 'ORD-2041-77318';
    const literals = (earlier: EarlierLiterals, index: number, text: string): string[] => {
      const fresh: string[] = [];
      earlier.eachFresh(index, text, undefined, (literal) => fresh.push(literal.text));
      return fresh;
    };
    readNext([...begin, { role: 'user', content: 'Go on.' }]);
    const one = new EarlierLiterals(
      readNext([...begin, ...step('call_2', 'none'), ...step('call_3', order)]),
    );
    const other = new EarlierLiterals(readNext([...begin, ...step('call_2', order), ...end]));

    expect(literals(one, begin.length - 1, 'src/one.ts')).toEqual(['src/one.ts']);
    expect(literals(other, begin.length + 3, order)).toEqual([]);
    expect(literals(one, begin.length + 3, order)).toEqual([order]);
  });

  it('are its own messages’, and not an array’s that begins as it does', () => {
    const arrays = new KnownArrays(1e6, 0).of('a tenant');
    const viewed = (messages: readonly Json[]) => {
      const bytes = encoder.encode(JSON.stringify({ model: 'gpt-4.1', messages }));
      const shared = arrays.find(bytes, 'chat');
      const read = readChatRequest(bytes, shared);
      if (!read.ok || !read.value.array) throw new Error('no array was read');
      const { bytes: sent } = viewOfRequest(read.value, strategy, { force: true });
      arrays.keep(read.value, shared);
      return { shared, sent: new TextDecoder().decode(sent) };
    };
    const order = 'ORD-2041-77318';
    viewed([
      ...begin,
      { role: 'user', content: `What of ${order}?` },
      ...step('call_2', lines('other')),
      ...end,
    ]);
    const fork = viewed([
      ...begin,
      { role: 'user', content: 'What else?' },
      ...step('call_2', `${lines('more')} ${order}`),
      ...end,
    ]);
    expect(fork.shared?.items).toHaveLength(begin.length);
    expect(fork.sent).toContain(`held: ${order}`);
  });

  it('are the same in a known array where hashes were chosen to collide, and none is lost', () => {
    const { known, unknown } = collidingIds();
    const messages = [
      { role: 'user', content: `Begin. ${known.join(' ')} ${unknown}` },
      ...step('call_1', `${lines('some')} ${known[0]}`),
      ...end,
      { role: 'user', content: 'Go on.' },
      ...step('call_2', `${lines('other')} ${unknown}`),
      ...end,
    ];
    const sent = (array: readonly Json[], arrays = new KnownArrays(1e6, 0).of('a tenant')) => {
      const bytes = encoder.encode(JSON.stringify({ model: 'gpt-4.1', messages: array }));
      const shared = arrays.find(bytes, 'chat');
      const read = readChatRequest(bytes, shared);
      if (!read.ok || !read.value.array) throw new Error('no array was read');
      const view = viewOfRequest(read.value, strategy, { force: true });
      arrays.keep(read.value, shared);
      return new TextDecoder().decode(view.bytes);
    };
    const arrays = new KnownArrays(1e6, 0).of('a tenant');
    for (let length = 1; length <= messages.length; length++)
      expect(sent(messages.slice(0, length), arrays)).toBe(sent(messages.slice(0, length)));
    const outputs = sent(messages).split('"role":"tool"').slice(1);
    expect(outputs.join('')).toContain(`held: ${unknown}`);
    expect(outputs.join('')).not.toContain(known[0]);
  });
});

/** Ids whose hashes choose one bucket: all that it takes, and one for which it has no room. */
function collidingIds(): { known: string[]; unknown: string } {
  const ids: string[] = [];
  for (let number = 0; ids.length < 65; number++)
    if (hashOf(`ORD-${number}-77318`).low % 64 === 0) ids.push(`ORD-${number}-77318`);
  return { known: ids.slice(0, -1), unknown: ids.at(-1) ?? '' };
}

describe('the arrays of an isolate', () => {
  const body = (text: string) => encoder.encode(`{"messages":[{"role":"user","content":"${text}"}]}`);
  const keep = (arrays: KnownArrays, tenant: string, bytes: Uint8Array) => {
    const own = arrays.of(tenant);
    const shared = own.find(bytes, 'chat');
    const read = readChatRequest(bytes, shared);
    if (!read.ok || !read.value.array) throw new Error('no array was read');
    own.keep(read.value, shared);
    return shared;
  };

  it('belong to one tenant and one protocol', () => {
    const arrays = new KnownArrays(1e6, 0);
    keep(arrays, 'a', body('hello'));
    expect(arrays.of('a').find(body('hello'), 'chat')).toBeDefined();
    expect(arrays.of('b').find(body('hello'), 'chat')).toBeUndefined();
    expect(arrays.of('a').find(body('hello'), 'messages')).toBeUndefined();
  });

  it('are known at each request, however often they come', () => {
    const arrays = new KnownArrays(1e6, 0);
    keep(arrays, 't', body('hello'));
    for (let request = 0; request < 4; request++)
      expect(keep(arrays, 't', body('hello'))?.items).toHaveLength(1);
  });

  it('are forgotten in the order of their last use, within their bytes', () => {
    const arrays = new KnownArrays(40_000, 0);
    const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(10_000));
    for (const text of texts) keep(arrays, 't', body(text));
    expect(keep(arrays, 't', body(texts[0] ?? ''))).toBeDefined();
    keep(arrays, 't', body('d'.repeat(10_000)));
    const known = texts.map((text) => arrays.of('t').find(body(text), 'chat') !== undefined);
    expect(known).toEqual([true, false, true]);
  });

  it('are forgotten when nobody has continued them for ten minutes', () => {
    let now = 0;
    const arrays = new KnownArrays(1e6, 0, () => now);
    keep(arrays, 't', body('old'));
    keep(arrays, 't', body('used'));
    now = 9 * 60_000;
    keep(arrays, 't', body('used'));
    now = 11 * 60_000;
    keep(arrays, 'u', body('of another tenant'));
    expect(arrays.of('t').find(body('used'), 'chat')).toBeDefined();
    expect(arrays.of('t').find(body('old'), 'chat')).toBeUndefined();
  });

  it.each([
    ['few fields', { type: 'text', text: 'a' }, 100_000],
    ['all fields that are read', Object.fromEntries(BLOCK_FIELDS.map((key) => [key, 1])), 250_000],
  ])('does not keep more parts of contents, with %s, than memory has room for', (_, part, most) => {
    const content = Array.from({ length: 100 }, () => part);
    const bytes = encoder.encode(JSON.stringify({ messages: [{ role: 'user', content }] }));
    const read = readMessagesRequest(bytes);
    if (!read.ok) throw new Error('a valid body was refused');
    const own = (room: number) => new KnownArrays(room, 0).of('t');
    const [small, large] = [own(0.4 * most), own(most)];
    for (const arrays of [small, large]) arrays.keep(read.value, undefined);
    expect(small.find(bytes, 'messages')).toBeUndefined();
    expect(large.find(bytes, 'messages')).toBeDefined();
  });

  it('does not keep what is larger than all of them may be', () => {
    const arrays = new KnownArrays(40_000, 0);
    keep(arrays, 't', body('a'.repeat(50_000)));
    expect(arrays.of('t').find(body('a'.repeat(50_000)), 'chat')).toBeUndefined();
  });
});

describe('a request that an isolate keeps', () => {
  const bytesOf = (text: string) => encoder.encode(`{"messages":[{"role":"user","content":"${text}"}]}`);
  const read = (bytes: Uint8Array) => {
    const request = readChatRequest(bytes);
    if (!request.ok) throw new Error('a valid body was refused');
    return request.value;
  };

  it('is the same for the same bytes alone', () => {
    const own = new KnownArrays(1e6, 0).of('a');
    const request = read(bytesOf('hello'));
    own.keep(request, undefined);
    expect(own.find(bytesOf('hello'), 'chat')?.same).toBe(request);
    expect(own.find(encoder.encode(`${new TextDecoder().decode(bytesOf('hello'))} `), 'chat')?.same).toBe(
      undefined,
    );
  });

  it('counts what was made of it, also where it comes again', () => {
    const own = new KnownArrays(10_000, 0).of('a');
    const request = read(bytesOf('hello'));
    own.keep(request, undefined);
    const found = own.find(bytesOf('hello'), 'chat');
    expect(found?.same).toBe(request);
    own.keep(request, found, 9_000);
    expect(own.find(bytesOf('hello'), 'chat')).toBeUndefined();
  });
});
