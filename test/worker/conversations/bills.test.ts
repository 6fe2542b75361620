import { describe, expect, it } from 'vitest';
import type { BillOrder } from '../../../src/memory/money/bill.ts';
import type { Bill } from '../../../src/memory/money/bill-schema.ts';
import type { OwnChange } from '../../../src/memory/replay/change.ts';
import type { WrittenText } from '../../../src/storage/conversation/memories.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { KEPT_EVENTS } from '../../../src/storage/conversation/run-events.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { BILL_ORDER, batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import {
  conversation,
  LATER,
  newTenant,
  recordLog,
  request,
  writing,
  written,
} from '../summaries/conversation-object.ts';

recordLog();

/** 2,080 × 2,000 + 17,920 × 500 + 500 × 8,000 nanodollars. */
const SENT = 17_120_000;
const WOULD_BE = 27_168_000;

const run = (billing?: BillOrder, at = 1_000_000_000) =>
  batchOf(endedRun({ created_at: at, mode: 'auto', messages: 3 }, billing ? { billing } : {}));

const billed = (evicted: boolean) =>
  conversation(evicted, conversationName(newTenant(), undefined, { id: 'billed' }));

describe.each([
  { life: 'an object that stays awake', evicted: false },
  { life: 'an object that is evicted after each call', evicted: true },
])('in $life', ({ evicted }) => {
  it('a request is billed once, however often its event comes', async () => {
    const { call } = billed(evicted);
    const first = run(BILL_ORDER);
    for (const batch of [first, first, run(BILL_ORDER)]) await call((memory) => memory.events.add(batch));
    const page = await call((memory) => memory.events.page(null, 10));
    expect(page?.map(({ bill }) => bill?.net)).toEqual([WOULD_BE - SENT, WOULD_BE - SENT]);
    const { bills } = await call((memory) => memory.standing());
    expect(bills).toMatchObject({
      requests: 2,
      billed: 2,
      sent: { amount: 2 * SENT },
      would_be: { amount: 2 * WOULD_BE },
      unique: { tokens: 20_000 },
      gross: { tokens: 40_000 },
    });
  });

  it('a bill knows the request before it', async () => {
    const { call } = billed(evicted);
    const moved = {
      ...BILL_ORDER,
      moved: true,
      calls: [{ input: 20_000, cached: 2_048, cache_writes: null, output: 500 }],
    };
    const late = { ...moved, calls: [{ input: 20_000, cached: 0, cache_writes: null, output: 500 }] };
    const MINUTE_MS = 60_000;
    const start = 1_000_000_000;
    await call((memory) => memory.events.add(run(BILL_ORDER, start)));
    await call((memory) => memory.events.add(run(moved, start + MINUTE_MS)));
    await call((memory) => memory.events.add(run(late, start + 90 * MINUTE_MS)));
    const page = await call((memory) => memory.events.page(null, 10));
    const [third, second, first] = (page ?? []).map(({ bill }) => bill as Bill);
    expect(first?.unique?.tokens).toBe(20_000);
    // 20,000 is 156 × 128 and 32 more.
    expect(second?.debits.broken_cache).toBe((19_968 - 2_048) * 1_500);
    expect(second?.unique?.tokens).toBe(0);
    expect(third?.debits.broken_cache).toBe(0);
    expect(third?.would_be?.cached).toBe(0);
  });

  it('a cache is broken where what was sent before has changed, whatever moved the frontier', async () => {
    const { call } = billed(evicted);
    const settings = { tools: '', effort: '', format: '', user: '', key: '', own: '' };
    const prefix = { model: 'gpt-4.1', ...settings, messages: 'abc' };
    const ended = (at: number, moved: boolean, edits: string, own?: OwnChange) => {
      const calls = [{ input: 20_000, cached: 2_048, cache_writes: null, output: 500 }];
      const edited = [{ messages: 3, edits, rounds: '' }];
      const compared = { prefix, edited, ready: at, isFar: false, ...(own && { own }) };
      const billing = { ...BILL_ORDER, moved, calls };
      return batchOf(endedRun({ created_at: at, mode: 'auto' }, { billing, compared }));
    };
    const start = 1_000_000_000;
    await call((memory) => memory.events.add(ended(start, false, 'one')));
    // A move of messages that were never sent, and then another strategy.
    await call((memory) => memory.events.add(ended(start + 1_000, true, 'one')));
    await call((memory) => memory.events.add(ended(start + 2_000, false, 'other')));
    // Rounds that were sent in the course of the last answer.
    await call((memory) => memory.events.add(ended(start + 3_000, true, 'other', { cause: 'rounds' })));
    const page = (await call((memory) => memory.events.page(null, 10))) ?? [];
    const lost = page.map(({ bill, cache_miss }) => [bill?.debits.broken_cache, cache_miss?.cause]);
    expect(lost).toEqual([
      [(19_968 - 2_048) * 1_500, 'vendor'],
      [(19_968 - 2_048) * 1_500, 'move'],
      [0, 'vendor'],
      [0, undefined],
    ]);
  });

  it('requests that come together cost what they cost one by one', async () => {
    const orders = [0, 1, 2, 3, 4, 5].map((n) => ({
      ...BILL_ORDER,
      moved: n === 3,
      calls: [{ input: 20_000 + n, cached: n === 4 ? 0 : 17_920, cache_writes: null, output: 500 }],
    }));
    const runs = orders.map((one, n) =>
      endedRun({ created_at: 1_000_000_000 + n * 1_000 }, { billing: one }),
    );
    const [together, apart] = [billed(evicted), billed(evicted)];
    for (const one of runs) await apart.call((memory) => memory.events.add(batchOf(one)));
    for (const part of [runs.slice(0, 2), runs.slice(2, 3), runs.slice(3)]) {
      const batch = batchOf(...part);
      // The answer of the first call is lost, so it is repeated.
      await together.call((memory) => memory.events.add(batch));
      await together.call((memory) => memory.events.add(batch));
    }
    const standingOf = ({ call }: typeof apart) => call((memory) => memory.standing());
    expect((await standingOf(together)).bills).toEqual((await standingOf(apart)).bills);
    expect((await standingOf(apart)).bills).toMatchObject({ requests: 6, billed: 6 });
    const listOf = ({ call }: typeof apart) => call((memory) => memory.events.page(null, 10));
    expect(await listOf(together)).toEqual(await listOf(apart));
  });

  it('a text of the summarizer costs once, whether it came or failed', async () => {
    const { call } = billed(evicted);
    const order = (end: number, cost: number | null, text?: string) =>
      call((memory) => memory.text(request(end), costing(cost, text), 10_000));
    await order(4, 1_000, 'a summary');
    await order(4, 1_000, 'made twice');
    await order(6, 500);
    const { bills } = await call((memory) => memory.standing());
    expect(bills).toMatchObject({ summarizer: 1_500, unpriced: 0, requests: 0 });
  });

  it('the digest of an output costs once, whether it came or failed', async () => {
    const { call } = billed(evicted);
    const orders = [
      { key: 'came', material: costing(1_000, 'words') },
      { key: 'failed', material: costing(500) },
      { key: 'shown', material: null },
    ];
    for (let time = 0; time < 2; time++)
      await call((memory) => memory.outputDigests.make(orders, 10_000, LATER));
    expect((await call((memory) => memory.standing())).bills).toMatchObject({ summarizer: 1_500 });
  });

  it('the sums say that the price of a summary is not known', async () => {
    const { call } = billed(evicted);
    await call((memory) => memory.text(request(4), costing(null), 10_000));
    expect((await call((memory) => memory.standing())).bills).toMatchObject({ summarizer: 0, unpriced: 1 });
  });
});

it('a deleted conversation has no sums, and a late cost does not bring it back', async () => {
  const { call, tables } = billed(false);
  await call(async (memory) => {
    const outcome = Promise.withResolvers<WrittenText>();
    await memory.text(
      request(4),
      writing(() => outcome.promise),
      0,
    );
    await memory.events.add(run(BILL_ORDER));
    await memory.leave();
    outcome.resolve({ made: { ok: true, value: written('late') }, usage: { ...NO_USAGE, cost: 500 } });
    await memory.idle(10_000);
  });
  expect(await tables()).toEqual([]);
  expect((await call((memory) => memory.standing())).bills).toMatchObject({ requests: 0, summarizer: 0 });
});

/** Material of a text that costs something. @param text absent: it fails */
const costing = (cost: number | null, text?: string) =>
  writing(async () => ({
    made:
      text === undefined ? { ok: false, reason: { error: 'timeout' } } : { ok: true, value: written(text) },
    usage: { ...NO_USAGE, cost },
  }));

it('an event without an order has no bill, and is in no sum', async () => {
  const { call } = billed(false);
  await call((memory) => memory.events.add(run()));
  expect(await call((memory) => memory.events.page(null, 1))).toMatchObject([{ bill: null }]);
  expect((await call((memory) => memory.standing())).bills.requests).toBe(0);
});

it('the sums outlive the events', async () => {
  const { call } = billed(false);
  const more = 5;
  await call(async (memory) => {
    for (let n = 0; n < KEPT_EVENTS + more; n++) await memory.events.add(run(BILL_ORDER));
  });
  const oldest = await call((memory) => memory.events.find(more));
  expect(oldest).toBeUndefined();
  const { bills } = await call((memory) => memory.standing());
  expect(bills).toMatchObject({
    requests: KEPT_EVENTS + more,
    sent: { amount: (KEPT_EVENTS + more) * SENT },
  });
});
