/** Backups of a deployment's objects and bucket, and their way back. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory, TenantMemory, UserMemory } from '../../../src/index.ts';
import { concat } from '../../../src/lib/bytes.ts';
import { backUp as recordsOf } from '../../../src/storage/backup/backup.ts';
import { chainAfter, type Framed, NO_CHAIN, recordsIn } from '../../../src/storage/backup/records.ts';
import type { Restored } from '../../../src/storage/backup/restore.ts';
import { conversationName, userName } from '../../../src/storage/conversation/names.ts';
import type { Tables } from '../../../src/storage/tables.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { CONVERSATIONS, refsIn, startApp, TENANTS, watchedBucket, watchedObjects } from '../support.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const bindings = env as unknown as Env;

beforeEach(quiet);
let made = 0;

/** A deployment, and a caller of it whom nobody knows yet. */
function deployment(variables: Partial<Env> = {}) {
  const key = `sk-a-caller-whose-data-is-saved-${++made}`;
  const { id } = new Tenants(env.PRECIS_SECRET).ofToken(key);
  const watched = watchedBucket();
  const objects = [bindings.CONVERSATION_MEMORY, bindings.TENANT_MEMORY, bindings.USER_MEMORY].map(
    watchedObjects,
  );
  const [conversations, tenants, users] = objects;
  const app = startApp(
    watched.bucket,
    {
      ADMIN_TOKEN,
      CONVERSATION_MEMORY: conversations?.namespace as DurableObjectNamespace,
      TENANT_MEMORY: tenants?.namespace as DurableObjectNamespace,
      USER_MEMORY: users?.namespace as DurableObjectNamespace,
      ...variables,
    },
    key,
  );
  const admin = (path: string, sent: BodyInit, token = ADMIN_TOKEN, more: Record<string, string> = {}) =>
    app.request(`/v1/admin/${path}`, {
      method: 'POST',
      body: sent,
      headers: { authorization: `Bearer ${token}`, ...more },
    });
  const calls = () => watched.operations.length + objects.reduce((sum, each) => sum + each.calls.length, 0);
  /** The most calls of storage of one request so far. */
  let mostCalls = 0;
  const counted = async (request: () => Promise<Response>): Promise<Response> => {
    const before = calls();
    const response = await request();
    mostCalls = Math.max(mostCalls, calls() - before);
    return response;
  };

  /** All records of the caller, without those to go on from. */
  async function backUp(of: object = {}): Promise<Framed[]> {
    const all: Framed[] = [];
    for (let sent: object = { caller: id, ...of }; ; ) {
      const response = await counted(() => admin('backup', JSON.stringify(sent)));
      expect(response.status).toBe(200);
      const records = recordsIn(new Uint8Array(await response.arrayBuffer())) ?? [];
      const last = records.at(-1);
      all.push(...records.filter(({ kind }) => kind !== 'N'));
      if (last?.kind !== 'N') return all;
      sent = { next: Buffer.from(last.bytes).toString('base64') };
    }
  }

  /** @returns how many of each kind had which fate */
  async function restore(records: readonly Framed[]): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    let chain = NO_CHAIN;
    for (const { bytes } of records) {
      const response = await counted(() => admin(`restore?after=${chain}`, bytes));
      const answer = (await response.json()) as { restored: Restored[] };
      expect(response.status, JSON.stringify(answer)).toBe(200);
      for (const { kind, state, count } of answer.restored)
        counts[`${kind} ${state}`] = (counts[`${kind} ${state}`] ?? 0) + count;
      chain = chainAfter(chain, bytes);
    }
    return counts;
  }
  return { ...app, id, watched, admin, backUp, restore, mostCalls: () => mostCalls };
}

type Saved = ConversationMemory | TenantMemory | UserMemory;

/**
 * All records of a tenant, while it does something else.
 *
 * @param called gets each call of an object, after its work; where it resolves with true, ten
 *   minutes pass before the answer
 */
