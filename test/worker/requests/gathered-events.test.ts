/** Events of requests on their way to their conversation, and what it keeps of them. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import { utcTimeOf } from '../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import type { BillOrder } from '../../../src/memory/money/bill.ts';
import type { BillSums } from '../../../src/memory/money/bill-schema.ts';
import { NO_SUMS } from '../../../src/memory/money/bill-sums.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';

import { RunEvents } from '../../../src/storage/conversation/run-events.ts';
import { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, user } from '../../support/conversations/chat.ts';
import { batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import { forAllAsync, runs } from '../../support/laws/runs.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, startApp, watchedBucket, watchedObjects } from '../support.ts';

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 512 },
};

beforeEach(() => {
  quiet();
  // A call ends when its test says so, and not since many requests took long.
  shorten({ keepEventMs: 60_000, eventPauseMs: 0, keptEventsMs: 60_000 });
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
    const keeps = () => objects.calls.filter((call) => call === 'events.add').length;
    /** Asks once, and is back while the event of that is on its way. @returns its end */
    const asks = async (messages: number) => {
      const { promise, resolve: arrives, reject } = Promise.withResolvers<void>();
      const before = keeps();
      objects.gates.set('events.add', promise);
      await ask(messages);
      await expect.poll(keeps).toBeGreaterThan(before);
      objects.gates.clear();
      return { arrives, fails: () => reject(new Error('the object is down')) };
    };
    return { app, objects, ask, asks, list, keeps };
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

describe('requests of a conversation while events of others are on their way', () => {
  it('cost one call and one row together, and can be read at once, with exact bills', async () => {
    const { isolate, sizes } = caller();
    const { ask, asks, list, keeps } = isolate();
    const { fails } = await asks(1);
    for (let n = 2; n <= 5; n++) await ask(n);
    expect(await sizes()).toEqual([]);

    fails();
    const page = await list();

    expect(numbers(page)).toEqual([
      [5, 5],
      [4, 4],
      [3, 3],
      [2, 2],
      [1, 1],
    ]);
    expect(page).toMatchObject({ behind_ms: 0, lost: 0 });
    const amounts = page.data.map(({ bill }) => bill?.sent?.amount ?? Number.NaN);
    // 488 × 2,000 + 512 × 500 + 10 × 8,000 nanodollars.
    expect(amounts).toEqual(Array(5).fill(1_312_000));
    expect(page.bill).toMatchObject({ requests: 5, billed: 5, sent: { amount: 5 * 1_312_000 } });
    expect(await sizes()).toEqual([1, 4]);
    // The first call was made twice.
    expect(keeps()).toBe(3);
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
  ])('are waited for by %s', async (_, call) => {
    const { isolate, sizes } = caller();
    const { app, ask, asks } = isolate();
    const { arrives } = await asks(1);
    for (let n = 2; n <= 3; n++) await ask(n);
    expect(await sizes()).toEqual([]);

    const answered = vi.fn();
    const called = call(app).then(answered);
    await scheduler.wait(100);
    expect(answered).not.toHaveBeenCalled();
    arrives();
    await called;

    expect(await sizes()).toEqual([1, 2]);
  });

  it.each(['/v1/conversations/c/memory', '/v1/memory'])('are gone after DELETE %s', async (path) => {
    const { isolate, sizes } = caller();
    const { app, ask, asks, list } = isolate();
    await ask(1);
    await list();
    expect(await sizes()).toEqual([1]);
    // The call hangs, and is given up while its conversation is being deleted.
    shorten({ keepEventMs: 1_000 });
    await asks(2);
    for (let n = 3; n <= 4; n++) await ask(n);

    expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);

    expect(await sizes()).toEqual([]);
    await list();
    expect(await sizes()).toEqual([]);
    await ask(9);
    expect(numbers(await list())).toEqual([[1, 9]]);
  });
});

