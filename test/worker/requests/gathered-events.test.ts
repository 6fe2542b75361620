/** Events of requests that an isolate gathers, and sends together. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import { utcTimeOf } from '../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import type { BillSums } from '../../../src/memory/money/bill-schema.ts';
import type { BillOrder } from '../../../src/memory/money/running-bill.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import type { RunBatch } from '../../../src/storage/conversation/run-batch.ts';
import { RunEvents } from '../../../src/storage/conversation/run-events.ts';
import { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, user } from '../../support/conversations/chat.ts';
import { endedRun, outbox } from '../../support/conversations/ended-runs.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, startApp, watchedBucket, watchedObjects } from '../support.ts';

/** Long enough for many requests on a busy machine. */
const BATCH_MS = 3_000;

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 512 },
};

beforeEach(() => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation(() => undefined);
  shorten({ eventBatchMs: BATCH_MS });
});

afterEach(() => {
  vi.restoreAllMocks();
});

interface Page {
  readonly data: readonly RunEvent[];
  readonly bill: BillSums;
  readonly behind_ms: number;
  readonly lost: number;
}

let keys = 0;

/** Isolates of a caller of its own, whose requests don't wait for what comes after them. */
function caller() {
  const key = `sk-a-caller-whose-events-are-gathered-${++keys}`;
  const isolate = (variables: Partial<Env> = {}) => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const watched = watchedBucket();
    hang(watched);
    const app = startApp(watched.bucket, { CONVERSATION_MEMORY: objects.namespace, ...variables }, key);
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () =>
      Response.json({ id: 'chatcmpl-1', choices: [], usage: USAGE }),
    );
    const ask = async (messages: number, id = 'c', fields: object = {}) => {
      const all = Array.from({ length: messages }, (_, at) => (at % 2 ? assistant('Yes.') : user('And?')));
      const answer = await app.chat(body(all, { conversation_id: id, memory_strategy: 'none', ...fields }));
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    };
    const list = async (id = 'c'): Promise<Page> =>
      (await app.request(`/v1/conversations/${id}/requests`)).json();
    const keeps = () => objects.calls.filter((call) => call === 'keepRuns').length;
    return { app, objects, ask, list, keeps };
  };
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const stub = env.CONVERSATION_MEMORY.getByName(
    conversationName(tenant, undefined, { id: 'c' }),
  ) as DurableObjectStub<ConversationMemory>;
  const rows = () =>
    runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name = 'run_events'").toArray().length === 0
        ? []
        : sql.exec<{ events: string }>('SELECT events FROM run_events ORDER BY first_n').toArray(),
    );
  const sizes = async () => (await rows()).map(({ events }) => (JSON.parse(events) as unknown[]).length);
  return { isolate, stub, sizes };
}

const numbers = ({ data }: Page) => data.map(({ n, messages }) => [n, messages]);

