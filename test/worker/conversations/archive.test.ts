/** The archive of a conversation, on the runtime's own R2 and SQLite. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { LARGEST_PACK } from '../../../src/storage/archive/packing.ts';
import { conversationName, type Session } from '../../../src/storage/conversation/key.ts';
import { sha256Hex, Tenants } from '../../../src/tenant/identity.ts';
import { assistant, calls, read, result, system, user } from '../../support/conversations/chat.ts';
import { hang, KEY, MODES, start, startApp, watchedBucket, watchedObjects } from '../support.ts';

const COMPACT = { mode: 'compact', archive: true };
const OTHER_KEY = 'sk-another-caller-of-the-worker-tests';

const tenantOf = (key: string) => new Tenants(env.PRECIS_SECRET).ofToken(key).id;
const objectOf = (session: Session, { key = KEY, ofUser }: { key?: string; ofUser?: string } = {}) =>
  env.CONVERSATION_MEMORY.getByName(
    conversationName(tenantOf(key), ofUser, session),
  ) as DurableObjectStub<ConversationMemory>;

/** The names of all packs of a tenant. */
async function packsOf(key = KEY): Promise<string[]> {
  const { objects } = await env.REFS.list({ prefix: `${tenantOf(key)}/archive_` });
  return objects.map((object) => object.key).sort();
}

/** The SQLite tables of the archive, including shadow tables. */
const tablesOf = (stub: DurableObjectStub<ConversationMemory>): Promise<string[]> =>
  runInDurableObject(stub, (_, { storage }) =>
    storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .toArray()
      .map(({ name }) => name),
  );

interface Item {
  object: string;
  position: number;
  created_at: number;
  message: { role: string; content: unknown } | null;
  snippet?: string;
}
interface Page {
  object: string;
  data: Item[];
  has_more: boolean;
  cursor: string | null;
}

let made = 0;

/** The app and a new conversation. */
function archive() {
  const id = `archived ${made++}`;
  const watched = watchedBucket();
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(watched.bucket, { CONVERSATION_MEMORY: objects.namespace });
  app.answer.words = () => 'This is the answer.';
  const ask = (messages: object[], more: object = {}) =>
    app.chat({ model: 'gpt-4.1', conversation_id: id, memory_strategy: COMPACT, ...more, messages });
  const path = (of = id) => `/v1/conversations/${encodeURIComponent(of)}`;
  const get = (query: Record<string, string> = {}, init: RequestInit = {}, of = id) =>
    app.request(`${path(of)}/messages?${new URLSearchParams(query)}`, init);
  const page = async (...how: Parameters<typeof get>): Promise<Page> => (await get(...how)).json();
  const messages = async (...how: Parameters<typeof get>) =>
    (await page(...how)).data.map(({ message }) => message);
  const found = async (q: string) => (await messages({ q })).map((message) => message?.content);
  const remove = () => app.request(`${path()}/memory`, { method: 'DELETE' });
  const writes = () => watched.operations.filter(({ name }) => name === 'put').length;
  return {
    id,
    app,
    watched,
    objects,
    ask,
    get,
    page,
    messages,
    found,
    remove,
    writes,
    stub: objectOf({ id }),
  };
}

const ANSWER = assistant('This is the answer.');

/**
 * A request of a conversation, from another isolate.
 *
 * @param before is awaited before each call of the bucket and of the object, by the name of the
 *   method
 */
function racingApp(id: string, before: (method: string) => Promise<void>) {
  const raced = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get:
        (_, name) =>
        async (...values: unknown[]) => {
          await before(String(name));
          return Reflect.apply(
            Reflect.get(target, name) as (...values: unknown[]) => unknown,
            target,
            values,
          );
        },
    });
  const real = env.CONVERSATION_MEMORY;
  const app = startApp(raced(env.REFS), {
    CONVERSATION_MEMORY: {
      idFromName: (name: string) => real.idFromName(name),
      get: (of: DurableObjectId) => raced(real.get(of)),
    } as unknown as DurableObjectNamespace,
  });
  app.answer.words = () => 'This is the answer.';
  return (messages: object[]) => app.chat({ conversation_id: id, memory_strategy: COMPACT, messages });
}

let logged: string[] = [];

