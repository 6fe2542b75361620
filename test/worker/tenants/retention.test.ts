/**
 * Unused data that is collected, and data that is deleted at once, on the runtime's own R2 and
 * objects.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory, TenantMemory, UserMemory } from '../../../src/index.ts';
import worker from '../../../src/index.ts';
import { conversationName, type Session, userName } from '../../../src/storage/conversation/names.ts';
import { collectUnused } from '../../../src/storage/tenant/sweep.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import {
  question,
  refsIn,
  SUMMARIZE,
  SUMMARIZER,
  start,
  startApp,
  TENANTS,
  watchedBucket,
  watchedObjects,
} from '../support.ts';

const DAY = 24 * 60 * 60_000;
const KEEPING = { ...env, TENANT_MEMORY: TENANTS, RETENTION_DAYS: '30' };

const tenants = new Tenants(env.PRECIS_SECRET);
let made = 0;

const newKey = () => `sk-a-key-of-retention-tests-${made++}`;

/** A new tenant and its app; with a key, another isolate of that tenant. */
function tenant(variables: Parameters<typeof startApp>[1] = {}, key = newKey()) {
  const { id } = tenants.ofToken(key);
  const watched = watchedBucket();
  const app = startApp(watched.bucket, { RETENTION_DAYS: '30', ...variables });
  app.answer.words = () => 'This is the answer.';
  const headers = { authorization: `Bearer ${key}` };
  const request = (path: string, init: RequestInit = {}) => app.request(path, { ...init, headers });
  const memory = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
  /** Runs work with the clock of the tenant's object set a number of days ahead. */
  const at = <Result>(days: number, work: () => Promise<Result>): Promise<Result> =>
    clock(memory, days).then(work);
  const chat = (messages: Message[], more: object = {}) =>
    request('/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify(body(messages, { memory_strategy: COMPACT, ...more })),
    });
  const objects = async (): Promise<string[]> =>
    (await env.REFS.list({ prefix: `${id}/` })).objects.map((object) => object.key.slice(id.length + 1));
  const refs = async () => (await objects()).filter((name) => name.startsWith('ref_'));
  const conversation = (session: Session, ofUser?: string) =>
    env.CONVERSATION_MEMORY.getByName(
      conversationName(id, ofUser, session),
    ) as DurableObjectStub<ConversationMemory>;
  const remove = (conversation: string) =>
    request(`/v1/conversations/${encodeURIComponent(conversation)}/memory`, { method: 'DELETE' });
  return { key, app, request, memory, at, chat, objects, refs, conversation, remove };
}

async function clock(memory: DurableObjectStub<TenantMemory>, days: number): Promise<void> {
  await runInDurableObject(memory, (object) => {
    Reflect.set(object, 'now', () => Date.now() + days * DAY);
    Reflect.set(object, 'env', KEEPING);
  });
}

const COMPACT = { mode: 'compact', token_budget: 2_000 };

/** An agent's messages. Some of their outputs are removed. */
const agent = (...topics: string[]): Message[] => [
  user(`go: ${topics[0]}`),
  ...topics.flatMap((topic, index) => step(`call_${index}`, 'search', `${lines(60)}\n${topic}`)),
];
const talk = (name: string): Message[] =>
  agent(`${name} 1`, `${name} 2`, `${name} 3`, `${name} 4`, `${name} 5`);

/** One run of the scheduled handler, a number of days from now. */
const sweepAt = (days: number) => collectUnused(KEEPING, Date.now() + days * DAY);

const rowsOf = (memory: DurableObjectStub<TenantMemory>): Promise<string[]> =>
  runInDurableObject(memory, (_, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name = 'conversations'")
      .toArray();
    if (tables.length === 0) return [];
    return storage.sql
      .exec<{ name: string }>('SELECT name FROM conversations ORDER BY conversation_id')
      .toArray()
      .map(({ name }) => name);
  });

const stateOf = (stub: DurableObjectStub<ConversationMemory>) =>
  runInDurableObject(stub, async (object, { storage }) => {
    const { exists } = await object.versions.overview();
    const [known] = exists
      ? storage.sql.exec<{ value: string }>("SELECT value FROM state WHERE key = 'told_at'").toArray()
      : [];
    return { exists, usedAt: Number(known?.value ?? 0) };
  });