async function backUpMeanwhile(
  id: string,
  called: (of: 'tenant' | 'conversation') => Promise<boolean>,
): Promise<Framed[]> {
  let elapsed = 0;
  const object =
    <Stub>(namespace: DurableObjectNamespace, of?: 'tenant' | 'conversation') =>
    (name: string) =>
    async <Result>(call: (stub: Stub) => Promise<Result>): Promise<Result> => {
      const result = await call(namespace.getByName(name) as Stub);
      if (of && (await called(of))) elapsed += 10 * 60_000;
      return result;
    };
  const deployment = new Tenants(env.PRECIS_SECRET).ofDeployment();
  const ports = {
    bucket: env.REFS,
    tenant: object<never>(TENANTS, 'tenant'),
    conversation: object<never>(CONVERSATIONS, 'conversation'),
    user: object<never>(bindings.USER_MEMORY),
    deployment,
    settled: async () => undefined,
    nextTenant: async () => null,
    now: () => Date.now() + elapsed,
  };
  const all: Framed[] = [];
  for (let next: Framed | undefined; ; ) {
    const made = await recordsOf(next ? { next: next.bytes.slice() } : { scope: [id] }, ports);
    const records = recordsIn(concat(made ?? [])) ?? [];
    all.push(...records.filter(({ kind }) => kind !== 'N'));
    next = records.at(-1);
    if (next?.kind !== 'N') return all;
  }
}

const conversationOf = (tenant: string, id: string) =>
  env.CONVERSATION_MEMORY.getByName(
    conversationName(tenant, undefined, { id }),
  ) as DurableObjectStub<ConversationMemory>;

/** The tables of an object, whose class hides them. */
declare global {
  /** What Vite replaces (https://vite.dev/guide/features#glob-import). */
  interface ImportMeta {
    glob<T>(pattern: string, options: { query: string; import: string; eager: true }): Record<string, T>;
  }
}

/** The code of the room, by path. */
const SOURCES = import.meta.glob<string>('../../../src/storage/**/*.ts', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** The tables that a file makes. */
function tablesIn(source: string): string[] {
  const constant = /const TABLE = '(\w+)'/.exec(source)?.[1] ?? '';
  return [...source.matchAll(/CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(?:\$\{TABLE\}|(\w+))/g)].map(
    ([, name = constant]) => name,
  );
}

const tablesOf = (instance: Saved) => (instance as unknown as { tables: Tables }).tables;

/** All rows of an object, by table, without those that FTS5 keeps. */
const rowsIn = (stub: DurableObjectStub<Saved>): Promise<Record<string, unknown[]>> =>
  runInDurableObject(stub, (_, { storage: { sql } }) => {
    const names = sql
      .exec<{ name: string }>(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
      )
      .toArray();
    return Object.fromEntries(
      names.map(({ name }) => [
        name,
        sql
          .exec(`SELECT * FROM ${name}`)
          .toArray()
          .map((row) =>
            Object.values(row).map((value) =>
              value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value,
            ),
          ),
      ]),
    );
  });

/** Makes all tables of an object, each with two rows that hold JSON where they hold text. */
const fill = (stub: DurableObjectStub<Saved>) =>
  runInDurableObject(stub, (instance, { storage: { sql } }) => {
    const tables = tablesOf(instance);
    const groups = (tables as unknown as { all: { names: string[]; isPassing: boolean; make(): void }[] })
      .all;
    for (const group of groups.filter(({ isPassing }) => !isPassing)) {
      group.make();
      for (const name of group.names)
        for (const n of [1, 2]) {
          const columns = sql
            .exec<{ name: string; type: string }>('SELECT name, type FROM pragma_table_info(?)', name)
            .toArray();
          const values = columns.map(({ name: column, type }) => {
            if (column === 'status') return 'completed';
            if (column === 'vector') return new Uint8Array([0, 255, n]).buffer;
            return type === 'INTEGER' ? 1_000 + n : `{}${' '.repeat(n)}`;
          });
          sql.exec(
            `INSERT OR IGNORE INTO ${name} (${columns.map((column) => column.name).join()}) VALUES (${columns.map(() => '?').join()})`,
            ...values,
          );
        }
    }
  });

const empty = (stub: DurableObjectStub<Saved>) =>
  runInDurableObject(stub, async (instance, { storage }) => {
    await storage.deleteAll();
    tablesOf(instance).forget();
  });

/** Deletes all that is in the bucket, as if it were another one. */
async function emptyBucket(tenant: string): Promise<void> {
  const { objects } = await env.REFS.list({ prefix: `${tenant}/` });
  await env.REFS.delete(objects.map(({ key }) => key));
}

const memoryOf = (id: string) => `/v1/conversations/${id}/memory`;
const COMPACT = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1, archive: true };

