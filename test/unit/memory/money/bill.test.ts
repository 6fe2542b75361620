import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import type { Schedule } from '../../../../src/memory/models/schedule.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import { type BilledRequest, billOf } from '../../../../src/memory/money/bill.ts';
import {
  type Bill,
  billSchema,
  billSumsSchema,
  type RunUsage,
} from '../../../../src/memory/money/bill-schema.ts';
import {
  billSumsJson,
  joinSums,
  NO_SUMS,
  summarizerSums,
  sumsOf,
} from '../../../../src/memory/money/bill-sums.ts';
import { forAll } from '../../../support/laws/runs.ts';

const DAY = '2026-10-10';
const MINUTE_MS = 60_000;

function of(model: string): Schedule {
  const schedule = scheduleOf(model, utcTimeOf(new Date(DAY)));
  if (!schedule) throw new Error(`${model} has no price`);
  return schedule;
}

/** GPT-4.1: 2 dollars fresh, 0.5 cached, 8 output. */
const plain: BilledRequest = {
  schedule: of('gpt-4.1'),
  calls: [{ input: 10_000, cached: 6_400, cache_writes: null, output: 500 }],
  isEdited: false,
  added: 0,
  tools: 0,
  view: null,
  moved: false,
  earlier: null,
  savedBefore: 0,
  summarizer: 0,
};

/** Of 40,000 tokens, 20,000 were sent; the previous request had 38,000 of them. */
const edited: BilledRequest = {
  ...plain,
  isEdited: true,
  calls: [{ input: 20_000, cached: 17_920, cache_writes: null, output: 500 }],
  view: { before: 40_000, after: 20_000, repeated: 38_000 },
  earlier: { ago: MINUTE_MS, input: 18_000 },
};

function billed(request: BilledRequest): Bill {
  const bill = billOf(request);
  if (!bill) throw new Error('no bill');
  return bill;
}