/** Conversations of one user with summaries. */
async function talking(first: string) {
  const one = tenant(SUMMARIZER);
  one.app.answer.words = ({ url }) =>
    url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL)
      ? writeSections(new Map([['## Progress', 'There is progress.']]))
      : 'This is the answer.';
  const { id } = tenants.ofToken(one.key);
  const stub = env.USER_MEMORY.getByName(userName(id, 'ann')) as DurableObjectStub<UserMemory>;
  const known = async () =>
    (await runInDurableObject(stub, (object) => object.latest({ except: '', most: 10 })))
      .map(({ conversation }) => conversation)
      .toSorted();
  const chatAbout = async (conversation: string): Promise<void> => {
    const messages: Message[] = [];
    const fields = { conversation_id: conversation, user: 'ann', memory_strategy: SUMMARIZE };
    for (let round = 0; round < 6; round++) {
      messages.push(user(`${conversation}: ${question(round)}`));
      await one.chat(messages, fields);
      messages.push(assistant('This is the answer.'));
    }
    await vi.waitUntil(async () => (await known()).includes(conversation), { timeout: 60_000 });
  };
  await chatAbout(first);
  return { ...one, chatAbout, known };
}

/** Gives a tenant's object a bucket with some methods replaced. */
async function setBucket({ memory }: ReturnType<typeof tenant>, methods: object): Promise<void> {
  const bucket = new Proxy(env.REFS, {
    get: (target, name) => {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return (...values: unknown[]) => method.apply(target, values);
    },
  });
  await runInDurableObject(memory, (object) => {
    Reflect.set(object, 'env', { ...env, REFS: bucket });
  });
}

beforeEach(quiet);