/** A request from whose view a content is removed. */
const withRemoved = (id: string, word: string) =>
  body(
    [
      user('Read it.'),
      ...step('call_1', 'read_file', lines(200, word)),
      { role: 'assistant', content: 'Done.' },
      user('And now?'),
      { role: 'assistant', content: 'Nothing.' },
      user('Go on.'),
    ],
    { conversation_id: id, memory_strategy: COMPACT },
  );

describe('the rows of an object', () => {
  it('come back, from all its tables', async () => {
    const { id, backUp, restore, request } = deployment();
    await request('/v1/blocks/team', { method: 'PUT', body: '{"text":"Ann leads."}' });
    const tenant = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    const name = conversationName(id, 'ann', { id: 'one' });
    await tenant.note(name, []);
    const conversation = env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
    const member = env.USER_MEMORY.getByName(userName(id, 'ann')) as DurableObjectStub<UserMemory>;
    const all = [conversation, member] as DurableObjectStub<Saved>[];
    for (const stub of all) await fill(stub);
    const before = await Promise.all(all.map(rowsIn));

    const records = await backUp();
    for (const stub of all) await empty(stub);
    const counts = await restore(records);

    const after = await Promise.all(all.map(rowsIn));
    const state = after[0]?.state?.filter((row) => (row as string[])[0] !== 'told_at');
    expect([{ ...after[0], state }, after[1]]).toEqual(before);
    expect(Object.values(before[0] ?? {}).flat().length).toBeGreaterThan(30);
    expect(Object.values(before[0] ?? {}).filter((rows) => rows.length === 0)).toEqual([]);
    expect(counts).toMatchObject({ 'conversation restored': 1, 'user restored': 1, 'tenant kept': 1 });
  });

  it('of a tenant come back with the ids that its conversations have there', async () => {
    const { id, backUp, restore } = deployment();
    const tenant = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    const named = (one: string) => conversationName(id, undefined, { id: one });
    const newest = { lastRequest: 2, model: 'gpt-4.1', lastStatus: 200, agent: 'coding' };
    const sums = (requests: number) => ({ requests, net: 1, paid: 1, ...newest, days: {} });
    for (const one of ['a', 'b', 'c']) await tenant.note(named(one), [`ref_${one.repeat(26)}`]);
    await tenant.noteSums(named('b'), sums(2));
    await tenant.noteSums(named('c'), sums(3));
    const records = await backUp();
    await empty(tenant as DurableObjectStub<Saved>);
    await tenant.note(named('other'), []);
    await tenant.note(named('c'), []);
    await tenant.noteSums(named('c'), sums(33));

    await restore(records);

    const { conversations } = TENANTS.getByName(id) as DurableObjectStub<TenantMemory>;
    const { found } = await conversations.list({ sort: 'requests', order: 'desc', text: '' }, null, 10);
    expect(found.map(({ name, value }) => [name.split(':')[2], value > 0 ? value : null])).toEqual([
      ['c', 33],
      ['b', 2],
      ['a', null],
      ['other', null],
    ]);
    for (const one of ['a', 'b', 'c'])
      expect(await conversations.refsOf(named(one), 9)).toEqual([`ref_${one.repeat(26)}`]);
  });

  it('come from every table that the code makes', async () => {
    const objects: readonly DurableObjectStub<Saved>[] = [
      env.TENANT_MEMORY.getByName('tables') as DurableObjectStub<Saved>,
      conversationOf('no tenant', 'tables') as DurableObjectStub<Saved>,
      env.USER_MEMORY.getByName('tables') as DurableObjectStub<Saved>,
    ];
    const made = Object.values(SOURCES).flatMap(tablesIn);
    expect(made.length).toBeGreaterThan(25);
    const unknown = new Set(made);
    for (const stub of objects)
      await runInDurableObject(stub, (instance) => {
        for (const name of made) if (tablesOf(instance).groupOf(name)) unknown.delete(name);
      });
    // The counts of a deployment (`metrics/object.ts`), which begin anew in another one.
    expect([...unknown].sort()).toEqual(['batches', 'totals']);
  });

  it('come without the tables of the runtime', async () => {
    const stub = conversationOf('no tenant', 'with inner tables');
    await fill(stub as DurableObjectStub<Saved>);
    await runInDurableObject(stub, (instance, { storage }) => {
      const before = instance.saveRows(null);
      storage.sql.exec('CREATE TABLE __of_the_runtime (name TEXT)');
      expect(instance.saveRows(null)).toEqual(before);
      expect(before?.text).toContain('"table":"memories"');
    });
  });

  it('begin again where something was written between two pages, so that they are of one moment', async () => {
    const stub = conversationOf('no tenant', 'written to');
    await runInDurableObject(stub, (instance, { storage: { sql } }) => {
      const group = tablesOf(instance).groupOf('run_parts');
      group?.make();
      const add = (n: number) =>
        sql.exec('INSERT INTO run_parts VALUES (?, 1, ?)', `part ${n}`, 'x'.repeat(700_000));
      for (let n = 1; n <= 4; n++) add(n);
      const first = instance.saveRows(null);
      const second = instance.saveRows(first?.next ?? null);
      expect([first?.part, second?.part]).toEqual([0, 1]);
      add(5);
      const third = instance.saveRows(second?.next ?? null);
      expect([third?.part, third?.text.includes('part 1')]).toEqual([0, true]);
      // One that is written to all the time ends all the same.
      let last = third;
      for (let n = 6; last?.next; n++) {
        add(n);
        expect(n).toBeLessThan(30);
        last = instance.saveRows(last.next);
      }
    });
  });
});