beforeEach(() => {
  logged = [];
  for (const level of ['info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((...line) => {
      logged.push(line.map(String).join(' '));
    });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the archive of a conversation', () => {
  it('holds the messages byte for byte, and the answers', async () => {
    const { app, id, page } = archive();
    const sent =
      '{"role":"user", "content":"Where is 12345678901234567890?","x-extra":{"b":1.0,"a":"\\u00e9\\ud800"}}';
    await app.request('/v1/chat/completions', {
      method: 'POST',
      body: `{"messages":[{"role":"system","content":"Be brief."},${sent}],"conversation_id":"${id}","memory_strategy":{"mode":"trim","archive":true}}`,
    });

    const { object, data, has_more, cursor } = await page();

    expect({ object, has_more, cursor }).toEqual({ object: 'list', has_more: false, cursor: null });
    expect(data.map(({ message }) => message)).toEqual([system('Be brief.'), JSON.parse(sent), ANSWER]);
    expect(data.map(({ object, position }) => [object, position])).toEqual([
      ['conversation.message', 0],
      ['conversation.message', 1],
      ['conversation.message', 2],
    ]);
    for (const { created_at } of data) expect(created_at).toBeCloseTo(Date.now() / 1000, -2);
  });

  it('gives back the very bytes', async () => {
    const { app, id, get } = archive();
    const sent =
      '{ "content":[{"type":"text","text":"\\u00e9 1"}],"n":12345678901234567890.10,"role":"user"}';
    await app.request('/v1/chat/completions', {
      method: 'POST',
      body: `{"messages":[ ${sent} ],"conversation_id":"${id}","memory_strategy":{"mode":"trim","archive":true}}`,
    });

    expect(await (await get()).text()).toContain(`"message":${sent}}`);
  });

  it('grows by the new messages, in one write for each request', async () => {
    const { ask, messages, writes, watched } = archive();
    const talk = [user('One'), ANSWER, user('Two'), ANSWER, user('Three')];

    await ask(talk.slice(0, 1));
    const first = writes();
    await ask(talk.slice(0, 3));
    const second = writes();
    await ask([...talk.slice(0, 4), ...[calls(['call_1', 'look']), result('call_1', 'Seen'), user('Three')]]);

    expect([first, second, writes()]).toEqual([1, 2, 3]);
    expect(watched.operations.filter(({ name }) => name !== 'put')).toEqual([]);
    expect(await messages()).toEqual([
      ...talk.slice(0, 4),
      calls(['call_1', 'look']),
      result('call_1', 'Seen'),
      user('Three'),
      ANSWER,
    ]);
  });

  it('does not change when the same request comes again', async () => {
    const { ask, messages, writes } = archive();
    await ask([user('One')]);
    await ask([user('One')]);

    expect(writes()).toBe(1);
    expect(await messages()).toEqual([user('One'), ANSWER]);
  });

  it('has an answer once, as it came back', async () => {
    const { ask, page, messages, writes } = archive();
    const full = { refusal: null, ...ANSWER, reasoning_content: 'Whales come to mind.', name: 'ahab' };
    await ask([user('One')]);
    await ask([user('One'), full, user('Two')]);
    const between = await page();
    await ask([user('One'), full, user('Two'), ANSWER, user('Three')]);
    await ask([user('One'), ANSWER, user('Two'), full, user('Four')]);

    const talk = [user('One'), full, user('Two')];
    expect(between.data.map(({ message }) => message)).toEqual([...talk, ANSWER]);
    expect(between.data.map(({ position }) => position)).toEqual([0, 1, 2, 3]);
    expect(await messages()).toEqual([...talk, full, user('Three'), ANSWER, user('Four'), ANSWER]);
    expect(writes()).toBe(4);
    expect(
      (await page({ q: 'whales answer' })).data.map(({ position, message }) => [position, message]),
    ).toEqual([
      [1, full],
      [3, full],
    ]);
    expect((await page({ q: 'answer' })).data).toHaveLength(4);
  });

  it('asks its index once where nothing is new', async () => {
    const { id } = archive();
    const called: string[] = [];
    const again = racingApp(id, async (method) => {
      called.push(method);
    });
    const full = { ...ANSWER, reasoning_content: 'So it is.' };
    await again([user('One')]);
    await again([user('One'), full, user('Two')]);
    called.length = 0;
    await again([user('One'), full, user('Two')]);
    await again([user('One'), ANSWER, user('Two')]);

    expect(called.filter((method) => method !== 'settings')).toEqual(['unarchived', 'unarchived']);
  });

  it('holds an edited array beside the one that it was made of', async () => {
    const { ask, page } = archive();
    await ask([user('One'), ANSWER, user('Two')]);
    await ask([user('One'), ANSWER, user('Two, or three')]);

    const { data } = await page();

    expect(data.map(({ position, message }) => [position, message?.content])).toEqual([
      [0, 'One'],
      [1, 'This is the answer.'],
      [2, 'Two'],
      [3, 'This is the answer.'],
      [2, 'Two, or three'],
      [3, 'This is the answer.'],
    ]);
  });

  it('holds a preamble that changes, and the rest once', async () => {
    const { ask, messages } = archive();
    await ask([system('It is Monday.'), user('One')]);
    const later = [
      system('It is Tuesday.'),
      user('One'),
      ANSWER,
      system('Hurry.'),
      system('Hurry.'),
      user('Two'),
    ];
    await ask(later);
    await ask(later);

    expect(await messages()).toEqual([
      system('It is Monday.'),
      user('One'),
      ANSWER,
      system('It is Tuesday.'),
      system('Hurry.'),
      system('Hurry.'),
      user('Two'),
      ANSWER,
    ]);
  });

  it('catches up if more messages are new than it first asks for', async () => {
    const { ask, page, writes } = archive();
    const talk = Array.from({ length: 100 }, (_, n) => [user(`Question ${n}`), ANSWER]).flat();
    await ask(talk.slice(0, 21));
    await ask([...talk, user('The last')]);

    const { data } = await page({ limit: '100' });
    const rest = await page({ limit: '100', cursor: '100' });
    const end = await page({ limit: '100', cursor: '200' });

    const all = [data, rest.data, end.data].flat();
    expect(all.map(({ message }) => message)).toEqual([...talk, user('The last'), ANSWER]);
    expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index));
    expect(writes()).toBe(2);
  });

  it('keeps messages that are larger than a pack or don’t fit the others’ pack', async () => {
    const { ask, messages, writes } = archive();
    const talk = [
      user('x'.repeat(LARGEST_PACK)),
      ANSWER,
      user('y'.repeat(LARGEST_PACK - 1_000)),
      user('z'.repeat(2_000)),
    ];
    await ask(talk);

    expect(writes()).toBe(3);
    expect(await messages()).toEqual([...talk, ANSWER]);
  });

  it('is that of the session that a client names, where it names no conversation', async () => {
    const { app, messages, id } = archive();
    const body = JSON.stringify({ memory_strategy: COMPACT, messages: [user('One')] });
    await app.request('/v1/chat/completions', { method: 'POST', body, headers: { 'x-session-id': id } });

    expect(await messages()).toEqual([user('One'), ANSWER]);
  });

  it('is that of the messages up to the first answer, where nothing is named', async () => {
    const { app } = archive();
    const first = user(`One ${crypto.randomUUID()}`);
    const chat = (messages: object[]) => app.chat({ memory_strategy: COMPACT, messages });
    await chat([first]);
    await chat([first, ANSWER, user('Two')]);
    const other = assistant('Another answer.');
    await chat([first, other, user('Two')]);

    const positions = (answer: typeof other) => {
      const hash = prefixHashes(read([first, answer]), sha256Hex).at(-1) ?? '';
      return runInDurableObject(objectOf({ hash }), (memory) =>
        memory.archived(0, { rows: 10, bytes: 10_000 })?.rows.map(({ position }) => position),
      );
    };
    expect(await positions(ANSWER)).toEqual([0, 1, 2, 3]);
    expect(await positions(other)).toEqual([0, 1, 2, 3]);
  });

  it.each<[string, object]>([
    ['not asked for', { memory_strategy: { mode: 'compact' } }],
    ['turned off', { memory_strategy: { mode: 'compact', archive: false } }],
    ['of mode none', { memory_strategy: 'none' }],
  ])('does not exist where it is %s', async (_, fields) => {
    const { ask, get, stub } = archive();
    await ask([user('One')], fields);

    expect((await get()).status).toBe(404);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('does not exist where the upstream has refused', async () => {
    const { app, ask, stub, writes } = archive();
    app.answer.status = 429;
    await ask([user('One')]);

    expect(await tablesOf(stub)).toEqual([]);
    expect(writes()).toBe(0);
  });

  it('is not touched by a view, and a view not by it', async () => {
    const { app, ask, messages } = archive();
    const talk = [1, 2, 3, 4].flatMap((n) => [
      user(`Question ${n}`),
      calls([`call_${n}`, 'look']),
      result(`call_${n}`, `Seen ${n}: ${'a long output, '.repeat(40)}`),
      ANSWER,
    ]);
    const strategy = { mode: 'compact', token_budget: 0, compact_keep: 1 };
    await ask([...talk, user('And?')], { memory_strategy: { ...strategy, archive: true } });
    const view = app.sent.at(-1)?.body;
    await ask([...talk, user('And?')], { memory_strategy: strategy });

    expect(view).toContain('⟦removed: ');
    expect(app.sent.at(-1)?.body).toBe(view);
    expect(await messages()).toEqual([...talk, user('And?'), ANSWER]);
  });

  it('begins in an object that older settings have made', async () => {
    const { app, id, ask, messages } = archive();
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    await app.request(path, { method: 'PATCH', body: '{"mode":"trim","archive":true}' });
    const before = await messages();
    await ask([user('One')], { memory_strategy: undefined });

    expect(before).toEqual([]);
    expect(await messages()).toEqual([user('One'), ANSWER]);
  });

  it('outlives the object that holds its index', async () => {
    const { ask, messages, objects, found } = archive();
    await ask([user('One')]);
    await objects.evict();
    await ask([user('One'), ANSWER, user('Two')]);
    await objects.evict();

    expect(await messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
    expect(await found('Two')).toEqual(['Two']);
  });

  it('outlives a summary that came to nothing', async () => {
    const { ask, messages, stub } = archive();
    await ask([user('One')]);
    await runInDurableObject(stub, async (memory) => {
      const claim = await memory.claim({
        conversation: 'one',
        strategyHash: 'strategy',
        boundary: { prefixHash: 'one', end: 1, sequence: 0 },
        bases: [],
        startSequence: 0,
        windowSize: null,
        leaseMs: 60_000,
        retryIntervalMs: 0,
        exclusive: 'boundary',
        from: 0,
      });
      if (claim.state !== 'claimed') throw new Error(`the claim is ${claim.state}`);
      await memory.abandon(claim.memoryId, claim.lease);
    });

    expect(await messages()).toEqual([user('One'), ANSWER]);
  });

  it('belongs to one tenant and one user', async () => {
    const { app, id, ask, get, messages } = archive();
    await ask([user('One')], { user: 'ann' });
    const body = JSON.stringify({ conversation_id: id, memory_strategy: COMPACT, messages: [user('One')] });
    const authorization = `Bearer ${OTHER_KEY}`;
    await app.request('/v1/chat/completions', { method: 'POST', body, headers: { authorization } });

    const asks: [Record<string, string>, RequestInit][] = [
      [{}, {}],
      [{ user: 'ben' }, {}],
      [{ user: 'ann' }, { headers: { authorization } }],
    ];
    for (const [query, init] of asks) expect((await get(query, init)).status).toBe(404);
    const others = await messages({}, { headers: { authorization } });
    expect(await messages({ user: 'ann' })).toEqual(others);
    expect(await messages({}, { headers: { 'x-memory-user': 'ann' } })).toEqual(others);
    expect(others).toEqual([user('One'), ANSWER]);
    // Equal contents of two conversations are two packs.
    expect(await packsOf(OTHER_KEY)).toHaveLength(1);
  });
});

describe('a page of the archive', () => {
  it('has as many messages as are wanted, and names the next one', async () => {
    const { ask, page } = archive();
    const talk = [1, 2, 3, 4, 5].map((n) => user(`Question ${n}`));
    await ask(talk);
    const pages: Page[] = [];
    for (let cursor: string | null | undefined = '0'; cursor != null; cursor = pages.at(-1)?.cursor)
      pages.push(await page({ limit: '4', cursor }));

    expect(pages.map(({ data, has_more }) => [data.length, has_more])).toEqual([
      [4, true],
      [2, false],
    ]);
    expect(pages.flatMap(({ data }) => data.map(({ message }) => message))).toEqual([...talk, ANSWER]);
  });

  it('is shorter where messages are large', async () => {
    const { ask, page } = archive();
    const talk = ['a', 'b', 'c', 'd'].map((letter) => user(letter.repeat(3 * 1024 * 1024)));
    await ask(talk);

    const first = await page();
    const second = await page({ cursor: first.cursor ?? '' });

    expect([first, second].map(({ data, has_more }) => [data.length, has_more])).toEqual([
      [2, true],
      [3, false],
    ]);
    expect([...first.data, ...second.data].map(({ message }) => message)).toEqual([...talk, ANSWER]);
  });

  it('tells of a message whose pack is lost', async () => {
    const { ask, page } = archive();
    const before = await packsOf();
    await ask([user('One')]);
    await env.REFS.delete((await packsOf()).filter((pack) => !before.includes(pack)));

    expect((await page()).data.map(({ position, message }) => [position, message])).toEqual([
      [0, null],
      [1, null],
    ]);
  });

  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.failing, 'get'],
    ['the object', ({ objects }) => objects.failing, 'archived'],
  ])('is refused for now when %s fails', async (_, failingOf, method) => {
    const talk = archive();
    await talk.ask([user('One')]);
    failingOf(talk).add(method);

    const response = await talk.get();

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
  });

  it('tells of a message whose pack is damaged, and logs that', async () => {
    const { ask, get, page } = archive();
    const before = await packsOf();
    await ask([user('the words of the caller')]);
    const [first = ''] = (await packsOf()).filter((name) => !before.includes(name));
    await ask([user('the words of the caller'), ANSWER, user('Two')]);
    await env.REFS.put(first, new Uint8Array([1, 2, 3]));
    const listed = await get();
    const lines = [...logged];

    expect(listed.status).toBe(200);
    const { data } = (await listed.json()) as Page;
    expect(data.map(({ message }) => message)).toEqual([null, null, user('Two'), ANSWER]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('damaged_pack');
    expect((await page({ q: 'caller' })).data).toMatchObject([
      { message: null, snippet: 'the words of the caller' },
    ]);
    expect(logged.join()).not.toContain('the words of the caller');
  });

  it('does not open for another purpose, or under another name', async () => {
    const { ask, messages } = archive();
    const before = await packsOf();
    await ask([user('One')]);
    const [pack = ''] = (await packsOf()).filter((name) => !before.includes(name));
    const object = await env.REFS.get(pack);
    const bytes = new Uint8Array((await object?.arrayBuffer()) ?? []);
    expect(new TextDecoder().decode(bytes)).not.toContain('One');
    const other = archive();
    await other.ask([user('Two')]);
    const [theirs = ''] = (await packsOf()).filter((name) => !before.includes(name) && name !== pack);
    await env.REFS.put(theirs, bytes);

    expect(await other.messages()).toEqual([null, null]);
    expect(await messages()).toEqual([user('One'), ANSWER]);
  });
});