describe('what nobody uses', () => {
  it('is collected when its time is over, and not before', async () => {
    const { chat, refs, objects } = tenant();
    await chat(talk('unused'));
    const kept = await refs();
    expect(kept.length).toBeGreaterThan(1);

    await sweepAt(29);
    expect(await refs()).toEqual(kept);
    await sweepAt(31);
    expect(await objects()).toEqual([]);
  });

  it('is kept forever without a time', async () => {
    const { chat, refs } = tenant();
    await chat(talk('without a time'));
    const kept = await refs();
    await collectUnused(env, Date.now() + 10_000 * DAY);
    expect(await refs()).toEqual(kept);
  });

  it('is collected by the scheduled handler of the Worker', async () => {
    const { chat, refs } = tenant();
    await chat(talk('scheduled'));
    const controller = { scheduledTime: Date.now() + 31 * DAY, cron: '', noRetry: () => undefined };
    await worker.scheduled(controller, KEEPING);
    expect(await refs()).toEqual([]);
  });

  it('is counted from the last request that named it', async () => {
    const { key, chat, refs, at } = tenant();
    await chat(talk('used later'));
    const kept = await refs();
    await at(20, () => tenant({}, key).chat(talk('used later')));
    await sweepAt(49);
    expect(await refs()).toEqual(kept);
    await sweepAt(51);
    expect(await refs()).toEqual([]);
  });

  it('is counted from when it was last fetched, too', async () => {
    const { chat, refs, request, at } = tenant();
    await chat(talk('fetched later'));
    const kept = await refs();
    const fetched = await at(20, () => request(`/v1/refs/${kept[0]}`));
    expect(fetched.status).toBe(200);
    await sweepAt(49);
    expect(await refs()).toEqual(kept);
    await sweepAt(51);
    expect(await refs()).toEqual([]);
  });

  it('is kept while another conversation uses it', async () => {
    const { chat, refs, at } = tenant();
    await chat(talk('shared'), { conversation_id: 'old' });
    await at(20, () => chat(talk('shared'), { conversation_id: 'new' }));
    const kept = await refs();
    await sweepAt(31);
    expect(await refs()).toEqual(kept);
    await sweepAt(51);
    expect(await refs()).toEqual([]);
  });

  it('is collected with archives and summaries, but settings stay', async () => {
    const { request, chat, objects, conversation, memory } = tenant();
    const settings = { mode: 'compact', token_budget: 2_000, archive: true };
    await request('/v1/conversations/set/memory', { method: 'PATCH', body: JSON.stringify(settings) });
    await chat(talk('with settings'), { conversation_id: 'set', memory_strategy: undefined });
    await chat(talk('without settings'), { conversation_id: 'unset', memory_strategy: settings });
    expect((await objects()).filter((name) => name.startsWith('archive_'))).toHaveLength(2);
    expect((await request('/v1/conversations/set/messages')).status).toBe(200);

    await sweepAt(31);

    expect(await objects()).toEqual([]);
    expect((await request('/v1/conversations/unset/messages')).status).toBe(404);
    const archived = await request('/v1/conversations/set/messages');
    expect(await archived.json()).toMatchObject({ data: [] });
    const set = await request('/v1/conversations/set/memory');
    expect(await set.json()).toMatchObject({ memory_strategy: settings, memories: [] });
    expect((await stateOf(conversation({ id: 'unset' }))).exists).toBe(false);
    // The tenant's object still knows it, so that a deletion finds all data of the tenant.
    expect(await rowsOf(memory)).toEqual([expect.stringMatching(/:set$/)]);
  });

  it('is found by a later run where one run has no calls left for it', async () => {
    const many = Array.from({ length: 20 }, () => tenant());
    for (const [index, { chat }] of many.entries()) await chat(talk(`many ${index}`));
    const left = async () => (await Promise.all(many.map(({ refs }) => refs()))).flat().length;
    const before = await left();
    await sweepAt(31);
    const between = await left();
    expect(between).toBeGreaterThan(0);
    expect(between).toBeLessThan(before);
    for (let run = 0; run < 3; run++) await sweepAt(31);
    expect(await left()).toBe(0);
  });

  it('is found, many conversations of one tenant too', async () => {
    const { chat, objects, memory } = tenant();
    for (let index = 0; index < 20; index++)
      await chat(talk('the same'), { conversation_id: `conversation ${index}` });
    for (let run = 0; run < 3; run++) await sweepAt(31);
    expect(await objects()).toEqual([]);
    expect(await rowsOf(memory)).toEqual([]);
  });

  it('is tried again when an object fails, which keeps no other tenant waiting', async () => {
    const [one, other] = [tenant(), tenant()];
    for (const { chat } of [one, other]) await chat(talk('failing'));
    await runInDurableObject(one.memory, (object) => {
      Reflect.set(object, 'rows', undefined);
    });
    await sweepAt(31);
    expect((await one.refs()).length).toBeGreaterThan(0);
    expect(await other.refs()).toEqual([]);
    await evictDurableObject(one.memory);
    await sweepAt(31);
    expect(await one.refs()).toEqual([]);
  });

  it('is found where nothing of it is in R2, by the tenant’s object itself', async () => {
    const { chat, conversation, memory } = tenant();
    await clock(memory, 0);
    await chat([user('Hello')], { conversation_id: 'known', user: 'ann', memory_injection: true });
    expect((await stateOf(conversation({ id: 'known' }, 'ann'))).exists).toBe(true);
    await clock(memory, 29);
    expect(await runDurableObjectAlarm(memory)).toBe(true);
    expect((await stateOf(conversation({ id: 'known' }, 'ann'))).exists).toBe(true);
    await clock(memory, 31);
    expect(await runDurableObjectAlarm(memory)).toBe(true);
    expect((await stateOf(conversation({ id: 'known' }, 'ann'))).exists).toBe(false);
    expect(await rowsOf(memory)).toEqual([]);
    expect(await runDurableObjectAlarm(memory)).toBe(true);
    expect(await runDurableObjectAlarm(memory)).toBe(false);
  });

  it('is no ref that a view names, even if the caller wrote it', async () => {
    const { key, request, refs, at } = tenant();
    const compacted = await request('/v1/compact', {
      method: 'POST',
      body: JSON.stringify(body(talk('replaced'), { memory_strategy: COMPACT })),
    });
    const { messages } = (await compacted.json()) as { messages: Message[] };
    const kept = await refs();
    expect(kept.length).toBeGreaterThan(0);
    await at(20, () => tenant({}, key).chat(messages, { memory_strategy: { mode: 'trim', max_turns: 50 } }));
    await sweepAt(31);
    expect(await refs()).toEqual(kept);
    await at(40, () => tenant({}, key).chat(messages, { memory_strategy: 'none', conversation_id: 'named' }));
    await sweepAt(60);
    expect(await refs()).toEqual(kept);
    await sweepAt(71);
    expect(await refs()).toEqual([]);
  });

  it('is not what a conversation has that is used without any ref', async () => {
    const { request, chat, conversation, memory } = tenant();
    const path = '/v1/conversations/talk/memory?user=ann';
    await clock(memory, 0);
    await request(path, { method: 'PATCH', body: JSON.stringify({ mode: 'trim', max_turns: 50 }) });
    const fields = {
      conversation_id: 'talk',
      user: 'ann',
      memory_injection: true,
      memory_strategy: undefined,
    };
    await chat([user('Hello')], fields);
    const stub = conversation({ id: 'talk' }, 'ann');
    for (const day of [10, 20]) {
      await clock(memory, day);
      await runInDurableObject(stub, (object) => {
        Reflect.set(object, 'now', () => Date.now() + day * DAY);
      });
      await chat([user('Hello')], fields);
      await vi.waitUntil(async () => (await stateOf(stub)).usedAt > Date.now() + (day - 1) * DAY, {
        timeout: 60_000,
      });
    }
    await clock(memory, 31);
    await runDurableObjectAlarm(memory);
    expect(await runInDurableObject(stub, (object) => object.state.injection())).not.toBeNull();
  });

  it('is collected by a later run where R2 has failed, and costs who comes back meanwhile nothing', async () => {
    const one = tenant();
    const { chat, request, objects, memory } = one;
    const archive = {
      conversation_id: 'archived',
      memory_strategy: { mode: 'trim', max_turns: 50, archive: true },
    };
    const packs = async () => (await objects()).filter((name) => name.startsWith('archive_'));
    await chat(talk('archived'), archive);
    const [old] = await packs();
    await setBucket(one, { delete: () => Promise.reject(new Error('R2 is down')) });
    await sweepAt(31);
    expect(await packs()).toEqual([old]);
    await setBucket(one, {});
    await clock(memory, 31);
    // No isolate relies for days on what it has archived.
    await tenant({}, one.key).chat(talk('archived'), archive);
    const { data } = (await (await request('/v1/conversations/archived/messages?limit=100')).json()) as {
      data: { message: object | null }[];
    };
    expect(data.length).toBeGreaterThan(0);
    expect(data.every(({ message }) => message !== null)).toBe(true);
    await sweepAt(63);
    expect(await packs()).toEqual([]);
  });

  it('is taken out of the user’s memory, and nothing else is', async () => {
    const { chatAbout, memory, known } = await talking('old');
    await clock(memory, 20);
    await chatAbout('live');
    expect(await known()).toEqual(['live', 'old']);
    await sweepAt(31);
    expect(await known()).toEqual(['live']);
  });
});