describe('the bill of a request', () => {
  it('prices what the upstream counted', () => {
    const { sent, actual } = billed(plain);
    // 3,600 × 2,000 + 6,400 × 500 + 500 × 8,000 nanodollars
    expect(sent).toEqual({ fresh: 3_600, cached: 6_400, written: 0, output: 500, amount: 14_400_000 });
    expect(actual).toBe(14_400_000);
  });

  it('prices the whole array with the hits that it would have had', () => {
    const { would_be, net, gross, debits } = billed(edited);
    // 38,000 is 296 × 128 and 112 more.
    const amount = 2_112 * 2_000 + 37_888 * 500 + 500 * 8_000;
    expect(would_be).toEqual({ fresh: 2_112, cached: 37_888, written: 0, output: 500, amount });
    const actual = 2_080 * 2_000 + 17_920 * 500 + 500 * 8_000;
    expect(net).toBe(amount - actual);
    expect(gross).toEqual({ tokens: 20_000, amount: 20_000 * 2_000 });
    expect(debits).toEqual({ summarizer: 0, fetch_rounds: 0, broken_cache: 0 });
  });

  it('corrects our count by what the upstream counted', () => {
    const { would_be } = billed({
      ...edited,
      view: { before: 20_000, after: 10_000, repeated: 19_000 },
    });
    expect(would_be?.fresh).toBe(2_112);
    expect(would_be?.cached).toBe(37_888);
  });

  it('has no hits that the vendor would have forgotten', () => {
    const cold = { input: 20_000, cached: 0, cache_writes: null, output: 500 };
    const late = { ago: 61 * MINUTE_MS, input: 18_000 };
    expect(billed({ ...edited, calls: [cold], earlier: late }).would_be?.cached).toBe(0);
    // A hit proves that it was not forgotten.
    expect(billed({ ...edited, earlier: late }).would_be?.cached).toBe(37_888);
    // So it was where the request before has asked for a longer time.
    const kept = { ...edited, calls: [cold], moved: true, earlier: { ...late, keptMs: 62 * MINUTE_MS } };
    expect(billed(kept)).toMatchObject({
      would_be: { cached: 37_888 },
      debits: { broken_cache: 17_920 * 1_500 },
    });
  });

  it('has no hits below the shortest prefix that is cached', () => {
    const view = { before: 2_000, after: 1_500, repeated: 1_023 };
    const calls = [{ input: 1_500, cached: 0, cache_writes: null, output: 1 }];
    expect(billed({ ...edited, view, calls }).would_be?.cached).toBe(0);
    const more = { ...view, repeated: 1_024 };
    expect(billed({ ...edited, view: more, calls }).would_be?.cached).toBe(1_024);
  });

  it('does not count our own tools and messages as the caller’s', () => {
    const bill = billed({ ...plain, added: 400, tools: 400 });
    expect(bill.would_be).toMatchObject({ fresh: 3_600, cached: 6_000 });
    expect(bill.net).toBe(-400 * 500);
    const first = billed({
      ...plain,
      added: 400,
      calls: [{ input: 900, cached: 0, cache_writes: null, output: 1 }],
    });
    expect(first.net).toBe(-400 * 2_000);
    // The view and the array are counted with Precis's tools, which are 500, and 300 more are sent.
    const view = { before: 40_500, after: 19_700, repeated: 38_500 };
    expect(billed({ ...edited, view, added: 800, tools: 500 }).would_be).toMatchObject({
      fresh: 2_112,
      cached: 37_888,
    });
  });

  it('charges what a move of the frontier makes the vendor read again', () => {
    const calls = [{ input: 20_000, cached: 2_048, cache_writes: null, output: 500 }];
    const { debits } = billed({ ...edited, calls, moved: true });
    // 18,000 is 140 × 128 and 80 more.
    expect(debits.broken_cache).toBe((17_920 - 2_048) * (2_000 - 500));
    expect(billed({ ...edited, calls, moved: false }).debits.broken_cache).toBe(0);
    // What the array is granted of a request that Precis has not seen is lost likewise.
    const first = billed({ ...edited, calls, moved: true, earlier: null });
    expect(first).toMatchObject({
      would_be: { cached: 37_888 },
      debits: { broken_cache: (20_000 - 2_048) * (2_000 - 500) },
    });
  });

  it('charges rounds of retrieval with their further inputs and earlier outputs', () => {
    const calls = [
      { input: 20_000, cached: 17_920, cache_writes: null, output: 40 },
      { input: 21_000, cached: 19_968, cache_writes: null, output: 500 },
    ];
    const { sent, debits, would_be } = billed({ ...edited, calls });
    expect(sent).toMatchObject({ fresh: 3_112, cached: 37_888, output: 540 });
    expect(debits.fetch_rounds).toBe(40 * 8_000 + 1_032 * 2_000 + 19_968 * 500);
    expect(would_be?.output).toBe(500);
  });

  it('charges the summarizer', () => {
    const { debits, actual, sent } = billed({ ...edited, summarizer: 560_000 });
    expect(debits.summarizer).toBe(560_000);
    expect(actual).toBe((sent?.amount ?? 0) + 560_000);
  });

  it('knows neither cost nor savings if the summarizer’s price is not known', () => {
    const { debits, actual, net, sent } = billed({ ...edited, summarizer: null });
    expect([debits.summarizer, actual, net]).toEqual([null, null, null]);
    expect(sent).not.toBeNull();
  });

  it('counts each removed token once as unique', () => {
    expect(billed({ ...edited, savedBefore: 20_000 }).unique).toEqual({ tokens: 0, amount: 0 });
    expect(billed({ ...edited, savedBefore: 15_000 }).unique).toEqual({ tokens: 5_000, amount: 10_000_000 });
    expect(billed({ ...edited, savedBefore: 25_000 }).unique).toEqual({ tokens: 0, amount: 0 });
  });

  it('prices writes of the vendor’s cache, then as now', () => {
    const bill = billed({
      ...edited,
      schedule: of('gpt-6.1-sol'),
      calls: [{ input: 20_000, cached: 18_000, cache_writes: 2_000, output: 0 }],
    });
    expect(bill.sent).toMatchObject({ fresh: 0, written: 2_000, amount: 2_000 * 2_500 + 18_000 * 100 });
    expect(bill.would_be).toMatchObject({ fresh: 0, cached: 38_000, written: 2_000 });
  });

  it('reads nothing from a cache that the caller has not asked for', () => {
    const calls = [{ input: 20_000, cached: 0, cache_writes: 0, output: 0 }];
    expect(billed({ ...edited, schedule: of('claude-opus-4-8'), calls }).would_be?.cached).toBe(0);
  });

  it('is not known without a price', () => {
    expect(billOf({ ...edited, schedule: null })).toBeNull();
  });

  const nothing = { input: null, cached: null, cache_writes: null, output: null };
  const known = { input: 9_000, cached: 0, cache_writes: 0, output: 9 };
  it.each<[string, (RunUsage | null)[]]>([
    ['no usage is reported', [null]],
    ['usage says nothing', [nothing]],
    ['one of two calls reports none', [known, null]],
    ['no call was made', []],
    ['cached input is not reported', [{ ...known, cached: null }]],
    ['usage contradicts itself', [{ ...known, cached: 9_001 }]],
  ])('has only nulls if %s', (_, calls) => {
    const { unit, family, debits, ...rest } = billed({ ...edited, calls });
    expect(Object.values(rest)).toEqual(Object.values(rest).map(() => null));
    expect(debits).toEqual({ summarizer: 0, fetch_rounds: null, broken_cache: null });
  });

  it('needs no count of cached input where it has no price of its own', () => {
    const calls = [{ input: 1_000, cached: null, cache_writes: null, output: 1 }];
    expect(billed({ ...plain, schedule: of('gpt-4'), calls }).sent?.amount).toBe(1_000 * 30_000 + 60_000);
  });

  it('does not know what would have been if an edited request was not counted', () => {
    const { would_be, net, gross, unique, actual } = billed({ ...edited, view: null });
    expect([would_be, net, gross, unique]).toEqual([null, null, null, null]);
    expect(actual).not.toBeNull();
  });
});

