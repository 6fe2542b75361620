/** What a caller's conversations have sent and cost: by day, in lists, and after a deletion. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { periodSummary, statsByDay } from '../../../src/reference/schemas/conversations.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import type { EndedRun } from '../../../src/storage/conversation/run-batch.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';
import { BILL_ORDER, batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import { quiet } from '../../support/quiet.ts';
import { request, writeByTests, writing } from '../summaries/conversation-object.ts';
import { startApp, watchedBucket } from '../support.ts';

/** See `bills.test.ts`. */
const SENT = 17_120_000;
const WOULD_BE = 27_168_000;
const NET = WOULD_BE - SENT;

const DAY = 24 * 60 * 60_000;
const NOW = Date.UTC(2026, 10, 26, 12);

let now = NOW;

beforeEach(() => {
  now = NOW;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  quiet();
});

const billed = (fields: Parameters<typeof endedRun>[0] = {}): EndedRun =>
  endedRun(
    { created_at: now, tokens: { before: 40_000, after: 20_000, budget: null, window: 1 }, ...fields },
    { billing: BILL_ORDER },
  );

/** A request whose cache has this many tokens for it. @param tools a hash of them */
const missing = (tools: string, cached: number): EndedRun => {
  const prefix = {
    model: 'gpt-4.1',
    tools,
    effort: '',
    format: '',
    user: '',
    key: '',
    own: '',
    messages: 'abc',
  };
  const calls = [{ input: 20_000, cached, cache_writes: null, output: 500 }];
  const edited = [{ messages: 0, edits: '', rounds: '' }];
  return endedRun(
    { created_at: ++now, tokens: null },
    { billing: { ...BILL_ORDER, calls }, compared: { prefix, edited, ready: now, isFar: false } },
  );
};

let callers = 0;

/** A caller whose conversations have requests. */
function caller(variables: Parameters<typeof startApp>[1] = {}) {
  const key = `sk-a-caller-with-sums-by-day-${++callers}`;
  const app = startApp(watchedBucket().bucket, variables, key);
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const objectOf = (id: string, user?: string) =>
    env.CONVERSATION_MEMORY.getByName(
      conversationName(tenant, user, { id }),
    ) as DurableObjectStub<ConversationMemory>;
  const inObject = <Result>(
    id: string,
    work: (memory: ConversationMemory, state: DurableObjectState) => Promise<Result>,
    user?: string,
  ) =>
    runInDurableObject(objectOf(id, user), (memory, state) => {
      Reflect.set(memory, 'now', () => now);
      return work(memory, state);
    });
  /** Resolves when what could be reported at once is reported. */
  const ends = async (id: string, runs: EndedRun[], user?: string) => {
    await inObject(id, async (memory) => void (await memory.events.add(batchOf(...runs))), user);
    await inObject(
      id,
      async (memory) => {
        await Reflect.get(memory, 'sums').settled();
      },
      user,
    );
  };
  const read = async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const days = async (count = 7) => statsByDay.parse((await read(`/v1/stats?days=${count}`)).body);
  const list = async (query: string) => {
    const { body } = await read(`/v1/conversations?${query}`);
    return body as { data: Record<string, unknown>[]; has_more: boolean; cursor: string | null };
  };
  const ids = async (query: string) => (await list(query)).data.map(({ id }) => id);
  /** A text of the summarizer, which fails after it has cost something. */
  const summarizes = (id: string, cost: number) =>
    inObject(id, async (memory) => {
      const failing = writing(async () => ({
        made: { ok: false, reason: { error: 'timeout' } },
        usage: { ...NO_USAGE, cost },
      }));
      writeByTests(memory);
      await memory.text(request(4), failing, 10_000);
    });
  return { app, key, tenant, objectOf, inObject, ends, summarizes, read, days, list, ids };
}

