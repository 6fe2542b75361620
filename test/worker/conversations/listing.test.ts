/** Lists and statistics of conversations whose storage fails, or whose writers are lost. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { LazyTables } from '../../../src/storage/tables.ts';
import {
  type ListPart,
  type ListQuery,
  listConversations,
  MOST_LOOKED_AT,
  SORTS,
} from '../../../src/storage/tenant/listing.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { quiet } from '../../support/quiet.ts';
import { SUMMARIZE, start, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

let keys = 0;
const newKey = () => `sk-a-caller-who-lists-conversations-${++keys}`;
const PATHS = ['/v1/conversations', '/v1/stats'];

/** A tenant's object with many conversations, the last used first among equals. */
const MANY = 3 * MOST_LOOKED_AT;

describe('a list of many conversations', () => {
  /** Reads a page of an object that has them, with the rows that it has read. */
  async function pages(query: Partial<ListQuery>, most: number, count: number) {
    const stub = env.TENANT_MEMORY.getByName('many');
    return runInDurableObject(stub, (tenant, { storage: { sql } }) => {
      if (!Reflect.get(tenant, 'rows').tables.exists()) fill(tenant as TenantMemory, sql);
      const read: { found: number[]; rows: number; stopped: boolean }[] = [];
      let after: ListPart['stopped'] = null;
      for (let page = 0; page < count; page++) {
        const cursors: { rowsRead: number }[] = [];
        const counting = {
          exec: (...given: Parameters<SqlStorage['exec']>) => {
            const cursor = sql.exec(...given);
            cursors.push(cursor);
            return cursor;
          },
        } as SqlStorage;
        const tables = new LazyTables({ sql: counting, now: Date.now }, 'CREATE TABLE conversations');
        tables.exists();
        cursors.length = 0;
        const asked: ListQuery = { sort: 'used', order: 'desc', text: '', ...query };
        const part = listConversations(tables, 'conversation_sums', asked, after, most);
        const rows = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
        read.push({ found: part.found.map(({ at }) => at), rows, stopped: part.stopped !== null });
        if (!part.stopped && part.found.length < most) break;
        after = part.stopped ?? part.found.at(-1) ?? null;
      }
      return read;
    });
  }

  function fill(tenant: TenantMemory, sql: SqlStorage): void {
    const sums = {
      requests: 1,
      net: 1,
      paid: 1,
      lastRequest: 1,
      model: 'm',
      lastStatus: 200,
      agent: null,
      days: {},
    };
    void tenant.note('t::1', []);
    tenant.noteSums('t::1', sums);
    sql.exec(
      `WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
       INSERT INTO conversations (name, last_used) SELECT 't:' || iif(n % 4000 = 0, 'ann', '') || ':' || n, n FROM n`,
      MANY,
    );
    // A fifth has no sums, and of the others many have the same number of requests.
    sql.exec(
      `INSERT INTO conversation_sums (conversation_id, requests, net, last_request, model, paid, last_status, agent)
       SELECT conversation_id, conversation_id % 3, conversation_id % 7, conversation_id, 'm', conversation_id,
         iif(conversation_id % 4001 = 0, 500, 200), iif(conversation_id % 4001 = 0, 'coding', NULL)
       FROM conversations WHERE conversation_id % 5 <> 0 AND conversation_id > 1`,
    );
  }

  it.each(SORTS)('reads few rows for a page, wherever it is, sorted by %s', async (sort) => {
    for (const order of ['asc', 'desc'] as const) {
      const read = await pages({ sort, order }, 50, 40);
      expect(new Set(read.flatMap(({ found }) => found)).size).toBe(40 * 50);
      expect(Math.max(...read.map(({ rows }) => rows))).toBeLessThan(50 * 4);
    }
  });

  it.each([
    { text: 'nowhere' },
    { outcome: 'failed' },
    { agent: 'coding' },
    { model: 'other' },
    { paid: { from: 0, to: 0 } },
  ] as const)('ends early where few are wanted, and is complete over all pages: %j', async (query) => {
    const read = await pages({ sort: 'net', ...query }, 50, 8);
    expect(Math.max(...read.map(({ rows }) => rows))).toBeLessThan(MOST_LOOKED_AT * 5);
    expect(read.at(0)?.stopped).toBe(true);
    expect(read.at(-1)?.stopped).toBe(false);
    const wanted = 'outcome' in query || 'agent' in query ? [4001, 8002] : [];
    expect(read.flatMap(({ found }) => found).toSorted((a, b) => a - b)).toEqual(wanted);
  });

  it('finds all of a user at once, in the order of the list', async () => {
    const [{ found, rows } = { found: [], rows: 0 }] = await pages({ names: 't:ann:', sort: 'used' }, 50, 1);
    expect(found).toEqual([12_000, 8_000, 4_000]);
    expect(rows).toBeLessThan(20);
    const [after] = (await pages({ names: 't:ann:', sort: 'used' }, 2, 2)).slice(1);
    expect(after?.found).toEqual([4_000]);
  });
});

