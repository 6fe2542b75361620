/** Lists and statistics of conversations whose storage fails, or whose writers are lost. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { SUMMARIZE, start, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(() => {
  for (const level of ['info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

let keys = 0;
const newKey = () => `sk-a-caller-who-lists-conversations-${++keys}`;
const PATHS = ['/v1/conversations', '/v1/stats'];

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
    ['the object of the tenant', 'TENANT_MEMORY', 'list'],
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
        const lists = tenants.calls.slice(before[0]).filter((call) => call === 'list').length;
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
    expect(objects.calls).toEqual(['list', 'list']);
  });
});
