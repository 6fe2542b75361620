/** How the counts of isolates reach the object that adds them up. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';
import type { Batch } from '../../../src/storage/metrics/object.ts';
import { metricsObject } from '../../../src/storage/objects.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { shorten } from '../../support/time-limits.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

const REFS = 'precis_refs_written_total';
const log = vi.fn();
const object = metricsObject(env as Env, log);
const total = async (): Promise<number> => (await object((stub) => stub.read()))[REFS] ?? 0;

/** An isolate's counters, a clock, and what happens to the batches on their way. */
function isolate() {
  const sent: Batch[] = [];
  const fate = { before: false, after: false };
  let now = 1_000_000;
  const waits: (() => void)[] = [];
  const work: Promise<unknown>[] = [];
  const metrics = new Metrics({
    log,
    now: () => now,
    wait: () => new Promise((resolve) => waits.push(resolve)),
    send: async (batch) => {
      sent.push(batch);
      if (fate.before) throw new Error('the object is down');
      await object((stub) => stub.add(batch));
      if (fate.after) throw new Error('the answer is lost');
    },
  });
  const request = (by = 1) => {
    metrics.count(REFS, {}, by);
    metrics.sendLater((promise) => work.push(promise));
  };
  const pass = async (milliseconds: number) => {
    now += milliseconds;
    for (const end of waits.splice(0)) end();
    await Promise.all(work.splice(0));
  };
  /** Time passes, but the wait was cut off with its request. */
  const cutOff = (milliseconds: number) => {
    now += milliseconds;
    waits.length = 0;
    work.length = 0;
  };
  return { metrics, sent, fate, request, pass, cutOff };
}

describe('the counts of an isolate', () => {
  it('are sent once in ten seconds, however many requests there are', async () => {
    const { sent, request, pass } = isolate();
    const before = await total();
    for (let n = 0; n < 20; n++) request();
    expect(sent).toEqual([]);
    await pass(TIME_LIMITS.metricsBatchMs);
    request(2);
    expect(sent).toHaveLength(1);
    await pass(TIME_LIMITS.metricsBatchMs);
    expect(sent).toHaveLength(2);
    expect(await total()).toBe(before + 22);
  });

  it.each([
    ['before it arrives', 'before'],
    ['after it was added', 'after'],
  ] as const)('are added once where a batch is lost %s', async (_, when) => {
    const { sent, fate, request, pass } = isolate();
    const before = await total();
    fate[when] = true;
    request(3);
    await pass(TIME_LIMITS.metricsBatchMs);
    request(4);
    await pass(TIME_LIMITS.metricsBatchMs);
    fate[when] = false;
    request(5);
    await pass(TIME_LIMITS.metricsBatchMs);
    request(0);
    await pass(TIME_LIMITS.metricsBatchMs);

    expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
    expect(await total()).toBe(before + 12);
    expect(log).toHaveBeenCalledWith('warn', expect.any(String), {
      code: 'internal_error',
      error: 'Error',
      at: expect.any(String),
    });
  });

  it('are given up long before the object forgets their batch', async () => {
    const { sent, fate, request, pass } = isolate();
    const before = await total();
    fate.after = true;
    request(3);
    await pass(TIME_LIMITS.metricsBatchMs);
    fate.after = false;
    await pass(40 * 60_000);
    request(4);
    await pass(TIME_LIMITS.metricsBatchMs);
    expect(sent.map(({ counts }) => counts[REFS])).toEqual([3, 4]);
    expect(await total()).toBe(before + 7);
  });

  it('are sent with a later request’s where the wait for them was cut off', async () => {
    const { sent, request, pass, cutOff } = isolate();
    request(1);
    cutOff(TIME_LIMITS.metricsBatchMs * 2);
    expect(sent).toEqual([]);
    request(2);
    await pass(TIME_LIMITS.metricsBatchMs);
    expect(sent.map(({ counts }) => counts[REFS])).toEqual([3]);
  });

  it('are nothing where nobody asks for them', async () => {
    const waitUntil = vi.fn();
    const metrics = new Metrics();
    metrics.count(REFS, {});
    metrics.observe('precis_overhead_seconds', {}, 1);
    metrics.sendLater(waitUntil);
    await metrics.send();
    expect(waitUntil).not.toHaveBeenCalled();
  });
});

describe('the object of metrics', () => {
  it('keeps its totals, and forgets batches after an hour', async () => {
    const stub = env.METRICS.get(env.METRICS.idFromName('another'));
    let now = 0;
    const add = (id: string, by: number, at: number) => {
      now = at;
      return runInDurableObject(stub, (one) => {
        Reflect.set(one, 'now', () => now);
        (one as unknown as { add(batch: Batch): void }).add({ id, counts: { [REFS]: by } });
      });
    };
    const rows = (table: string) =>
      runInDurableObject(stub, (_, { storage: { sql } }) => sql.exec(`SELECT * FROM ${table}`).toArray());
    await add('a', 1, 0);
    await add('a', 1, 1000);
    await evictDurableObject(stub);
    await add('b', 2, 61 * 60_000);
    expect(await rows('totals')).toEqual([{ id: 1, counts: `{"${REFS}":3}` }]);
    expect(await rows('batches')).toEqual([{ batch: 'b', added_at: 61 * 60_000 }]);
  });
});

describe('a request in a deployment with metrics', () => {
  const METRICS_TOKEN = 'the-token-of-the-operator';
  const steps = Array.from({ length: 8 }, (_, index) =>
    step(`m${index}`, 'f', `${lines(60)}\nmetrics ${index}`),
  );
  const talk = body([user('go'), ...steps.flat()], {
    memory_strategy: { mode: 'compact', token_budget: 3500 },
  });

  it('asks the object of metrics after its answer, and no request waits for one that fails', async () => {
    vi.spyOn(console, 'info').mockImplementation(() => undefined);
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    shorten({ metricsBatchMs: 0 });
    const watched = watchedObjects(env.METRICS);
    watched.failing.add('add');
    const app = startApp(watchedBucket().bucket, { METRICS: watched.namespace, METRICS_TOKEN });
    let before = -1;
    app.answer.words = () => {
      before = watched.calls.length;
      return 'This is the answer.';
    };
    expect((await app.chat(talk)).status).toBe(200);
    expect(before).toBe(0);
    expect(watched.calls).toEqual(['add']);
    expect(warn.mock.calls.join()).toContain('metrics could not be added up');
    watched.failing.clear();
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const text = await (await app.request('/metrics', { headers })).text();
    expect(text).toMatch(/^precis_requests_total\{protocol="chat",mode="compact",status="2xx"\} \d+$/m);
  });

  it('is answered where the object can’t be read, and a scrape is a 503', async () => {
    vi.spyOn(console, 'info').mockImplementation(() => undefined);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    shorten({ metricsBatchMs: 0 });
    const watched = watchedObjects(env.METRICS);
    watched.failing.add('read');
    const app = startApp(watchedBucket().bucket, { METRICS: watched.namespace, METRICS_TOKEN });
    expect((await app.chat(talk)).status).toBe(200);
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const scraped = await app.request('/metrics', { headers });
    expect(scraped.status).toBe(503);
    expect(await scraped.json()).toMatchObject({ error: { code: 'store_failed' } });
  });

  it('makes no call to it without a token, and needs no binding then', async () => {
    vi.spyOn(console, 'info').mockImplementation(() => undefined);
    const app = startApp(watchedBucket().bucket, { METRICS: undefined });
    expect((await app.chat(talk)).status).toBe(200);
    expect((await app.request('/metrics')).status).toBe(404);
  });
});