describe('a path that could be taken for all memory', () => {
  it.each([
    '/v1/conversations//memory',
    '/conversations//memory',
    '/conversations/a/b/memory',
    '/api/users/bob/memory',
    '/v2/memory',
    '/agents/coding/conversations//memory',
    '/v1/memory/extra',
  ])('deletes nothing: %s', async (path) => {
    const { chat, refs, request } = tenant();
    await chat(talk('kept'));
    const kept = await refs();
    await request(path, { method: 'DELETE' });
    expect(await refs()).toEqual(kept);
  });

  it('is named as it was asked for: with its slash it is no route', async () => {
    const { request } = tenant();
    const response = await request('/v1/memory/', { method: 'DELETE' });
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toBe('There is no route DELETE /v1/memory/.');
  });

  it.each(['.', '..'])('is made of no conversation’s name: %s is refused', async (id) => {
    const { chat } = tenant();
    const response = await chat(talk('refused'), { conversation_id: id });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { param: string } }).error.param).toBe('conversation_id');
  });
});

describe('deleting a conversation', () => {
  it('keeps content that was written again in the meantime', async () => {
    const { memory } = tenant();
    await runInDurableObject(memory, async (object) => {
      await object.note('t::one', ['ref_a']);
      const found = await object.conversations.find('t::one');
      await object.note('t::one', []);
      if (found) object.conversations.release(found);
      expect(await object.conversations.find('t::one')).toMatchObject({ sole: ['ref_a'] });
      const again = await object.conversations.find('t::one');
      if (again) object.conversations.release(again);
      expect(await object.conversations.find('t::one')).toBeNull();
    });
  });

  it('deletes content that only it refers to, and its manifests', async () => {
    const { chat, refs, objects, remove } = tenant();
    await chat(agent('own 1', 'both 1', 'both 2', 'both 3', 'own 2', 'own 3'), { conversation_id: 'one' });
    const ofOne = await refs();
    await chat(agent('other 1', 'both 1', 'both 2', 'both 3', 'other 2', 'other 3'), {
      conversation_id: 'two',
    });
    const all = await refs();
    const shared = all.length - ofOne.length;
    expect(shared).toBeGreaterThan(0);

    expect((await remove('one')).status).toBe(200);

    const rest = await objects();
    expect(rest.length).toBeGreaterThan(0);
    expect(rest.every((name) => name.startsWith('ref_'))).toBe(true);
    expect(rest.filter((ref) => ofOne.includes(ref)).length).toBeGreaterThan(0);
    expect(rest.length).toBeLessThan(all.length);
    expect((await remove('one')).status).toBe(404);
    expect((await remove('two')).status).toBe(200);
    expect(await objects()).toEqual([]);
  });

  it.each(['its summary', 'its memory'])('keeps all that a conversation with %s leads to', async (what) => {
    const { app, id, messages, rounds } = start(SUMMARIZE);
    const path = (conversation: string) => `/v1/conversations/${encodeURIComponent(conversation)}/memory`;
    await rounds(1, 11);
    const shown: Message[] = JSON.parse(app.sent.at(-1)?.body ?? '').messages;
    const end = shown.findIndex(({ content }) => String(content).startsWith('<session_summary'));
    const { id: _, ...overview } = (await (await app.request(path(id))).json()) as Message;
    const other = `after ${id}`;
    const fields = { conversation_id: other, memory_strategy: what === 'its memory' ? SUMMARIZE : 'none' };
    if (what === 'its memory')
      await app.request(path(other), { method: 'PUT', body: JSON.stringify(overview) });
    const array = what === 'its memory' ? (messages as Message[]) : shown.slice(0, end + 1);
    await app.chat(body([...array, user(question(12))], fields));

    expect((await app.request(path(id), { method: 'DELETE' })).status).toBe(200);

    const found = refsIn(app.sent.findLast(({ url }) => url.startsWith('http://upstream'))?.body ?? '');
    for (const ref of found) {
      const fetched = await app.request(`/v1/refs/${ref}`);
      expect(fetched.status).toBe(200);
      for (const named of refsIn(await fetched.text())) if (!found.includes(named)) found.push(named);
    }
    expect(found.length).toBeGreaterThan(2);
  });

  it('can be done again when its packs could not be forgotten', async () => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const { chat, objects: kept, remove } = tenant({ CONVERSATION_MEMORY: objects.namespace });
    await chat(talk('twice'), { conversation_id: 'twice', memory_strategy: { ...COMPACT, archive: true } });
    objects.failing.add('forgetPacks');
    expect((await remove('twice')).status).toBe(503);
    objects.failing.clear();
    expect((await remove('twice')).status).toBe(200);
    expect(await kept()).toEqual([]);
    expect((await remove('twice')).status).toBe(404);
  });

  it('keeps content that a conversation without an id refers to', async () => {
    const { chat, refs, remove } = tenant();
    await chat(talk('unnamed'));
    const kept = await refs();
    await chat(talk('unnamed'), { conversation_id: 'named' });
    expect((await remove('named')).status).toBe(200);
    expect(await refs()).toEqual(kept);
  });

  it('lets the same array name only stored content', async () => {
    const { app, chat, remove, request } = tenant();
    await chat(talk('again'), { conversation_id: 'again' });
    await remove('again');
    await chat(talk('again'), { conversation_id: 'again' });
    const named = refsIn(app.sent.at(-1)?.body ?? '');
    expect(named.length).toBeGreaterThan(0);
    for (const ref of named) expect((await request(`/v1/refs/${ref}`)).status).toBe(200);
  });
});