describe('a restore', () => {
  it('brings back summaries, archives and refs that are gone, and again changes nothing', async () => {
    const { id, chat, sent, request, backUp, restore } = deployment();
    await chat(withRemoved('one', 'first'));
    const [ref = ''] = refsIn(sent.at(-1)?.body ?? '');
    const reads = [
      '/v1/refs',
      `/v1/refs/${ref}`,
      '/v1/conversations/one/messages',
      '/v1/conversations/one/requests',
    ];
    const read = () => Promise.all(reads.map(async (path) => (await request(path)).text()));
    const before = await read();
    const records = await backUp();
    await emptyBucket(id);
    for (const stub of [conversationOf(id, 'one'), env.TENANT_MEMORY.getByName(id)])
      await empty(stub as DurableObjectStub<Saved>);

    const first = await restore(records);
    expect(first).toMatchObject({ 'conversation restored': 1, 'ref restored': 1 });
    expect(first['content restored']).toBeGreaterThan(0);
    expect((await read()).slice(1)).toEqual(before.slice(1));
    expect(await restore(records)).toEqual({ 'tenant kept': 1, 'conversation kept': 1, 'ref kept': 1 });
    expect((await read()).slice(1)).toEqual(before.slice(1));
  });

  it('of one conversation brings it back with its refs, and nothing of others', async () => {
    const { id, chat, sent, request, backUp, restore } = deployment();
    const refs: string[] = [];
    for (const name of ['one', 'two']) {
      await chat(withRemoved(name, name));
      refs.push(...refsIn(sent.at(-1)?.body ?? ''));
    }
    const reads = [
      `/v1/refs/${refs[0]}`,
      ...['messages', 'requests', 'memory'].map((part) => `/v1/conversations/one/${part}`),
    ];
    const read = () => Promise.all(reads.map(async (path) => (await request(path)).text()));
    const before = await read();
    const records = await backUp({ conversation: 'one' });
    await emptyBucket(id);
    for (const name of ['one', 'two']) await empty(conversationOf(id, name) as DurableObjectStub<Saved>);
    await empty(env.TENANT_MEMORY.getByName(id) as DurableObjectStub<Saved>);

    const counts = await restore(records);

    expect(counts).toMatchObject({ 'conversation restored': 1, 'ref restored': 1 });
    expect(Object.keys(counts)).not.toContain('tenant restored');
    expect(await read()).toEqual(before);
    expect((await request(`/v1/refs/${refs[1]}`)).status).toBe(404);
    expect((await request(memoryOf('two'))).status).toBe(404);
    // Deletions are noted from then on, here and where it was saved.
    await request(memoryOf('one'), { method: 'DELETE' });
    expect(await restore(records)).toMatchObject({ 'conversation deleted': 1 });
    expect((await request(memoryOf('one'))).status).toBe(404);
    expect(await backUp({ conversation: 'one' })).toHaveLength(2);
    expect(await backUp({ conversation: 'two', user: 'nobody' })).toHaveLength(2);
  });

  it('leaves what is there as it is', async () => {
    const { id, chat, request, backUp, restore } = deployment();
    const settings = (keep: number) => ({
      method: 'PATCH',
      body: JSON.stringify({ memory_strategy: { mode: 'compact', compact_keep: keep } }),
    });
    const put = (text: string) =>
      request('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text }) });
    await request(memoryOf('one'), settings(1));
    await put('Ann leads.');
    const records = await backUp();
    await request(memoryOf('one'), settings(2));
    await put('Bob leads.');
    await chat(withRemoved('two', 'second'));
    const reads = [memoryOf('one'), '/v1/blocks/team', '/v1/conversations', '/v1/conversations/two/messages'];
    const read = () => Promise.all(reads.map(async (path) => (await request(path)).text()));
    const before = await read();

    const counts = await restore(records);

    expect(await read()).toEqual(before);
    expect(counts).toEqual({ 'tenant kept': 1, 'conversation kept': 1 });
    expect(id).toHaveLength(32);
  });

  it('brings nothing back that was deleted after it was saved', async () => {
    const { chat, sent, request, backUp, restore } = deployment();
    const refs: string[] = [];
    for (const word of ['one', 'two', 'three']) {
      await chat(withRemoved(word, word));
      refs.push(...refsIn(sent.at(-1)?.body ?? ''));
    }
    await request('/v1/blocks/team', { method: 'PUT', body: '{"text":"Ann leads."}' });
    await request('/v1/blocks/other', { method: 'PUT', body: '{"text":"Bob leads."}' });
    const records = await backUp();
    for (const path of [memoryOf('one'), `/v1/refs/${refs[1]}`, '/v1/blocks/team'])
      expect((await request(path, { method: 'DELETE' })).status).toBe(200);

    const counts = await restore(records);

    expect(counts).toMatchObject({ 'conversation deleted': 1, 'conversation kept': 2, 'ref deleted': 2 });
    for (const path of [memoryOf('one'), `/v1/refs/${refs[0]}`, `/v1/refs/${refs[1]}`, '/v1/blocks/team'])
      expect([path, (await request(path)).status]).toEqual([path, 404]);
    for (const path of [memoryOf('two'), `/v1/refs/${refs[2]}`, '/v1/blocks/other'])
      expect([path, (await request(path)).status]).toEqual([path, 200]);
  });

  it('does not bring back, nor stop at, a conversation that was deleted while it was saved', async () => {
    const { id, chat, request, restore } = deployment();
    await chat(withRemoved('one', 'meanwhile'));
    await chat(withRemoved('two', 'afterwards'));
    let isDeleted = false;
    const records = await backUpMeanwhile(id, async (of) => {
      if (isDeleted || of !== 'conversation') return false;
      isDeleted = (await request(memoryOf('one'), { method: 'DELETE' })).status === 200;
      return isDeleted;
    });

    expect(await restore(records)).toMatchObject({ 'conversation deleted': 1, 'conversation kept': 1 });
    expect((await request(memoryOf('one'))).status).toBe(404);
  });

  it('passes over a deleted conversation in a file whose records tell a later time', async () => {
    const { id, chat, request } = deployment();
    await chat(withRemoved('one', 'of a later time'));
    const stub = conversationOf(id, 'one');
    await (env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>).saveRows(null);
    const part = await stub.saveRows(null);
    const at = Date.now();
    await request(memoryOf('one'), { method: 'DELETE' });
    const saved = { backup: 'of a later time', used: at };
    await stub.putAside({ ...saved, part: 0, at }, part?.text ?? '');
    expect(await stub.putBack({ ...saved, parts: 1, at: at + 600_000 })).toBe('deleted');
    expect(await conversationOf(id, 'two').putBack({ ...saved, parts: 1, at })).toBe('missing');
  });

  it('does not bring back a block that was deleted between the pages of its tenant', async () => {
    const { id, request, restore } = deployment();
    await request('/v1/blocks/team', { method: 'PUT', body: '{"text":"Ann leads."}' });
    const tenant = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    await runInDurableObject(tenant, (_, { storage: { sql } }) => {
      for (let label = 0; label < 30; label++)
        for (let version = 1; version <= 20; version++)
          sql.exec(
            `INSERT INTO block_versions (label, version, text, updated_at, change_id) VALUES (?, ?, ?, 1, '')`,
            `z${label}`,
            version,
            'x'.repeat(5_000),
          );
    });
    let calls = 0;
    const records = await backUpMeanwhile(id, async (of) => {
      if (of !== 'tenant' || ++calls > 5) return false;
      // After four writes, its pages are taken in any case.
      if (calls < 5) await tenant.note(conversationName(id, undefined, { id: 'one' }), []);
      else await request('/v1/blocks/team', { method: 'DELETE' });
      return calls === 5;
    });
    expect(calls).toBeGreaterThan(5);

    await restore(records);

    expect((await request('/v1/blocks/team')).status).toBe(404);
  });

  it('brings nothing back to a caller who has deleted everything', async () => {
    const { id, chat, request, backUp, restore } = deployment();
    await chat(withRemoved('one', 'all'));
    const records = await backUp();
    expect((await request('/v1/memory', { method: 'DELETE' })).status).toBe(200);

    const counts = await restore(records);

    expect(counts).toEqual({ 'tenant restored': 1, 'conversation deleted': 1, 'ref deleted': 1 });
    expect((await env.REFS.list({ prefix: `${id}/` })).objects).toEqual([]);
    expect((await request(memoryOf('one'))).status).toBe(404);
    expect(await (await request('/v1/conversations')).json()).toMatchObject({ data: [] });
    // What comes afterwards is saved and comes back; clocks may differ by a second.
    await runInDurableObject(
      env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>,
      (_, { storage }) => void storage.sql.exec('UPDATE deletions SET at = at - 2000'),
    );
    await chat(withRemoved('two', 'later'));
    const later = await backUp();
    await emptyBucket(id);
    await empty(conversationOf(id, 'two') as DurableObjectStub<Saved>);
    expect(await restore(later)).toMatchObject({ 'conversation restored': 1, 'ref restored': 1 });
  });

  it('brings a user’s entry back only if neither it nor its conversation was deleted', async () => {
    const { id, request, backUp, restore } = deployment();
    const stub = env.USER_MEMORY.getByName(userName(id, 'ann')) as DurableObjectStub<UserMemory>;
    const tenant = env.TENANT_MEMORY.getByName(id);
    for (const session of ['one', 'two', 'three']) {
      await stub.put({ conversation: session, text: `Of ${session}.`, at: 1 });
      await (tenant as DurableObjectStub<TenantMemory>).note(`${userName(id, 'ann')}:${session}`, []);
    }
    const headers = { 'x-memory-user': 'ann' };
    const records = await backUp();
    await request('/v1/users/ann/memory/one', { method: 'DELETE' });
    await request(memoryOf('two'), { method: 'DELETE', headers });
    await empty(stub as DurableObjectStub<Saved>);

    await restore(records);

    const left = await stub.latest({ except: '', most: 9 });
    expect(left.map(({ conversation }) => conversation)).toEqual(['three']);
    await request('/v1/users/ann/memory', { method: 'DELETE' });
    expect(await restore(records)).toMatchObject({ 'user deleted': 1 });
    expect(await stub.latest({ except: '', most: 9 })).toEqual([]);
  });

  it('that has stopped shows nothing of a conversation, which a deletion forgets', async () => {
    const { id, chat, request, backUp, restore } = deployment();
    await chat(withRemoved('one', 'halfway'));
    const records = await backUp();
    const stub = conversationOf(id, 'one') as DurableObjectStub<Saved>;
    await empty(stub);
    // The head, the tenant's part and end, the conversation's part, and its objects in R2.
    expect(await restore(records.slice(0, 5))).toEqual({
      'tenant kept': 1,
      'content kept': 1,
    });
    expect((await request(memoryOf('one'))).status).toBe(404);
    expect(Object.keys(await rowsIn(stub))).toEqual(['put_aside']);

    expect((await request(memoryOf('one'), { method: 'DELETE' })).status).toBe(200);

    expect(await rowsIn(stub)).toEqual({});
    expect((await env.REFS.list({ prefix: `${id}/archive_` })).objects).toEqual([]);
    expect(await restore(records)).toMatchObject({ 'conversation deleted': 1 });
  });

  it('leaves out what would have expired', async () => {
    const { id, chat, backUp, restore } = deployment();
    const tenant = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    await chat(withRemoved('old', 'old'));
    await runInDurableObject(tenant, (_, { storage }) => {
      storage.sql.exec('UPDATE conversations SET last_used = 1');
    });
    const records = await backUp();
    await emptyBucket(id);
    for (const stub of [conversationOf(id, 'old'), tenant]) await empty(stub as DurableObjectStub<Saved>);
    await runInDurableObject(tenant, (instance) => {
      (instance as unknown as { unusedSince: () => number }).unusedSince = () => Date.now() - 1_000;
    });

    expect(await restore(records)).toEqual({
      'tenant restored': 1,
      'conversation expired': 1,
      'ref deleted': 1,
    });
  });
});

describe('a restore of a caller with limits', () => {
  const NOON = Date.UTC(2026, 10, 26, 12);
  const limits = { usd_per_day: 1, requests_per_minute: 100 };
  const nothing = { isFurther: false, tokens: 0, amount: 0 };

  /** The object of a caller, at a time that is set. */
  function caller() {
    const clock = { now: NOON };
    const stub = env.TENANT_MEMORY.getByName(`spender ${made++}`) as DurableObjectStub<TenantMemory>;
    const call = <Result>(use: (memory: TenantMemory) => Result | Promise<Result>): Promise<Result> =>
      runInDurableObject(stub, (memory) => {
        Object.assign(memory, { now: () => clock.now });
        return use(memory);
      });
    const saved = async () => (await call((memory) => memory.saveRows(null)))?.text ?? '';
    const putBack = (text: string, at: number) =>
      call(async (memory) => {
        await memory.putAside({ backup: 'of limits', part: 0, at, used: null }, text);
        expect(await memory.putBack({ backup: 'of limits', parts: 1, at, used: null })).toBe('restored');
      });
    return { clock, call, saved, putBack };
  }

  it('counts a call once that was under way when it was saved', async () => {
    const { clock, call, saved, putBack } = caller();
    const spent = { isFurther: false, tokens: 100, amount: 1_000 };
    await call((memory) => memory.reserve({ id: 'one', limits, ...spent }));
    const text = await saved();
    await call((memory) => memory.settle({ id: 'one', at: NOON, ...spent }));
    clock.now += 5 * 60_000;
    await call((memory) => memory.reserve({ id: 'two', limits, ...nothing }));

    await putBack(text, NOON);

    // By then a call whose end was lost counts as spent.
    clock.now += 60 * 60_000;
    await call((memory) => memory.reserve({ id: 'three', limits, ...nothing }));
    expect((await call((memory) => memory.usage(0, 1e6))).spent).toMatchObject([{ amount: 1_000 }]);
  });

  it('brings back what was spent on a day of which nothing is counted, and adds to none', async () => {
    const [before, after] = [caller(), caller()];
    const DAY = 24 * 60 * 60_000;
    const settle = (at: number, amount: number) => (memory: TenantMemory) =>
      memory.settle({ id: `${at}`, at, ...nothing, amount });
    await before.call(settle(NOON - DAY, 10));
    await before.call(settle(NOON, 20));
    await after.call(settle(NOON, 3));

    await after.putBack(await before.saved(), NOON);

    const { spent } = await after.call((memory) => memory.usage(0, 1e6));
    expect(spent.map(({ amount }) => amount)).toEqual([10, 3]);
  });

  it.each(['disabled', 'deleted'] as const)(
    'leaves one open that was %s when it was saved',
    async (state) => {
      const { call, saved, putBack } = caller();
      await call((memory) => memory.setState('disabled'));
      // A deleted one is saved once its erasure has come to its end.
      const text = (await saved()).replace('"disabled"', JSON.stringify(state));
      expect(text).toContain(`"${state}"`);
      await call((memory) => memory.setState('active'));

      await putBack(text, NOON);

      expect(await call((memory) => memory.reserve({ id: 'one', limits, ...nothing }))).toMatchObject({
        state: 'reserved',
      });
      await call((memory) => memory.note('spender:user:chat', []));
    },
  );

  it('leaves one closed that was open when it was saved', async () => {
    const { call, saved, putBack } = caller();
    await call((memory) => memory.reserve({ id: 'one', limits, ...nothing }));
    const text = await saved();
    await call((memory) => memory.setState('disabled'));

    await putBack(text, NOON);

    expect(await call((memory) => memory.reserve({ id: 'two', limits, ...nothing }))).toEqual({
      state: 'disabled',
    });
  });
});

describe('requests for records', () => {
  it('take no more than 50 calls of storage each, however much is stored', async () => {
    const { id, backUp, restore, mostCalls } = deployment();
    const tenant = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    for (let n = 0; n < 60; n++) {
      await tenant.note(conversationName(id, `user ${n % 7}`, { id: `${n}` }), []);
      await env.REFS.put(`${id}/ref_${String(n).padStart(26, '0')}`, new Uint8Array(200_000));
    }
    const records = await backUp();
    expect(records.filter(({ attachment }) => attachment.length > 0)).toHaveLength(8);
    await emptyBucket(id);
    expect(await restore(records)).toEqual({ 'tenant kept': 1, 'ref restored': 60 });
    expect(mostCalls()).toBeLessThanOrEqual(50);
    expect(mostCalls()).toBeGreaterThan(20);
  });

  it('are of a caller that is named, or of all, also without objects in R2', async () => {
    const [ann = '', bob = ''] = ['ann', 'bob'].map((name) => `${name}-${++made}`);
    const keyOf = (name: string) => `sk-an-access-key-of-${name}`;
    const { request, admin } = deployment({
      ACCESS_KEYS: `${ann}=${keyOf(ann)},${bob}=${keyOf(bob)}`,
      UPSTREAM_API_KEY: 'sk-the-key-of-the-account',
    });
    for (const name of [ann, bob]) {
      const headers = { authorization: `Bearer ${keyOf(name)}` };
      await request('/v1/blocks/team', { method: 'PUT', body: '{"text":"Ann leads."}', headers });
    }
    const kinds = async (sent: object): Promise<string[]> => {
      const response = await admin('backup', JSON.stringify(sent));
      const records = recordsIn(new Uint8Array(await response.arrayBuffer())) ?? [];
      return records.map(({ kind }) => kind);
    };
    // The part of the tenant's object, and that it is whole.
    expect(await kinds({ caller: ann })).toEqual(['H', 'R', 'R', 'E']);
    expect(await kinds({ caller: `nobody-${made}` })).toEqual(['H', 'E']);
    expect((await kinds({})).filter((kind) => kind === 'R').length).toBeGreaterThanOrEqual(4);
  });

  it('hold no words of what is stored', async () => {
    const { chat, backUp } = deployment();
    await chat(withRemoved('one', 'SECRETWORD'));
    const bytes = Buffer.from(concat((await backUp()).map((one) => one.bytes))).toString('latin1');
    for (const words of ['SECRETWORD', 'read_file', 'conversation', 'one:'])
      expect(bytes).not.toContain(words);
  });

  it.each([
    ['another place', (records: Framed[]) => [records[0], records[2]]],
    ['a record that was changed', ([head]: Framed[]) => [head && { ...head, bytes: changed(head.bytes) }]],
    ['a record twice', ([head]: Framed[]) => [head, head]],
  ])('are refused with a word about %s', async (_, choose) => {
    const { chat, backUp, admin } = deployment();
    await chat(withRemoved('one', 'word'));
    const chosen = choose(await backUp()).flatMap((one) => one?.bytes ?? []);
    const response = await admin(`restore?after=${NO_CHAIN}`, concat(chosen));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'invalid_backup',
        message: expect.stringContaining('was changed, or is out of order'),
      },
    });
  });

  it('are refused when they are packed, and are not read beyond the most that one request may have', async () => {
    const { admin } = deployment();
    const empty = new Uint8Array(9 * 100_000);
    for (let at = 0; at < empty.length; at += 9) empty[at] = 'R'.charCodeAt(0);
    expect(recordsIn(empty, 6)).toHaveLength(6);
    const many = await admin('restore', empty);
    expect(await many.json()).toMatchObject({
      error: { code: 'invalid_backup', message: 'The body has more than 5 records.' },
    });
    const packed = await admin('restore', new Uint8Array(gzipSync(empty)), ADMIN_TOKEN, {
      'content-encoding': 'gzip',
    });
    expect(packed.status).toBe(415);
  });

  it.each([
    ['restore', new Uint8Array([72, 0, 0])],
    ['restore?after=1', new Uint8Array()],
    ['backup', '{"next":"AAAA"}'],
    ['backup', '{"caller":"nobody"}'],
    ['backup', '{"callers":"all"}'],
    ['backup', '{"conversation":"one"}'],
    ['backup', '{"next":"AAAA","caller":"nobody"}'],
    ['backup', '[]'],
  ])('of another form are refused: %s', async (path, sent) => {
    const response = await deployment().admin(path, sent);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it.each(['backup', 'restore'])('are for the operator alone: %s', async (path) => {
    const { admin } = deployment();
    for (const token of ['another-token-of-no-operator', env.PRECIS_SECRET])
      expect((await admin(path, '{}', token)).status).toBe(401);
    const without = startApp(watchedBucket().bucket);
    expect((await without.request(`/v1/admin/${path}`, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(without.sent).toEqual([]);
  });
});

function changed(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}