const tokens = fc.integer({ min: 0, max: 400_000 });
const arbitraryCall = fc
  .record({ input: tokens, read: fc.nat(100), wrote: fc.nat(100), output: fc.nat(50_000) })
  .map(({ input, read, wrote, output }) => {
    const cached = Math.floor((input * read) / 100);
    return { input, cached, cache_writes: Math.floor(((input - cached) * wrote) / 100), output };
  });
const arbitraryRequest: fc.Arbitrary<BilledRequest> = fc
  .record({
    schedule: fc
      .constantFrom('gpt-4.1', 'gpt-5.4', 'gpt-6.1-sol', 'claude-opus-4-8', 'gemini-2.5-pro', 'gpt-4')
      .map(of),
    // Each round of retrieval appends to the prompt.
    calls: fc
      .array(arbitraryCall, { minLength: 1, maxLength: 4 })
      .map((calls) => calls.toSorted((a, b) => a.input - b.input)),
    isEdited: fc.boolean(),
    tools: fc.nat(500),
    messages: fc.nat(900),
    after: fc.integer({ min: 1, max: 400_000 }),
    removed: tokens,
    repeatedShare: fc.double({ min: 0, max: 1, noNaN: true }),
    moved: fc.boolean(),
    earlier: fc.option(fc.record({ ago: fc.nat(3 * 3_600_000), input: tokens })),
    savedBefore: tokens,
    summarizer: fc.nat(1_000_000_000),
  })
  .map(({ after, removed, repeatedShare, messages, ...rest }) => ({
    ...rest,
    added: rest.tools + messages,
    view: {
      before: after + removed,
      after,
      repeated: Math.floor((after + removed) * repeatedShare),
    },
  }));