describe('requests of a conversation within two seconds', () => {
  it('cost one call and one row for all but the first', async () => {
    const { isolate, sizes } = caller();
    const { ask, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    for (let n = 2; n <= 6; n++) await ask(n);
    await vi.waitUntil(async () => (await sizes()).length > 1, { timeout: 3 * BATCH_MS });

    expect(await sizes()).toEqual([1, 5]);
    expect(keeps()).toBe(2);
  });

  it('can be read at once in their isolate, with exact bills', async () => {
    const { isolate, sizes } = caller();
    const { ask, list, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    for (let n = 2; n <= 5; n++) await ask(n);

    const page = await list();

    expect(numbers(page)).toEqual([
      [5, 5],
      [4, 4],
      [3, 3],
      [2, 2],
      [1, 1],
    ]);
    expect(page).toMatchObject({ behind_ms: BATCH_MS, lost: 0 });
    const amounts = page.data.map(({ bill }) => bill?.sent?.amount ?? Number.NaN);
    // 488 × 2 000 + 512 × 500 + 10 × 8 000 nanodollars.
    expect(amounts).toEqual(Array(5).fill(1_312_000));
    expect(page.bill).toMatchObject({ requests: 5, billed: 5, sent: { amount: 5 * 1_312_000 } });
    expect(await sizes()).toEqual([1, 4]);
  });

  it('are numbered as their batches come, where another isolate answers too', async () => {
    const { isolate } = caller();
    const [one, other] = [isolate(), isolate()];
    await one.ask(1);
    await one.list();
    await one.ask(2);
    await other.ask(11);
    await other.ask(12);

    // The events of the first isolate are behind.
    expect(numbers(await other.list())).toEqual([
      [3, 12],
      [2, 11],
      [1, 1],
    ]);
    expect(numbers(await one.list())).toEqual([
      [4, 2],
      [3, 12],
      [2, 11],
      [1, 1],
    ]);
  });

  it('are of their own conversation', async () => {
    const { isolate } = caller();
    const { ask, list } = isolate();
    for (const id of ['c', 'd', 'c', 'd', 'd']) await ask(1, id);

    expect((await list('c')).data).toHaveLength(2);
    expect((await list('d')).data).toHaveLength(3);
  });

  it.each<[string, (app: ReturnType<typeof startApp>) => Promise<Response>]>([
    ['a flush', (app) => app.request('/v1/conversations/c/memory/flush', { method: 'POST' })],
    [
      'the end of the conversation',
      (app) =>
        app.request('/v1/conversations/c/end', {
          method: 'POST',
          body: JSON.stringify(body([user('Hello'), assistant('Hi'), user('And?')])),
        }),
    ],
    ['a list of conversations', (app) => app.request('/v1/conversations')],
    ['statistics', (app) => app.request('/v1/stats')],
  ])('are sent by %s', async (_, call) => {
    const { isolate, sizes } = caller();
    const { app, ask } = isolate();
    for (let n = 1; n <= 3; n++) await ask(n);
    const before = (await sizes()).flat().reduce((sum, count) => sum + count, 0);
    expect(before).toBeLessThan(3);

    await call(app);

    expect((await sizes()).reduce((sum, count) => sum + count)).toBe(3);
  });

  it.each(['/v1/conversations/c/memory', '/v1/memory'])('are gone after DELETE %s', async (path) => {
    const { isolate, sizes } = caller();
    const { app, ask, list } = isolate();
    for (let n = 1; n <= 3; n++) await ask(n);

    expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);

    expect(await sizes()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 1.5 * BATCH_MS));
    expect(await sizes()).toEqual([]);
    await ask(9);
    expect(numbers(await list())).toEqual([[1, 9]]);
  });
});