describe('a search of the archive', () => {
  it('finds texts, outputs, arguments of calls and answers, and shows the words around', async () => {
    const { ask, found, page } = archive();
    await ask([
      user('Where is the blue whale?'),
      calls(['call_1', 'look_up', '{"animal":"humpback"}']),
      result('call_1', [
        { type: 'text', text: 'It was seen off Húsavík, by ORD-4711.' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ]),
    ]);

    const output = result('call_1', expect.anything());
    expect(await found('blue')).toEqual(['Where is the blue whale?']);
    expect(await found('whale WHERE')).toEqual(['Where is the blue whale?']);
    expect((await page({ q: 'humpback' })).data.map(({ position }) => position)).toEqual([1]);
    expect((await page({ q: 'look_up' })).data.map(({ position }) => position)).toEqual([1]);
    expect((await page({ q: 'husavik' })).data).toEqual([
      {
        object: 'conversation.message',
        position: 2,
        created_at: expect.any(Number),
        message: output,
        snippet: 'It was seen off Húsavík, by ORD-4711.',
      },
    ]);
    expect((await page({ q: 'ORD-4711' })).data).toHaveLength(1);
    expect((await page({ q: 'iVBORw0KGgo' })).data).toEqual([]);
    expect(await found('answer')).toEqual(['This is the answer.']);
    expect(await found('blue answer')).toEqual([]);
    expect(await found('4711-ORD')).toEqual([]);
  });

  it('leaves the preamble out', async () => {
    const { ask, found, messages } = archive();
    const talk = [system('Speak of whales.'), user('One whale'), { role: 'developer', content: 'Whales!' }];
    await ask(talk);

    expect(await found('whale')).toEqual(['One whale']);
    expect(await found('whales')).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER]);
  });

  it('finds words of scripts that put no space between them', async () => {
    const { ask, page, found } = archive();
    await ask([user('我喜欢苹果，也喜欢梨。'), user('ホットコーヒーです'), user('苹 or 果')]);

    expect((await page({ q: '苹果' })).data.map(({ position, snippet }) => [position, snippet])).toEqual([
      [0, '我喜欢苹果，也喜欢梨。'],
    ]);
    expect(await found('コーヒー')).toEqual(['ホットコーヒーです']);
    expect(await found('果苹')).toEqual([]);
  });

  it.each([
    ['Python入門の本', ['Python', '入門', 'python入門', '本']],
    ['iPhone価格は10万円', ['価格', 'iPhone', '万円', '10万円', '10']],
    ['ใช้Pythonเขียนโปรแกรม', ['Python', 'เขียน', 'ใช้Python']],
  ])('finds each word of %s', async (text, words) => {
    const { ask, page } = archive();
    await ask([user(text)]);

    for (const q of words)
      expect(
        (await page({ q })).data.map(({ snippet }) => snippet),
        q,
      ).toEqual([text]);
  });

  it('gives the best match first, in pages', async () => {
    const { ask, page } = archive();
    await ask([
      user(`One whale among many ${'other words '.repeat(50)}`),
      user('whale whale whale'),
      user('No such animal'),
      user('A whale and a ship'),
    ]);

    const first = await page({ q: 'whale', limit: '2' });
    const second = await page({ q: 'whale', limit: '2', cursor: first.cursor ?? '' });

    expect(first.data.map(({ position }) => position)).toEqual([1, 3]);
    expect([first.has_more, second.has_more, second.cursor]).toEqual([true, false, null]);
    expect(second.data.map(({ position }) => position)).toEqual([0]);
    expect(second.data[0]?.snippet).toMatch(/^One whale among many .*…$/);
  });

  it('goes on where it was when messages come in between', async () => {
    const { ask, page } = archive();
    const talk = [1, 2, 3, 4].map((n) => user(`whale ${'and more '.repeat(n)}`));
    await ask(talk);
    const first = await page({ q: 'whale', limit: '2' });
    await ask([...talk, ANSWER, user('whale'), user('whale')]);
    const second = await page({ q: 'whale', limit: '2', cursor: first.cursor ?? '' });
    const anew = await page({ q: 'whale', limit: '2' });

    expect(first.data.map(({ position }) => position)).toEqual([0, 1]);
    expect(second.data.map(({ position }) => position)).toEqual([2, 3]);
    expect([second.has_more, second.cursor]).toEqual([false, null]);
    expect(anew.data.map(({ position }) => position)).toEqual([5, 6]);
  });

  it.each([
    '"',
    '""',
    '*',
    'One OR',
    'AND',
    'NOT One',
    'NEAR(One, 2)',
    'text : One',
    '{text} : One',
    '^One',
    '-One',
    '(One',
    'One*',
    "One'; DROP TABLE archive_messages; --",
    'One\0',
    '\ud800',
    '\u200b',
    'a '.repeat(128),
  ])('takes %j for words', async (q) => {
    const { ask, get, found } = archive();
    await ask([user('One')]);

    expect((await get({ q })).status).toBe(200);
    expect(await found('One')).toEqual(['One']);
  });

  it('finds nothing where nothing is archived', async () => {
    const { app, id, messages } = archive();
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    await app.request(path, { method: 'PATCH', body: '{"mode":"trim"}' });

    expect(await messages({ q: 'One' })).toEqual([]);
  });

  it('reads a bounded part of a message', async () => {
    const { ask, page } = archive();
    await ask([user(`first ${'word '.repeat(100_000)} last`), user(`${'x'.repeat(300_000)} end`)]);

    const { data } = await page({ q: 'first' });
    expect(data[0]?.snippet?.length).toBeLessThan(1_000);
    expect((await page({ q: 'last' })).data).toEqual([]);
  });
});