describe('all bills', () => {
  it('have the shape that is stored', () => {
    forAll(arbitraryRequest, (request) => {
      const bill = billed(request);
      expect(billSchema.parse(JSON.parse(JSON.stringify(bill)))).toEqual(bill);
    });
  });

  it('have a net saving of what would have been less what was', () => {
    forAll(arbitraryRequest, (request) => {
      const { sent, would_be, actual, net, debits } = billed(request);
      expect(actual).toBe((sent?.amount ?? 0) + (debits.summarizer ?? 0));
      expect(net).toBe((would_be?.amount ?? 0) - (actual ?? 0));
    });
  });

  it('count every token once', () => {
    forAll(arbitraryRequest, (request) => {
      const { sent } = billed(request);
      const sum = (kind: 'input' | 'output') =>
        request.calls.reduce((all, call) => all + (call?.[kind] ?? 0), 0);
      expect((sent?.fresh ?? 0) + (sent?.cached ?? 0) + (sent?.written ?? 0)).toBe(sum('input'));
      expect(sent?.output).toBe(sum('output'));
    });
  });

  it('save exactly nothing if the body was sent unchanged', () => {
    forAll(arbitraryRequest, (request) => {
      const [call] = request.calls;
      const untouched = {
        ...request,
        isEdited: false,
        added: 0,
        moved: false,
        summarizer: 0,
        calls: [call ?? null],
      };
      const { net, gross, unique, debits } = billed(untouched);
      expect([net, gross, unique]).toEqual([0, { tokens: 0, amount: 0 }, { tokens: 0, amount: 0 }]);
      expect(debits).toEqual({ summarizer: 0, fetch_rounds: 0, broken_cache: 0 });
    });
  });

  it('claim nothing of the vendor’s cache: without a removed token nothing is saved', () => {
    forAll(arbitraryRequest, (request) => {
      const after = request.view?.before ?? 0;
      const whole = { ...request, isEdited: true, view: { before: after, after, repeated: after } };
      expect(billed(whole).net).toBeLessThanOrEqual(0);
    });
  });

  it('save no more than the removed tokens cost at the highest price of input', () => {
    forAll(arbitraryRequest, (request) => {
      const schedule = of('gpt-4.1');
      const { net, gross } = billed({ ...request, schedule, isEdited: true });
      expect(net).toBeLessThanOrEqual(Math.max(0, gross?.amount ?? 0) + 1);
    });
  });

  it('have debits that are parts of what was spent', () => {
    forAll(arbitraryRequest, (request) => {
      const { sent, debits } = billed(request);
      expect(debits.fetch_rounds).toBeLessThanOrEqual(sent?.amount ?? 0);
      expect(debits.broken_cache).toBeLessThanOrEqual(sent?.amount ?? 0);
    });
  });

  it('know nothing of what depends on a usage that is not known', () => {
    const member = fc.constantFrom<keyof RunUsage>('input', 'output');
    forAll(arbitraryRequest, fc.nat(3), member, (request, at, kind) => {
      const calls = request.calls.map((call, index) =>
        call && index === at % request.calls.length ? { ...call, [kind]: null } : call,
      );
      const { sent, would_be, actual, net, gross, unique } = billed({ ...request, calls });
      expect([sent, would_be, actual, net, gross, unique]).toEqual(Array(6).fill(null));
    });
  });
});

describe('sums of bills', () => {
  it('are the same in whatever order and grouping they are made', () => {
    forAll(fc.array(arbitraryRequest, { maxLength: 8 }), fc.nat(8), (requests, at) => {
      const sums = requests.map((request) => sumsOf(billOf(request)));
      const all = sums.reduce(joinSums, NO_SUMS);
      const halves = [sums.slice(0, at), sums.slice(at)].map((half) => half.reduce(joinSums, NO_SUMS));
      expect(halves.reduce(joinSums, NO_SUMS)).toEqual(all);
      expect(sums.toReversed().reduce(joinSums, NO_SUMS)).toEqual(all);
      expect(billSumsSchema.parse(all)).toEqual(all);
    });
  });

  it('add up the bills, and their net what they would have been', () => {
    forAll(fc.array(arbitraryRequest, { minLength: 1, maxLength: 8 }), (requests) => {
      const bills = requests.map(billed);
      const sum = (of: (bill: Bill) => number | null | undefined) =>
        bills.reduce((all, bill) => all + (of(bill) ?? Number.NaN), 0);
      const sums = bills.map(sumsOf).reduce(joinSums, NO_SUMS);
      const sent = sum(({ sent }) => sent?.amount);
      expect(billSumsJson(joinSums(sums, summarizerSums(1_000)))).toMatchObject({
        requests: bills.length,
        billed: bills.length,
        actual: sent + 1_000,
        net: sum(({ would_be }) => would_be?.amount) - sent - 1_000,
        debits: { summarizer: 1_000 },
        gross: { tokens: sum(({ gross }) => gross?.tokens) },
        unique: { tokens: sum(({ unique }) => unique?.tokens) },
      });
    });
  });

  it('say how many requests they know nothing of', () => {
    const sums = [billOf(plain), null, billOf({ ...plain, calls: [null] })].map(sumsOf);
    const all = sums.reduce(joinSums, NO_SUMS);
    expect(all).toMatchObject({ requests: 3, billed: 1, sent: { amount: 14_400_000 } });
  });

  it('are null where nothing is known', () => {
    const none = { sent: null, would_be: null, actual: null, net: null, gross: null, unique: null };
    expect(billSumsJson(NO_SUMS)).toMatchObject({ requests: 0, billed: 0, ...none });
    expect(billSumsJson(sumsOf(null))).toMatchObject({ requests: 1, billed: 0, ...none });
    const unpriced = joinSums(sumsOf(billOf(plain)), summarizerSums(null));
    expect(billSumsJson(unpriced)).toMatchObject({ actual: null, net: null, debits: { summarizer: null } });
  });
});
