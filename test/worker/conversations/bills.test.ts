import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import type { Bill } from '../../../src/memory/money/bill-schema.ts';
import type { BillOrder } from '../../../src/memory/money/running-bill.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { KEPT_EVENTS, type NewRun } from '../../../src/storage/conversation/run-events.ts';
import { conversation, digest, newTenant, recordLog } from '../summaries/conversation-object.ts';

recordLog();

const schedule = scheduleOf('gpt-4.1', utcTimeOf(new Date('2026-10-10'))) ?? null;

const order: BillOrder = {
  schedule,
  calls: [{ input: 20_000, cached: 17_920, cache_writes: null, output: 500 }],
  isEdited: true,
  added: 0,
  tools: 0,
  view: { before: 40_000, after: 20_000, repeated: 38_000 },
  moved: false,
  summarizer: 0,
};

/** 2 080 × 2 000 + 17 920 × 500 + 500 × 8 000 nanodollars. */
const SENT = 17_120_000;
const WOULD_BE = 27_168_000;

function run(billing?: BillOrder, at = 1_000_000_000): NewRun {
  return {
    object: 'memory.request',
    request_id: null,
    created_at: at,
    protocol: 'chat',
    kind: 'answer',
    model: 'gpt-4.1',
    stream: false,
    mode: 'auto',
    source: 'request',
    observed: false,
    messages: 3,
    tokens: null,
    trigger: 'none',
    frontier: { unit: 0, moved: false },
    refused: [],
    edits: [],
    left_out: [],
    summary: null,
    injection_tokens: null,
    dropped_thinking_blocks: 0,
    kept_rounds: [],
    retrieval_rounds: 0,
    warnings: [],
    ms: { plan: null, store: null, summary: null, upstream: null, first_byte: null, total: null },
    usage: null,
    view_cached: null,
    placeholders: null,
    status: 200,
    ended: 'complete',
    captured: false,
    error: null,
    ...(billing ? { billing } : {}),
  };
}

const billed = (evicted: boolean) =>
  conversation(evicted, conversationName(newTenant(), undefined, { id: 'billed' }));

describe.each([
  { life: 'an object that stays awake', evicted: false },
  { life: 'an object that is evicted after each call', evicted: true },
])('in $life', ({ evicted }) => {
  it('a request is billed once, however often its event comes', async () => {
    const { call } = billed(evicted);
    for (const key of ['a', 'a', 'b']) await call((memory) => memory.keepRun(key, run(order)));
    const runs = await call((memory) => memory.listRuns(null, 10));
    expect(runs?.map(({ bill }) => bill?.net)).toEqual([WOULD_BE - SENT, WOULD_BE - SENT]);
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
      ...order,
      moved: true,
      calls: [{ input: 20_000, cached: 2_048, cache_writes: null, output: 500 }],
    };
    const late = { ...moved, calls: [{ input: 20_000, cached: 0, cache_writes: null, output: 500 }] };
    const MINUTE_MS = 60_000;
    const start = 1_000_000_000;
    await call((memory) => memory.keepRun('a', run(order, start)));
    await call((memory) => memory.keepRun('b', run(moved, start + MINUTE_MS)));
    await call((memory) => memory.keepRun('c', run(late, start + 90 * MINUTE_MS)));
    const runs = await call((memory) => memory.listRuns(null, 10));
    const [third, second, first] = (runs ?? []).map(({ bill }) => bill as Bill);
    expect(first?.unique?.tokens).toBe(20_000);
    // 20 000 is 156 × 128 and 32 more.
    expect(second?.debits.broken_cache).toBe((19_968 - 2_048) * 1_500);
    expect(second?.unique?.tokens).toBe(0);
    expect(third?.debits.broken_cache).toBe(0);
    expect(third?.would_be?.cached).toBe(0);
  });

  it('a text of the summarizer costs once, whether it came or failed', async () => {
    const { call, claimed } = billed(evicted);
    const first = await claimed(4);
    const made = { text: 'a summary', tokens: 3, ref: null, model: 'm', ms: 1, cost: 1_000 };
    const text = { ...made, transcript_from: '', transcript_earlier: null };
    await call((memory) => memory.complete(first.memoryId, first.lease, text));
    const second = await claimed(6);
    await call((memory) =>
      memory.fail(second.memoryId, second.lease, { error: 'timeout', cost: 500, digest: digest('d') }),
    );
    const { bills } = await call((memory) => memory.standing());
    expect(bills).toMatchObject({ summarizer: 1_500, unpriced: 0, requests: 0 });
  });

  it('the sums say that the price of a summary is not known', async () => {
    const { call, claimed } = billed(evicted);
    const { memoryId, lease } = await claimed(4);
    await call((memory) => memory.fail(memoryId, lease, { error: 'timeout', cost: null }));
    expect((await call((memory) => memory.standing())).bills).toMatchObject({ summarizer: 0, unpriced: 1 });
  });

  it('a deleted conversation has no sums, and a late cost does not bring it back', async () => {
    const { call, claimed, tables } = billed(evicted);
    const { memoryId, lease } = await claimed(4);
    await call((memory) => memory.keepRun('a', run(order)));
    await call((memory) => memory.leave());
    await call((memory) => memory.fail(memoryId, lease, { error: 'timeout', cost: 500 }));
    expect(await tables()).toEqual([]);
    expect((await call((memory) => memory.standing())).bills).toMatchObject({ requests: 0, summarizer: 0 });
  });
});

it('an event without an order has no bill, and is in no sum', async () => {
  const { call } = billed(false);
  await call((memory) => memory.keepRun('a', run()));
  expect(await call((memory) => memory.listRuns(null, 1))).toMatchObject([{ bill: null }]);
  expect((await call((memory) => memory.standing())).bills.requests).toBe(0);
});

it('the sums outlive the events', async () => {
  const { call } = billed(false);
  const more = 5;
  await call(async (memory) => {
    for (let n = 0; n < KEPT_EVENTS + more; n++) await memory.keepRun(`run ${n}`, run(order));
  });
  const oldest = await call((memory) => memory.findRun(more));
  expect(oldest).toEqual({ run: null, key: null });
  const { bills } = await call((memory) => memory.standing());
  expect(bills).toMatchObject({
    requests: KEPT_EVENTS + more,
    sent: { amount: (KEPT_EVENTS + more) * SENT },
  });
});