describe('an archive of 10 000 messages', () => {
  it('is written at one request, listed, searched, and deleted without a trace', async () => {
    const { ask, page, found, stub, remove, writes } = archive();
    const before = await packsOf();
    const talk = Array.from({ length: 10_000 }, (_, n) =>
      n % 2 === 0
        ? user(`Question ${n} about topic${n % 97}`)
        : assistant(`Answer ${n}. ${'Some words. '.repeat(8)}`),
    );
    const response = await ask(talk);
    const packs = writes();

    const listed: Item[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const next: Page = await page({ limit: '100', cursor });
      listed.push(...next.data);
      cursor = next.cursor;
    }
    const one = await found('question 7777');
    const another = await found('question 7776');
    const many = await page({ q: 'topic13', limit: '100' });
    await ask([...talk, ANSWER, user('One more')]);
    const more = writes() - packs;
    const last = await page({ cursor: '9999' });
    const deleted = await remove();

    expect(response.status).toBe(200);
    expect(packs).toBeLessThan(10);
    expect(listed.map(({ message }) => message)).toEqual([...talk, ANSWER]);
    expect(listed.map(({ position }) => position)).toEqual(listed.map((_, index) => index));
    expect(one).toEqual([]);
    expect(another).toEqual(['Question 7776 about topic16']);
    expect(many.data.every(({ message }) => String(message?.content).endsWith('topic13'))).toBe(true);
    expect(many.data).toHaveLength(talk.filter(({ content }) => String(content).endsWith('topic13')).length);
    expect(more).toBe(1);
    expect(last.data.map(({ message }) => message)).toEqual([talk[9_999], ANSWER, user('One more'), ANSWER]);
    expect(deleted.status).toBe(200);
    expect(await packsOf()).toEqual(before);
    expect(await tablesOf(stub)).toEqual([]);
  }, 120_000);
});