describe('sums by day', () => {
  it('have all requests of all conversations, each on the day on which it came', async () => {
    const { ends, days } = caller();
    now = NOW - 2 * DAY;
    await ends('one', [billed(), billed({ status: 500 })]);
    now = NOW;
    await ends('one', [billed()]);
    await ends('two', [billed()], 'ann');
    const stats = await days(3);

    expect(stats.data.map(({ date, requests, failed }) => [date, requests, failed])).toEqual([
      ['2026-11-24', 2, 1],
      ['2026-11-25', 0, 0],
      ['2026-11-26', 2, 0],
    ]);
    expect(stats.total).toMatchObject({
      requests: 4,
      tokens: { before: 160_000, sent: 80_000 },
      bill: { billed: 4, would_be: 4 * WOULD_BE, actual: 4 * SENT, net: 4 * NET },
      observed: { requests: 0, net: null },
      failures: [{ status: '500', requests: 1 }],
      models: [
        { model: 'gpt-4.1', requests: 4, failed: 1, billed: 4, sent: 4 * SENT, would_be: 4 * WOULD_BE },
      ],
    });
    expect(stats.data[1]?.bill).toMatchObject({ billed: 0, would_be: null, actual: null, net: null });
    expect((await days(1)).total.requests).toBe(2);
  });

  it('have what was missed in the cache by cause, the dearest first', async () => {
    const { ends, days, tenant, inObject } = caller();
    const tools = (hash: string) => missing(hash, 2_048);
    await ends('one', [missing('a', 17_920), tools('b'), tools('c'), missing('c', 2_048)]);
    await ends('two', [missing('a', 17_920), tools('b')]);
    now += DAY;
    await ends('two', [missing('b', 2_048)]);
    const dropped = 19_968 - 2_048;
    const sum = (cause: string, requests: number) => ({
      cause,
      requests,
      tokens: requests * dropped,
      amount: requests * dropped * 1_500,
    });

    const { data, total } = await days(2);
    expect(data.map(({ missed }) => missed)).toEqual([
      [sum('tools', 3), sum('vendor', 1)],
      [sum('lifetime', 1)],
    ]);
    expect(total.missed).toEqual([sum('tools', 3), sum('vendor', 1), sum('lifetime', 1)]);
    const kept = await inObject('one', async (memory) => Reflect.get(memory, 'runs').days());
    expect(Object.values(kept)).toMatchObject([{ missed: { tools: { requests: 2 } } }]);
    const rows = env.TENANT_MEMORY.getByName(tenant);
    await runInDurableObject(rows, (_, { storage: { sql } }) => {
      for (const column of ['missed', 'failures', 'models', 'answered_at', 'unanswered_at'])
        sql.exec(`ALTER TABLE day_sums DROP COLUMN ${column}`);
    });
    await evictDurableObject(rows);
    expect((await days(2)).total).toMatchObject({ requests: 7, missed: [], failures: [], models: [] });
  });

  it('tell what observed requests have sent, and what they would have', async () => {
    const { ends, days } = caller();
    const potential = {
      unit: 'nanodollars',
      family: 'gpt-4.1',
      sent: null,
      would_be: null,
      net: 700,
    } as const;
    const { event } = billed({ observed: true });
    await ends('watched', [{ event, potential_bill: potential }]);

    expect((await days()).total).toMatchObject({
      tokens: { before: 40_000, sent: 40_000 },
      observed: { requests: 1, tokens: { before: 40_000, would_be: 20_000 }, billed: 1, net: 700 },
    });
  });

  it('count a request that nobody had to count as its upstream did', async () => {
    const { ends, days } = caller();
    const usage = { input: 900, cached: 0, cache_writes: null, output: 5 };
    await ends('short', [endedRun({ created_at: now, tokens: null, usage })]);

    expect((await days()).total.tokens).toEqual({ before: 900, sent: 900 });
  });

  it('subtract what the summarizer costs on the day on which it works', async () => {
    const { ends, days, summarizes, objectOf } = caller();
    await ends('summarised', [billed()]);
    await summarizes('summarised', 1_000);
    now += TIME_LIMITS.sumsMs;
    await runDurableObjectAlarm(objectOf('summarised'));
    now += TIME_LIMITS.sumsMs;
    await ends('summarised', [billed()]);

    expect((await days()).total.bill).toMatchObject({
      net: 2 * NET - 1_000,
      debits: { summarizer: 1_000, fetch_rounds: 0, broken_cache: 0 },
    });
  });

  it('keep a day that requests or texts have forgotten', async () => {
    const { ends, days, summarizes } = caller();
    now = NOW - 4 * DAY;
    await ends('long', [billed()]);
    await summarizes('long', 1_000);
    for (let ago = 4; ago >= 0; ago--) {
      now = NOW - ago * DAY + TIME_LIMITS.sumsMs;
      await ends('long', [billed()]);
    }
    const { data, total } = await days(5);

    expect(data.map(({ requests }) => requests)).toEqual([2, 1, 1, 1, 1]);
    expect(total.bill.debits.summarizer).toBe(1_000);
  });

  it('are reported again by an alarm where requests follow each other', async () => {
    const { ends, days, objectOf } = caller();
    await ends('busy', [billed()]);
    for (let n = 0; n < 3; n++) await ends('busy', [billed()]);
    expect((await days()).total.requests).toBe(1);
    now += TIME_LIMITS.sumsMs;
    expect(await runDurableObjectAlarm(objectOf('busy'))).toBe(true);

    expect((await days()).total.requests).toBe(4);
    expect(await runDurableObjectAlarm(objectOf('busy'))).toBe(false);
  });

  it('are up to date after a list with the conversation', async () => {
    const { ends, days, ids } = caller();
    for (let n = 0; n < 3; n++) await ends('busy', [billed()]);
    expect((await days()).total.requests).toBe(1);
    expect(await ids('')).toEqual(['busy']);

    expect((await days()).total.requests).toBe(3);
  });

  it('are reported later where the caller’s object could not be reached', async () => {
    const { inObject, ends, days, objectOf } = caller();
    await ends('unlucky', []);
    await inObject('unlucky', async (memory) => {
      const tell = Reflect.get(memory, 'reportSums') as () => Promise<void>;
      let failures = 1;
      Reflect.set(memory, 'reportSums', (...args: []) =>
        failures-- > 0 ? Promise.reject(new Error('unreachable')) : tell.apply(memory, args),
      );
    });
    await ends('unlucky', [billed()]);
    expect((await days()).total.requests).toBe(0);
    now += TIME_LIMITS.sumsMs;
    await runDurableObjectAlarm(objectOf('unlucky'));

    expect((await days()).total.requests).toBe(1);
  });

  it('are right after a call that was lost with its object', async () => {
    const { ends, days, objectOf, tenant } = caller();
    await ends('lost', [billed()]);
    const rows = env.TENANT_MEMORY.getByName(tenant);
    await runInDurableObject(rows, (_, { storage: { sql } }) => void sql.exec('DELETE FROM day_sums'));
    await evictDurableObject(objectOf('lost'));
    await ends('lost', [billed()]);

    expect((await days()).total.requests).toBe(2);
  });

  it('go with their conversation, and with all data of a caller', async () => {
    const { app, ends, days, tenant, ids } = caller();
    for (const id of ['one', 'two', 'three']) await ends(id, [billed()]);
    await app.request('/v1/conversations/one/memory', { method: 'DELETE' });
    expect((await days()).total.requests).toBe(2);
    expect(await ids('sort=requests')).toEqual(['three', 'two']);
    await app.request('/v1/memory', { method: 'DELETE' });

    expect((await days()).total.requests).toBe(0);
    const tables = await runInDurableObject(env.TENANT_MEMORY.getByName(tenant), (_, { storage: { sql } }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  it('do not come back with an alarm after a deletion', async () => {
    const { app, ends, days, objectOf } = caller();
    await ends('gone', [billed()]);
    await ends('gone', [billed()]);
    await app.request('/v1/conversations/gone/memory', { method: 'DELETE' });
    now += TIME_LIMITS.sumsMs;
    await runDurableObjectAlarm(objectOf('gone'));

    expect((await days()).total.requests).toBe(0);
  });

  it('let no deletion end while they are being reported, also if it is repeated', async () => {
    const { inObject } = caller();
    await inObject('leaving', async (memory) => {
      let land = () => {};
      const tell = () => new Promise<void>((resolve) => (land = resolve));
      Reflect.set(memory, 'reportSums', tell);
      await memory.events.add(batchOf(billed()));
      const ended: number[] = [];
      const deletions = [1, 2].map((n) => memory.leave().then(() => ended.push(n)));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(ended).toEqual([]);
      land();
      await Promise.all(deletions);
    });
  });

  it('are kept for 90 days', async () => {
    const { ends, days, tenant } = caller();
    now = NOW - 90 * DAY;
    await ends('old', [billed()]);
    now = NOW - 89 * DAY;
    await ends('old', [billed()]);
    now = NOW;
    await ends('new', [billed()]);

    expect((await days(90)).total.requests).toBe(2);
    const [{ count } = { count: 0 }] = await runInDurableObject(
      env.TENANT_MEMORY.getByName(tenant),
      (_, { storage: { sql } }) =>
        sql.exec<{ count: number }>('SELECT count(*) AS count FROM day_sums').toArray(),
    );
    expect(count).toBe(2);
  });

  it('go on from those under the earlier secret', async () => {
    const { key, ends } = caller();
    await ends('before', [billed()]);
    const secrets = { PRECIS_SECRET: 'another-secret-for-tests', PRECIS_SECRET_PREVIOUS: env.PRECIS_SECRET };
    const app = startApp(watchedBucket().bucket, secrets, key);
    const stats = statsByDay.parse(await (await app.request('/v1/stats?days=1')).json());

    expect(stats.total.requests).toBe(1);
  });

  it.each(['0', '91', '-1', '7.5', 'week', ''])('refuse other counts of days (%s)', async (text) => {
    const { status, body } = await caller().read(`/v1/stats?days=${text}`);

    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_value',
        param: 'days',
        message: 'days must be a number from 1 to 90.',
      },
    });
  });
});

describe('the summary of some days', () => {
  it('has the sums of the days themselves, and names what has cost more to its caller alone', async () => {
    const { ends, summarizes, days, read, app } = caller();
    const other = caller();
    await ends('saves', [billed(), billed({ status: 502, ended: 'error' })]);
    for (const [id, one] of [
      ['loses', { ends, summarizes }],
      ['elsewhere', other],
    ] as const) {
      await one.ends(id, [billed()]);
      await one.summarizes(id, 4 * NET);
      now += TIME_LIMITS.sumsMs;
      await one.ends(id, [billed()]);
    }
    now = NOW - 3 * DAY;
    await ends('before', [billed()]);
    now = NOW;
    const summary = periodSummary.parse((await read('/v1/stats/summary')).body);

    expect(summary.total).toEqual((await days(7)).total);
    expect(periodSummary.parse((await read('/v1/stats/summary?days=1')).body).total).toEqual(
      (await days(1)).total,
    );
    expect(summary).toMatchObject({ days: 7, from: '2026-11-20', to: '2026-11-26', lost: 1, unbilled: 0 });
    const { largest, ...losses } = summary.losses;
    expect(largest).toEqual([
      { id: 'loses', user: null, opening: null, amount: 2 * NET, cause: 'summarizer' },
    ]);
    expect(losses).toMatchObject({ conversations: 1, amount: 2 * NET });
    expect(summary.text).toMatch(
      /^This week \(20 Nov to 26 Nov, UTC\): \$0\.0\d+ (saved of|lost).+1 lost answer, 1 conversation cost more\. It cost /,
    );

    const text = await app.request('/v1/stats/summary', { headers: { accept: 'text/plain' } });
    expect(text.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await text.text()).toBe(`${summary.text}\n`);
    for (const [path, accept] of [
      ['/v1/stats/summary', 'image/svg+xml'],
      ['/v1/stats/summary.svg?days=7', '*/*'],
    ] as const) {
      const picture = await app.request(path, { headers: { accept } });
      expect(picture.headers.get('content-type')).toBe('image/svg+xml');
      expect(picture.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await picture.text()).toMatch(/^<svg .+class="paid".+<\/svg>$/s);
    }
  });

  it('says so where there is nothing', async () => {
    const { read } = caller();
    expect((await read('/v1/stats/summary?days=30')).body).toMatchObject({
      text: 'In 30 days (28 Oct to 26 Nov, UTC): no request is recorded.',
      lost: 0,
    });
    expect((await read('/v1/stats/summary?days=91')).status).toBe(400);
  });
});

describe('a list of conversations', () => {
  /** Three that differ in all that a list is sorted by. */
  async function three() {
    const made = caller();
    now = NOW - 3 * DAY;
    await made.ends('Alpha', [billed(), billed(), billed()], 'Ann');
    now = NOW - DAY;
    await made.ends('beta', [billed({ model: 'gpt-6-sol', agent: 'coding' })], 'Bob');
    now = NOW - 2 * DAY;
    await made.ends('gamma/é', [billed(), endedRun({ created_at: now })]);
    now = NOW;
    return made;
  }

  it.each([
    ['sort=created', ['gamma/é', 'beta', 'Alpha']],
    ['order=asc', ['Alpha', 'beta', 'gamma/é']],
    ['sort=used', ['beta', 'gamma/é', 'Alpha']],
    ['sort=used&order=asc', ['Alpha', 'gamma/é', 'beta']],
    ['sort=requests', ['Alpha', 'gamma/é', 'beta']],
    ['sort=net', ['Alpha', 'gamma/é', 'beta']],
    ['sort=net&order=asc', ['beta', 'gamma/é', 'Alpha']],
    ['sort=paid', ['Alpha', 'gamma/é', 'beta']],
    ['sort=paid&order=asc', ['beta', 'gamma/é', 'Alpha']],
    ['sort=used&user=Ann', ['Alpha']],
    ['sort=net&model=gpt-6-sol', ['beta']],
    ['sort=used&agent=coding', ['beta']],
    ['sort=used&agent=support', []],
    [`sort=used&used_since=${(NOW - 2 * DAY) / 1_000}`, ['beta', 'gamma/é']],
    [`sort=requests&used_until=${(NOW - 2 * DAY) / 1_000}`, ['Alpha', 'gamma/é']],
    [`sort=paid&paid_from=${SENT}&paid_to=${2 * SENT}`, ['gamma/é', 'beta']],
    ['outcome=failed', []],
    ['outcome=answered&order=asc', ['Alpha', 'beta', 'gamma/é']],
  ])('is sorted by %s, also over several pages', async (query, wanted) => {
    const { ids, list } = await three();
    expect(await ids(query)).toEqual(wanted);
    const paged: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(`${query}&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      paged.push(...page.data.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== null && paged.length < 9);
    expect(paged).toEqual(wanted);
  });

  it.each([
    ['q=ALPH', ['Alpha']],
    ['q=bob', ['beta']],
    ['q=%C3%89', ['gamma/é']],
    ['q=gpt-6', ['beta']],
    ['q=a', ['gamma/é', 'beta', 'Alpha']],
    ['q=2F', []],
    ['q=%3A', []],
  ])('finds what contains %s', async (query, wanted) => {
    expect(await (await three()).ids(query)).toEqual(wanted);
  });

  it('does not search in what names the tenant', async () => {
    const { ids, tenant } = await three();
    expect(await ids(`q=${tenant.slice(0, 8)}`)).toEqual([]);
  });

  it('has the model, the number and the time of the newest request', async () => {
    const { list } = await three();
    const { data } = await list('q=beta');

    expect(data).toMatchObject([
      { id: 'beta', model: 'gpt-6-sol', agent: 'coding', requests: 1, last_request_at: (NOW - DAY) / 1_000 },
    ]);
  });

  it('sorts conversations that have reported nothing last, in either order', async () => {
    const made = await three();
    const settings = { method: 'PATCH', body: '{"mode":"none"}' };
    await made.app.request('/v1/conversations/settings-alone/memory', settings);

    for (const order of ['asc', 'desc'])
      expect((await made.ids(`sort=net&order=${order}`)).at(-1)).toBe('settings-alone');
  });

  it.each([
    ['sort=size', 'sort', 'sort must be one of created, used, requests, net, paid.'],
    ['order=up', 'order', 'order must be one of desc, asc.'],
    [`q=${'x'.repeat(257)}`, 'q', 'q must have at most 256 characters.'],
    ['cursor=0-1-5', 'cursor', 'cursor must be the cursor of the previous page.'],
    ['outcome=fine', 'outcome', 'outcome must be one of answered, failed.'],
    ['used_since=now', 'used_since', 'used_since must be a whole number of seconds since 1970, 0 or more.'],
    ['paid_to=-1', 'paid_to', 'paid_to must be a whole number of nanodollars, 0 or more.'],
    [`user=${'x'.repeat(257)}`, 'user', 'user must have at most 256 characters.'],
    ['sort=net&cursor=0-1', 'cursor', 'cursor must be the cursor of the previous page.'],
  ])('refuses %s', async (query, param, message) => {
    const { status, body } = await caller().read(`/v1/conversations?${query}`);

    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { code: 'invalid_value', param, message } });
  });
});