describe('deleting all of a tenant', () => {
  const erase = ({ request }: ReturnType<typeof tenant>) => request('/v1/memory', { method: 'DELETE' });

  it('leaves nothing in R2 nor in any object, and nothing of others goes', async () => {
    const [one, other] = [tenant(), tenant()];
    for (const { chat, request } of [one, other]) {
      await request('/v1/conversations/set/memory', {
        method: 'PATCH',
        body: JSON.stringify({ mode: 'trim' }),
      });
      await chat(talk('everything'), {
        conversation_id: 'archived',
        user: 'ann',
        memory_strategy: { ...COMPACT, archive: true },
      });
      await chat(talk('unnamed'));
    }
    const kept = await other.objects();

    const response = await erase(one);

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ object: 'memory.deleted', deleted: true });
    expect(await one.objects()).toEqual([]);
    expect(await rowsOf(one.memory)).toEqual([]);
    for (const [session, ofUser] of [['set'], ['archived', 'ann']] as const) {
      expect((await stateOf(one.conversation({ id: session }, ofUser))).exists).toBe(false);
    }
    expect(await other.objects()).toEqual(kept);
    expect((await other.request('/v1/conversations/set/memory')).status).toBe(200);
    expect((await erase(one)).status).toBe(200);
  });

  it('deletes summaries, and their entries in users’ memory', async () => {
    const { request, known, conversation } = await talking('old');
    expect(await known()).toEqual(['old']);
    expect((await request('/v1/memory', { method: 'DELETE' })).status).toBe(200);
    expect(await known()).toEqual([]);
    expect((await stateOf(conversation({ id: 'old' }, 'ann'))).exists).toBe(false);
  });

  it('takes many conversations, a few at each run of an alarm, whoever begins anew meanwhile', async () => {
    const one = tenant();
    await one.chat(talk('many'), { conversation_id: 'first' });
    const [name = ''] = await rowsOf(one.memory);
    await runInDurableObject(one.memory, async (object) => {
      for (let index = 0; index < 70; index++) await object.note(name.replace('first', `more${index}`), []);
    });
    expect((await erase(one)).status).toBe(202);
    const [again, later] = await Promise.all([erase(one), erase(one)]);
    expect([again.status, later.status]).toEqual([202, 202]);
    for (let run = 0; run < 20 && (await rowsOf(one.memory)).length > 0; run++)
      expect(await runDurableObjectAlarm(one.memory)).toBe(true);
    expect(await rowsOf(one.memory)).toEqual([]);
    while (await runDurableObjectAlarm(one.memory));
    expect(await one.objects()).toEqual([]);
  });

  it('leaves no manifest of deleted content', async () => {
    const one = tenant();
    await one.chat(talk('vouched for'));
    const { id } = tenants.ofToken(one.key);
    // A request that planned before the deletion writes a manifest during it.
    let late = false;
    await setBucket(one, {
      delete: async (keys: string[]) => {
        if (!late) await env.REFS.put(`${id}/manifest_late`, '');
        late = true;
        return env.REFS.delete(keys);
      },
    });
    expect((await erase(one)).status).toBe(200);
    expect(late).toBe(true);
    expect(await one.objects()).toEqual([]);
  });

  it('goes on by itself after a failure', async () => {
    const one = tenant();
    await one.chat(talk('a failure'), { conversation_id: 'a failure' });
    await setBucket(one, { list: () => Promise.reject(new Error('R2 is down')) });
    const response = await erase(one);
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ object: 'memory.deleted', deleted: false });
    expect((await one.objects()).length).toBeGreaterThan(0);

    await setBucket(one, {});
    expect(await runDurableObjectAlarm(one.memory)).toBe(true);
    expect(await one.objects()).toEqual([]);
    expect(await runDurableObjectAlarm(one.memory)).toBe(false);
  });

  it('lets the next view name only stored content', async () => {
    const one = tenant();
    await one.chat(talk('afterwards'));
    await erase(one);
    await one.chat(talk('afterwards'));
    const named = refsIn(one.app.sent.at(-1)?.body ?? '');
    expect(named.length).toBeGreaterThan(0);
    for (const ref of named) expect((await one.request(`/v1/refs/${ref}`)).status).toBe(200);
    await erase(one);
    expect(await one.objects()).toEqual([]);
  });

  it('says when the object can’t be asked', async () => {
    const objects = watchedObjects(env.TENANT_MEMORY);
    const one = tenant({ TENANT_MEMORY: objects.namespace });
    objects.failing.add('erase');
    const response = await erase(one);
    expect(response.status).toBe(503);
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('store_failed');
  });

  it('takes DELETE alone', async () => {
    const { request } = tenant();
    const response = await request('/v1/memory');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('DELETE');
  });
});

describe('a tenant’s object that fails', () => {
  it('costs a request nothing, and is reported by the next one', async () => {
    const objects = watchedObjects(env.TENANT_MEMORY);
    const { chat, memory, refs } = tenant({ EVENTS: 'off', TENANT_MEMORY: objects.namespace });
    objects.failing.add('note');
    const first = await chat(talk('unnoted'), { conversation_id: 'unnoted' });
    expect(first.headers.get('x-memory-warning')).toBe('dearer');
    expect((await refs()).length).toBeGreaterThan(0);
    expect(await rowsOf(memory)).toEqual([]);
    objects.failing.clear();
    await chat([...talk('unnoted'), assistant('Done.'), user('More?')], { conversation_id: 'unnoted' });
    expect(await rowsOf(memory)).toEqual([expect.stringMatching(/:unnoted$/)]);
  });
});