describe('deleting a conversation', () => {
  it('takes its archive, and leaves that of another one with the same messages', async () => {
    const before = await packsOf();
    const one = archive();
    const other = archive();
    for (const { ask } of [one, other]) {
      await ask([user('One')]);
      await ask([user('One'), ANSWER, user('Two')]);
    }
    const both = await packsOf();

    const deleted = await one.remove();

    expect(both.length - before.length).toBe(4);
    expect(deleted.status).toBe(200);
    expect((await packsOf()).length - before.length).toBe(2);
    expect(await tablesOf(one.stub)).toEqual([]);
    expect((await one.get()).status).toBe(404);
    expect((await one.remove()).status).toBe(404);
    expect(await other.messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
  });

  it('lets its archive begin anew', async () => {
    const { ask, remove, messages } = archive();
    await ask([user('One')]);
    await remove();
    await ask([user('One'), ANSWER, user('Two')]);

    expect(await messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
  });

  it('takes packs whose messages never came into the index', async () => {
    const before = await packsOf();
    const { ask, objects, remove, stub } = archive();
    objects.failing.add('addToArchive');
    await ask([user('One')]);
    const between = await packsOf();
    const deleted = await remove();

    expect(between.length - before.length).toBe(1);
    expect(deleted.status).toBe(200);
    expect(await packsOf()).toEqual(before);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('can be done again when R2 has failed', async () => {
    const before = await packsOf();
    const { ask, watched, remove } = archive();
    await ask([user('One')]);
    watched.failing.add('delete');
    const failed = await remove();
    watched.failing.clear();

    expect(failed.status).toBe(503);
    expect((await remove()).status).toBe(200);
    expect(await packsOf()).toEqual(before);
  });

  it.each<[string, 'before' | 'after']>([
    ['about to be written', 'before'],
    ['just written', 'after'],
  ])('takes what is %s meanwhile', async (_, when) => {
    const before = await packsOf();
    const { id, stub } = archive();
    const bucket = new Proxy(watchedBucket().bucket, {
      get:
        (target, name) =>
        async (...values: unknown[]) => {
          const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
          if (name === 'put' && when === 'before') await stub.clear();
          const done = await method.apply(target, values);
          if (name === 'put' && when === 'after') await stub.clear();
          return done;
        },
    });
    const racing = startApp(bucket);
    racing.answer.words = () => 'This is the answer.';
    await racing.chat({ conversation_id: id, memory_strategy: COMPACT, messages: [user('One')] });

    expect(await packsOf()).toEqual(before);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('lets nobody go on behind what is gone', async () => {
    const { id, ask, stub, messages } = archive();
    await ask([user('One')]);
    const racing = racingApp(id, async (method) => {
      if (method === 'notePacks') await stub.clear();
    });
    const talk = [user('One'), ANSWER, user('Two')];
    await racing(talk);
    const between = await tablesOf(stub);
    await ask([...talk, ANSWER, user('Three')]);

    expect(between).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER, user('Three'), ANSWER]);
  });
});

describe('a writer that a deletion has overtaken', () => {
  /** Each message fills a pack. */
  const talk = Array.from({ length: 8 }, (_, n) => user(`${n} ${'x'.repeat(LARGEST_PACK - 1_000)}`));

  it('takes back its own packs alone', async () => {
    const before = await packsOf();
    const { id, ask, remove, stub, messages } = archive();
    const racing = racingApp(id, async (method) => {
      if (method === 'addToArchive') await stub.clear();
      if (method === 'delete') await ask(talk);
    });
    await racing(talk);

    expect(await messages()).toEqual([...talk, ANSWER]);
    await remove();
    expect(await packsOf()).toEqual(before);
  });

  it('adds nothing before what another one is about to add', async () => {
    const { id, stub, page, messages } = archive();
    const noted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const second = racingApp(id, async (method) => {
      if (method !== 'addToArchive') return;
      noted.resolve();
      await ended.promise;
    });
    let added = 0;
    let writing: Promise<unknown> | undefined;
    const first = racingApp(id, async (method) => {
      if (method !== 'addToArchive' || ++added < 2) return;
      await stub.clear();
      writing = second(talk);
      await noted.promise;
    });
    await first(talk);
    const between = await messages();
    ended.resolve();
    await writing;

    expect(added).toBe(2);
    expect(between).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER]);
    expect((await page()).data.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('the index of an archive', () => {
  const row = (key: string, pack: string) => ({
    key,
    position: 0,
    role: 'user',
    pack,
    start: 1,
    bytes: 2,
    answerDigest: null,
    text: 'One',
  });
  const index = (work: (memory: ConversationMemory, sql: SqlStorage) => Promise<void>) =>
    runInDurableObject(archive().stub, (memory, { storage }) => work(memory, storage.sql));
  const listed = (memory: ConversationMemory) => memory.archived(0, { rows: 10, bytes: 1_000_000 })?.rows;

  it('takes a message and its text together, or not at all', () =>
    index(async (memory, sql) => {
      const noted = await memory.notePacks(null, ['a']);
      if (!noted) throw new Error('the pack was not noted');
      const rows = ['one', 'two'].map((key) => row(key, noted.names[0] ?? ''));
      sql.exec('ALTER TABLE archive_text RENAME TO archive_away');
      expect(() => memory.addToArchive(noted.generation, rows)).toThrow();
      const between = listed(memory);
      sql.exec('ALTER TABLE archive_away RENAME TO archive_text');

      expect(between).toEqual([]);
      expect(memory.addToArchive(noted.generation, rows)).toBe(true);
      expect(listed(memory)).toHaveLength(2);
    }));

  it('takes nothing that was noted before a deletion', () =>
    index(async (memory) => {
      const old = await memory.notePacks(null, ['a']);
      await memory.clear();
      const noted = await memory.notePacks(null, ['a']);

      expect(memory.addToArchive(old?.generation ?? '', [row('one', old?.names[0] ?? '')])).toBe(false);
      expect(listed(memory)).toEqual([]);
      expect(old?.names).not.toEqual(noted?.names);
    }));

  it('keeps the names of packs that a deletion has left, when a summary is given up', () =>
    index(async (memory) => {
      await memory.notePacks(null, ['a']);
      const { packs } = (await memory.leave()) as { packs: readonly string[] };
      await memory.abandon(1, 'a lease');

      expect(packs).toHaveLength(1);
      expect(await memory.leave()).toMatchObject({ packs });
    }));

  it('has the beginning of a role that is none', async () => {
    const { ask, id } = archive();
    const odd = { role: 'x'.repeat(100_000), content: 'One' };
    await ask([odd]);

    const roles = await runInDurableObject(objectOf({ id }), (_, { storage }) =>
      storage.sql
        .exec<{ role: string }>('SELECT role FROM archive_messages ORDER BY archived_id')
        .toArray()
        .map(({ role }) => role),
    );
    expect(roles).toEqual(['x'.repeat(64), 'assistant']);
  });
});

describe('an archive that can not be written', () => {
  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.failing, 'put'],
    ['the object, when it is asked,', ({ objects }) => objects.failing, 'unarchived'],
    ['the object, before the write,', ({ objects }) => objects.failing, 'notePacks'],
    ['the object, after the write,', ({ objects }) => objects.failing, 'addToArchive'],
  ])('costs nothing else when %s fails, and is made up for', async (_, failingOf, method) => {
    const talk = archive();
    failingOf(talk).add(method);
    if (method === 'put') failingOf(talk).add('head');
    const secret = 'the words of the caller';

    const failed = await talk.ask([user(secret)]);
    const lines = [...logged];
    failingOf(talk).clear();
    await talk.ask([user(secret), ANSWER, user('Two')]);

    expect(failed.status).toBe(200);
    expect(failed.headers.get('x-memory-warning')).toBeNull();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('store_failed');
    expect(lines.join()).not.toContain(secret);
    expect(await talk.messages()).toEqual([user(secret), ANSWER, user('Two'), ANSWER]);
  });

  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.hanging, 'put'],
    ['the object', ({ objects }) => objects.hanging, 'unarchived'],
  ])('delays no request while %s does not answer', async (_, hangingOf, method) => {
    const talk = archive();
    // Background work is not awaited.
    hang(talk.watched);
    hangingOf(talk).add(method);

    const response = await talk.ask([user('One')]);

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ message: ANSWER }] });
  });
});

describe('an archive beside summaries', () => {
  it.each(MODES)('of %s is whole, and goes with them', async (_, strategy) => {
    const before = await packsOf();
    const { id, app, rounds, stub } = start({ ...strategy, archive: true });
    await rounds(1, 5);
    const path = `/v1/conversations/${encodeURIComponent(id)}`;
    const page: Page = await (await app.request(`${path}/messages`)).json();
    const deleted = await app.request(`${path}/memory`, { method: 'DELETE' });
    await evictDurableObject(stub);

    expect(page.data).toHaveLength(10);
    expect(page.data.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(deleted.status).toBe(200);
    expect(await packsOf()).toEqual(before);
    expect(await tablesOf(stub)).toEqual([]);
  });
});
