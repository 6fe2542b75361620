/** The archive of a conversation, on the runtime's own R2 and SQLite. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { LARGEST_PACK } from '../../../src/storage/archive/packing.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { assistant, calls, read, result, system, user } from '../../support/conversations/chat.ts';
import { KEY, MODES, start } from '../support.ts';
import {
  ANSWER,
  archive,
  COMPACT,
  OTHER_KEY,
  objectOf,
  type Page,
  packsOf,
  racingApp,
  recordLog,
  tablesOf,
} from './archived.ts';

recordLog();

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

  it('gives the times of its messages to plain turns, which have none while it does not answer', async () => {
    const { app, id, ask, objects, page } = archive();
    // Events know such times too.
    objects.failing.add('events.askedAt');
    await ask([user('One')]);
    const { data } = await page();
    const turns = async () => {
      const format = { memory_strategy: COMPACT, conversation_id: id, format: 'conversation_memory' };
      const init = { method: 'POST', body: JSON.stringify({ messages: [user('One')], ...format }) };
      return ((await (await app.request('/v1/compact', init)).json()) as { recent_turns: object[] })
        .recent_turns;
    };

    expect(await turns()).toMatchObject([{ user: 'One', ts: data[0]?.created_at }]);
    objects.failing.add('archive.archivedAt');
    const [turn] = await turns();
    expect(turn).toMatchObject({ user: 'One', assistant: null });
    expect(turn).not.toHaveProperty('ts');
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

  it('has an answer once, in the form that came back', async () => {
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

  it('asks its index nothing where nothing is new, and once in another isolate', async () => {
    const { id } = archive();
    const called: string[] = [];
    const isolate = () =>
      racingApp(id, async (method) => {
        called.push(method);
      });
    const [again, elsewhere] = [isolate(), isolate()];
    const full = { ...ANSWER, reasoning_content: 'So it is.' };
    await again([user('One')]);
    await again([user('One'), full, user('Two')]);
    called.length = 0;
    await again([user('One'), full, user('Two')]);
    await again([user('One'), ANSWER, user('Two')]);
    const here = called.splice(0);
    await elsewhere([user('One'), full, user('Two')]);
    await elsewhere([user('One'), ANSWER, user('Two')]);

    expect(here.filter((method) => method !== 'state.settings')).toEqual([]);
    expect(called.filter((method) => method !== 'state.settings')).toEqual(['archive.lacking']);
  });

  it('begins anew after another isolate has deleted it, with the next message', async () => {
    const { id, remove, messages } = archive();
    const elsewhere = racingApp(id, async () => undefined);
    await elsewhere([user('One')]);
    expect((await remove()).status).toBe(200);

    await elsewhere([user('One'), ANSWER, user('Two')]);

    expect((await messages()).map((message) => message?.content)).toEqual([
      'One',
      'This is the answer.',
      'Two',
      'This is the answer.',
    ]);
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

  it('is the session’s that a client names, where it names no conversation', async () => {
    const { app, messages, id } = archive();
    const body = JSON.stringify({ memory_strategy: COMPACT, messages: [user('One')] });
    await app.request('/v1/chat/completions', { method: 'POST', body, headers: { 'x-session-id': id } });

    expect(await messages()).toEqual([user('One'), ANSWER]);
  });

  it('is the one of the messages up to the first answer, where nothing is named', async () => {
    const { app } = archive();
    const first = user(`One ${crypto.randomUUID()}`);
    const chat = (messages: object[]) => app.chat({ memory_strategy: COMPACT, messages });
    await chat([first]);
    await chat([first, ANSWER, user('Two')]);
    const other = assistant('Another answer.');
    await chat([first, other, user('Two')]);

    const positions = (answer: typeof other) => {
      const hash = prefixHashes(read([first, answer]), sha256Hex).at(-1) ?? '';
      return runInDurableObject(objectOf({ hash }), async (memory) => {
        const page = await memory.archive.page(0, { rows: 10, bytes: 10_000 });
        return page?.rows.map(({ position }) => position);
      });
    };
    expect(await positions(ANSWER)).toEqual([0, 1, 2, 3]);
    expect(await positions(other)).toEqual([0, 1, 2, 3]);
  });

  it.each<[string, object]>([
    ['not asked for', { memory_strategy: { mode: 'compact' } }],
    ['turned off', { memory_strategy: { mode: 'compact', archive: false } }],
    ['of mode none', { memory_strategy: 'none' }],
  ])('does not exist where it is %s', async (_, fields) => {
    const { ask, get, stub } = archive({ EVENTS: 'off' });
    await ask([user('One')], fields);

    expect((await get()).status).toBe(404);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('does not exist where the upstream has refused', async () => {
    const { app, ask, stub, writes } = archive({ EVENTS: 'off' });
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
    expect(await packsOf(KEY, before)).toEqual([]);
    expect(await tablesOf(stub)).toEqual([]);
  });
});