describe('a list of conversations', () => {
  it('says of one whose writer is lost that it is stuck', async () => {
    const { app, rounds, stub, id } = start(SUMMARIZE, {}, newKey());
    await rounds(1, 5);
    await runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec("UPDATE memories SET status = 'processing', created_at = 0"),
    );
    const { data } = (await (await app.request('/v1/conversations?status=stuck')).json()) as {
      data: object[];
    };
    expect(data).toMatchObject([{ id, status: 'stuck', versions: 0, tokens: null }]);
  });

  it('is summed up with the windows of its rolling memories, together and by day', async () => {
    const { app, rounds, stub } = start(SUMMARIZE, {}, newKey());
    await rounds(1, 5);
    const day = 24 * 60 * 60_000;
    await runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec('DELETE FROM memories');
      const columns =
        'conversation, lineage, prefix_hash, strategy_hash, window_size, covers_end, status, created_at';
      for (const [at, [start, end, window]] of [
        [0, 5, 14],
        [2, 15, 14],
        [0, 9, null],
      ].entries())
        sql.exec(
          `INSERT INTO memories (${columns}, start_sequence, end_sequence, completed_at, generation_time_ms, attempts)
           VALUES ('c', 'l', ?, 's', ?, 4, 'completed', 0, ?, ?, ?, 10, 1)`,
          `${at}`,
          window ?? null,
          start ?? 0,
          end ?? 0,
          at * day,
        );
    });
    const response = await app.request('/v1/stats');
    const { windows, progression } = (await response.json()) as Record<string, unknown>;
    expect(windows).toEqual({ avg_size: 10, max_size: 14, count: 2 });
    expect(progression).toMatchObject([
      { date: '1970-01-01', total_summaries: 1, windows: { avg_size: 6, max_size: 6, count: 1 } },
      { date: '1970-01-02', total_summaries: 1, windows: { avg_size: 14, max_size: 14, count: 1 } },
      { date: '1970-01-03', total_summaries: 1, windows: { avg_size: null, max_size: null, count: 0 } },
    ]);
  });

  it('has the worst health of all conversations with one opening', async () => {
    const { app, rounds, stub } = start(SUMMARIZE, {}, newKey());
    await rounds(1, 5);
    const health = JSON.stringify({ state: 'recovering', failures: 1, retryAt: 0 });
    await runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec("INSERT INTO lineages (lineage, health, used_at) VALUES ('another', ?, 0)", health),
    );
    const { data } = (await (await app.request('/v1/conversations')).json()) as { data: object[] };
    expect(data).toMatchObject([{ status: 'degraded', health: 'recovering', versions: 1 }]);
  });

  it.each([
    ['the object of the tenant', 'TENANT_MEMORY', 'conversations.list'],
    ['an object of a conversation', 'CONVERSATION_MEMORY', 'standing'],
  ] as const)('is a 503 while %s fails', async (_, binding, method) => {
    const key = newKey();
    await start(SUMMARIZE, {}, key).rounds(1, 5);
    const objects = watchedObjects(env[binding]);
    objects.failing.add(method);
    const app = startApp(watchedBucket().bucket, { [binding]: objects.namespace }, key);
    for (const path of PATHS) {
      const response = await app.request(path);
      expect([path, response.status]).toEqual([path, 503]);
      expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
    }
    objects.failing.clear();
    for (const path of PATHS) expect((await app.request(path)).status).toBe(200);
  });

  it('continues with the conversations of the earlier secret', async () => {
    const key = newKey();
    const { id } = start(SUMMARIZE, {}, key);
    const earlier = start(SUMMARIZE, { EVENTS: 'off' }, key);
    await earlier.rounds(1, 2);
    await earlier.app.request(`/v1/conversations/${encodeURIComponent(id)}/memory`, {
      method: 'PATCH',
      body: '{"mode":"none"}',
    });
    const secrets = { PRECIS_SECRET: 'another-secret-for-tests', PRECIS_SECRET_PREVIOUS: env.PRECIS_SECRET };
    const now = startApp(watchedBucket().bucket, secrets, key);
    await now.request('/v1/conversations/new/memory', { method: 'PATCH', body: '{"mode":"none"}' });
    const page = async (query = '') =>
      (await (await now.request(`/v1/conversations${query}`)).json()) as {
        data: { id: string }[];
        cursor: string | null;
      };
    expect((await page()).data.map((one) => one.id)).toEqual(['new', id]);
    const first = await page('?limit=1');
    const second = await page(`?limit=1&cursor=${first.cursor}`);
    expect([...first.data, ...second.data].map((one) => one.id)).toEqual(['new', id]);
    expect(second.cursor).toBeNull();
  });

  it('asks the object of the tenant once a page, however few have the wanted status', async () => {
    const key = newKey();
    const tenants = watchedObjects(env.TENANT_MEMORY);
    const conversations = watchedObjects(env.CONVERSATION_MEMORY);
    const bindings = { TENANT_MEMORY: tenants.namespace, CONVERSATION_MEMORY: conversations.namespace };
    const app = startApp(watchedBucket().bucket, bindings, key);
    const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
    const health = JSON.stringify({ state: 'degraded', failures: 9, retryAt: 0 });
    for (let n = 1; n <= 20; n++) {
      await app.request(`/v1/conversations/${n}/memory`, { method: 'PATCH', body: '{"mode":"none"}' });
      if (![2, 11, 12, 19].includes(n)) continue;
      const stub = env.CONVERSATION_MEMORY.getByName(conversationName(tenant, undefined, { id: `${n}` }));
      await runInDurableObject(stub, (_, { storage: { sql } }) =>
        sql.exec("INSERT INTO lineages (lineage, health, used_at) VALUES ('one', ?, 0)", health),
      );
    }
    const pages = async (query: string) => {
      const read: { ids: string[]; lists: number; standings: number }[] = [];
      let cursor: string | null = null;
      do {
        const before = [tenants.calls.length, conversations.calls.length];
        const after = cursor === null ? '' : `&cursor=${cursor}`;
        const response = await app.request(`/v1/conversations?${query}${after}`);
        const page = (await response.json()) as { data: { id: string }[]; cursor: string | null };
        const lists = tenants.calls.slice(before[0]).filter((call) => call === 'conversations.list').length;
        const standings = conversations.calls.slice(before[1]).filter((call) => call === 'standing').length;
        read.push({ ids: page.data.map(({ id }) => id), lists, standings });
        cursor = page.cursor;
      } while (cursor !== null && read.length < 9);
      return read;
    };

    expect(await pages('sort=net&status=stuck&limit=1')).toEqual([{ ids: [], lists: 1, standings: 20 }]);
    const degraded = await pages('status=degraded&limit=2');
    expect(degraded.map(({ ids, lists }) => [ids, lists])).toEqual([
      [['19', '12'], 1],
      [['11', '2'], 1],
      [[], 1],
    ]);
    expect(degraded[0]?.standings).toBeLessThan(20);
    const single = await pages('status=degraded&limit=1');
    expect(single.flatMap(({ ids }) => ids)).toEqual(['19', '12', '11', '2']);
    expect((await pages('limit=20')).map(({ lists, standings }) => [lists, standings])).toEqual([[1, 20]]);
  });

  it('leaves no trace of a caller of whom nothing is kept', async () => {
    const objects = watchedObjects(env.TENANT_MEMORY);
    const app = startApp(watchedBucket().bucket, { TENANT_MEMORY: objects.namespace }, newKey());
    for (const path of PATHS) expect((await app.request(path)).status).toBe(200);
    expect(objects.calls).toEqual(['conversations.list', 'conversations.list']);
  });
});