describe('where the object fails', () => {
  it('events wait for the next call, and are kept once', async () => {
    const { isolate } = caller();
    const { ask, list, objects } = isolate();
    objects.failing.add('keepRuns');
    await ask(1);
    await vi.waitUntil(() => objects.calls.includes('keepRuns'));
    await ask(2);
    objects.failing.clear();
    await vi.waitUntil(async () => (await list()).data?.length === 2, { timeout: 3 * BATCH_MS });

    expect(await list()).toMatchObject({ data: [{ messages: 2 }, { messages: 1 }], lost: 0 });
  });

  it('their conversation is told of those that were lost', async () => {
    onTestFinished(shorten({ eventBatchMs: 50, eventGiveUpMs: 75 }));
    const { isolate } = caller();
    const { ask, list, objects, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    objects.failing.add('keepRuns');
    await ask(2);
    await vi.waitUntil(() => keeps() === 3);
    await new Promise((resolve) => setTimeout(resolve, 200));
    objects.failing.clear();
    await ask(3);

    expect(await list()).toMatchObject({ data: [{ messages: 3 }, { messages: 1 }], lost: 1 });
  });
});

/** A request's bill, apart from what its conversation knows. */
const billing = (input: number, before: number, repeated: number): BillOrder => ({
  schedule: scheduleOf('gpt-4.1', utcTimeOf(new Date('2026-10-10'))) ?? null,
  calls: [{ input, cached: 0, cache_writes: 0, output: 100 }],
  isEdited: true,
  added: 0,
  tools: 0,
  view: { before, after: input, repeated },
  moved: true,
  summarizer: 0,
});

describe('the object', () => {
  const CAME = 1_700_000_000_000;

  /** Works with the events of an object that has a clock. */
  const inObject = <Found>(
    stub: DurableObjectStub<ConversationMemory>,
    work: (events: RunEvents, clock: { now: number }, sql: SqlStorage) => Found,
  ) =>
    runInDurableObject(stub, (_, { storage }) => {
      const clock = { now: CAME };
      return work(new RunEvents(new ConversationTables(storage), () => clock.now), clock, storage.sql);
    });

  it.each([
    ['knows', 1_000],
    ['has forgotten', 6 * 60_000],
  ])('keeps and bills a batch once that comes again, where it %s the sender', async (_, later) => {
    const { stub } = caller();
    const { count, sums } = await inObject(stub, (events, clock) => {
      const run = () => endedRun({}, { billing: billing(1_000, 1_000, 0) });
      const [one, other] = [outbox(), outbox()];
      one.add(run());
      // Kept, but its answer is lost, and its request is cut off.
      events.add(structuredClone(one.take(clock.now)));
      clock.now += 61_000;
      other.add(run());
      events.add(other.take(clock.now));
      clock.now += later;
      one.add(run());
      events.add(one.take(clock.now));
      return { count: events.page(null, 100).runs.length, sums: events.sums() };
    });
    expect(count).toBe(3);
    expect(sums.requests).toBe(3);
  });

  it('remembers the senders of the last seconds, however many there are', async () => {
    const { stub } = caller();
    const count = await inObject(stub, (events, clock) => {
      const all = Array.from({ length: 100 }, () => {
        const sender = outbox();
        sender.add(endedRun());
        return sender.take(clock.now);
      });
      for (const batches of [...all, ...all]) events.add(batches);
      return events.page(null, 1_000).runs.length;
    });
    expect(count).toBe(100);
  });

  it('keeps no old batch, which would bring a deleted conversation back', async () => {
    const { stub } = caller();
    const found = await inObject(stub, (events, clock) => {
      const sender = outbox();
      sender.add(endedRun({ created_at: CAME }));
      const batches = sender.take(clock.now);
      // Nothing says that the object was deleted, since it was evicted then.
      clock.now += 30_001;
      events.add(batches);
      return events.any();
    });
    expect(found).toBe(false);
  });

  it('bills the requests of a call in the order in which they came', async () => {
    const requests = [
      endedRun({ created_at: CAME }, { billing: billing(10_000, 10_000, 0) }),
      endedRun({ created_at: CAME + 1_000 }, { billing: billing(8_000, 60_000, 10_000) }),
      endedRun({ created_at: CAME + 1_500 }, { billing: billing(9_000, 65_000, 60_000) }),
    ];
    const sumsOf = (order: readonly number[], perBatch: number) =>
      inObject(caller().stub, (events, clock) => {
        const sender = outbox(`${keys}`);
        let batches: readonly RunBatch[] = [];
        for (const [at, index] of order.entries()) {
          sender.add(requests[index] ?? endedRun());
          if ((at + 1) % perBatch === 0) batches = sender.take(clock.now);
        }
        events.add(batches);
        return events.sums();
      });
    const expected = await sumsOf([0, 1, 2], 3);
    expect(expected.billed).toBe(3);
    expect(await sumsOf([0, 2, 1], 3)).toEqual(expected);
    expect(await sumsOf([2, 1, 0], 1)).toEqual(expected);
  });

  it('leaves tables of an earlier version as they are, where they cannot be converted', async () => {
    const { stub } = caller();
    const found = await inObject(stub, (events, _, sql) => {
      sql.exec(
        'CREATE TABLE run_events (n INTEGER PRIMARY KEY, run_key TEXT, event TEXT, edits TEXT, left_out TEXT)',
      );
      sql.exec("INSERT INTO run_events VALUES (1, 'key', 'no JSON', '[]', '[]')");
      expect(() => events.any()).toThrow();
      const names = () =>
        sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name LIKE '%run_events'").toArray();
      const before = names().map(({ name }) => name);
      const count = sql.exec("SELECT 1 FROM run_events WHERE run_key = 'key'").toArray().length;
      sql.exec('CREATE TABLE single_run_events (n INTEGER)');
      events.strip();
      return { before, count, after: names() };
    });
    expect(found).toEqual({ before: ['run_events'], count: 1, after: [] });
  });
});