describe('where the object fails', () => {
  it('events go with the second try, and are kept once', async () => {
    const { isolate, sizes } = caller();
    const { ask, asks, list } = isolate();
    const { fails } = await asks(1);
    await ask(2);
    fails();

    expect(await list()).toMatchObject({ data: [{ messages: 2 }, { messages: 1 }], lost: 0 });
    expect(await sizes()).toEqual([1, 1]);
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
      return work(
        new RunEvents(new ConversationTables(storage, () => clock.now), vi.fn()),
        clock,
        storage.sql,
      );
    });

  it('keeps and bills each event once, however its batches come, and whatever fails', async () => {
    const run = (at: number) =>
      endedRun({ created_at: CAME + at, messages: at + 1 }, { billing: billing(1_000, 1_000, 0) });
    const batches = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 });
    /**
     * Which batch comes, how long after the one before, whether its transaction fails, and whether
     * the object begins a new life before it.
     */
    const call = { batch: fc.nat(11), after: fc.nat(1_000), fails: fc.boolean(), restarts: fc.boolean() };
    const calls = fc.array(fc.record(call), { maxLength: 40 });
    await forAllAsync(runs(20, 60), batches, calls, async (sizes, steps) => {
      let events = 0;
      const all = sizes.map((size) => batchOf(...Array.from({ length: size }, () => run(events++))));
      const kept = new Set<number>();
      const found = await runInDurableObject(caller().stub, (_, { storage }) => {
        let now = CAME + 60_000;
        let isBroken = false;
        const exec = (query: string, ...values: unknown[]) => {
          // The last statement but one, after bills and parts.
          if (isBroken && query.startsWith('INSERT INTO run_events')) throw new Error('the disk is full');
          return storage.sql.exec(query, ...values);
        };
        const sql = { exec } as unknown as SqlStorage;
        const transactionSync: DurableObjectStorage['transactionSync'] = (work) =>
          storage.transactionSync(work);
        const begin = () =>
          new RunEvents(new ConversationTables({ sql, transactionSync }, () => now), vi.fn());
        let object = begin();
        for (const { batch, after, fails, restarts } of steps) {
          if (restarts) object = begin();
          const at = batch % all.length;
          const one = all[at];
          if (!one) continue;
          now += after;
          isBroken = fails;
          // Half of what fails has been kept: its answer is lost.
          const isLost = fails && batch % 2 === 0;
          if (isLost) isBroken = false;
          if (isBroken && !kept.has(at)) expect(() => object.add(structuredClone(one))).toThrow();
          else object.add(structuredClone(one));
          if (!isBroken) kept.add(at);
        }
        isBroken = false;
        return { page: object.page(null, 1_000), sums: object.sums(), days: object.days() };
      });
      const runs = all.flatMap((batch, at) => (kept.has(at) ? batch.runs : []));
      const messages = runs.map(({ event }) => JSON.parse(event).messages as number);
      expect(found.page.map((one) => one.messages).toSorted((a, b) => a - b)).toEqual(messages);
      expect(found.page.map(({ n }) => n)).toEqual(messages.map((_, at) => messages.length - at));
      expect(found.sums).toMatchObject({ requests: messages.length, billed: messages.length });
      const net = found.page.reduce((sum, { bill }) => sum + (bill?.sent?.amount ?? Number.NaN), 0);
      expect(found.sums.sent.amount).toBe(net);
      const requests = Object.values(found.days).reduce((sum, day) => sum + day.requests, 0);
      expect(requests).toBe(messages.length);
    });
  });

  it('bills and numbers the requests of a call in the order in which they came', async () => {
    const requests = [
      endedRun({ created_at: CAME, messages: 1 }, { billing: billing(10_000, 10_000, 0) }),
      endedRun({ created_at: CAME + 1_000, messages: 2 }, { billing: billing(8_000, 60_000, 10_000) }),
      endedRun({ created_at: CAME + 1_500, messages: 3 }, { billing: billing(9_000, 65_000, 60_000) }),
    ];
    const keptOf = (...order: readonly number[]) =>
      inObject(caller().stub, (events) => {
        events.add(batchOf(...order.map((index) => requests[index] ?? endedRun())));
        return { sums: events.sums(), order: events.page(null, 3).map(({ messages }) => messages) };
      });
    const expected = await keptOf(0, 1, 2);
    expect(expected).toMatchObject({ sums: { billed: 3 }, order: [3, 2, 1] });
    expect(await keptOf(0, 2, 1)).toEqual(expected);
    expect(await keptOf(2, 1, 0)).toEqual(expected);
  });

  it('continues with rows that 0.9 has written', async () => {
    const { stub } = caller();
    const found = await inObject(stub, (events, _, sql) => {
      sql.exec(`
        CREATE TABLE run_events (first_n INTEGER PRIMARY KEY, tally TEXT NOT NULL, events TEXT NOT NULL);
        CREATE TABLE run_parts (part_hash TEXT PRIMARY KEY, last_n INTEGER NOT NULL, entries TEXT NOT NULL);
      `);
      const { edits, left_out, ...event } = endedRun({ messages: 7 }).event;
      const stored = { event, bill: null, potential_bill: null, capture: null, edits, left_out };
      const senders = { 'an isolate': { next: 3, at: CAME } };
      const tally = {
        next: 3,
        sums: { ...NO_SUMS, requests: 2 },
        days: {},
        standing: null,
        lost: 1,
        senders,
      };
      sql.exec(
        'INSERT INTO run_events VALUES (?, ?, ?)',
        1,
        JSON.stringify(tally),
        JSON.stringify([stored, stored]),
      );
      const batch = batchOf(endedRun({ messages: 8 }, { billing: billing(1_000, 1_000, 0) }));
      for (const one of [batch, batch]) events.add(one);
      const newest = sql
        .exec<{ tally: string }>('SELECT tally FROM run_events ORDER BY first_n DESC LIMIT 1')
        .one();
      return {
        runs: events.page(null, 10).map(({ n, messages }) => [n, messages]),
        requests: events.sums().requests,
        tally: Object.keys(JSON.parse(newest.tally)),
      };
    });
    expect(found).toEqual({
      runs: [
        [3, 8],
        [2, 7],
        [1, 7],
      ],
      requests: 3,
      tally: ['next', 'sums', 'days', 'standing'],
    });
  });

  it('drops tables of 0.7 and earlier', async () => {
    const { stub } = caller();
    const found = await inObject(stub, (events, _, sql) => {
      sql.exec(`
        CREATE TABLE run_events (n INTEGER PRIMARY KEY, run_key TEXT, event TEXT, edits TEXT, left_out TEXT);
        CREATE TABLE run_parts (part_hash TEXT PRIMARY KEY, last_n INTEGER NOT NULL, entries TEXT NOT NULL);
        INSERT INTO run_events VALUES (1, 'key', '{}', '[]', '[]');
      `);
      const any = events.tables.any();
      events.add(batchOf(endedRun({ messages: 8 })));
      return { any, runs: events.page(null, 10).map(({ n, messages }) => [n, messages]) };
    });
    expect(found).toEqual({ any: false, runs: [[1, 8]] });
  });
});
