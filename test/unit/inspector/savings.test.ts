import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListedRun } from '../../../inspector/api/answers.ts';
import { paybackTag } from '../../../inspector/parts/payback.ts';
import { amountsOf } from '../../../inspector/read/money.ts';
import { comparedWith, paybacksOf, summariesApart, waterfallOf } from '../../../inspector/read/savings.ts';
import { type BillOrder, nextBill } from '../../../src/memory/money/bill.ts';
import { billSumsJson, joinSums, summarizerSums, sumsOf } from '../../../src/memory/money/bill-sums.ts';
import { BILL_ORDER } from '../../support/conversations/ended-runs.ts';
import { forAll } from '../../support/laws/runs.ts';

/** Orders of requests of any conversation: with moves, rounds of fetching, and summaries. */
const orders = fc.array(
  fc
    .record({
      input: fc.integer({ min: 1, max: 400_000 }),
      cachedShare: fc.double({ min: 0, max: 1, noNaN: true }),
      output: fc.integer({ min: 0, max: 5_000 }),
      rounds: fc.integer({ min: 0, max: 3 }),
      before: fc.integer({ min: 1, max: 900_000 }),
      moved: fc.boolean(),
      summarizer: fc.integer({ min: 0, max: 90_000_000 }),
    })
    .map(
      ({ input, cachedShare, output, rounds, before, moved, summarizer }): BillOrder => ({
        ...BILL_ORDER,
        calls: Array.from({ length: rounds + 1 }, () => ({
          input,
          cached: Math.floor(input * cachedShare),
          cache_writes: null,
          output,
        })),
        view: { before: Math.max(before, input), after: input, repeated: Math.floor(before / 2) },
        moved,
        summarizer,
      }),
    ),
  { minLength: 1, maxLength: 12 },
);

const MINUTE = 60_000;

/** The events of requests with these bills, as a list has them. */
function billedRuns(all: readonly BillOrder[]): ListedRun[] {
  let standing: Parameters<typeof nextBill>[0] = null;
  return all.map((order, at) => {
    const next = nextBill(standing, order, at * MINUTE);
    ({ standing } = next);
    const frontier = { unit: at, moved: order.moved };
    return { n: at + 1, bill: next.bill, frontier, observed: false, summary: null } as unknown as ListedRun;
  });
}

describe('the same array again', () => {
  it('is not said to be paid back or not, since it removes nothing more', () => {
    const move: BillOrder = {
      ...BILL_ORDER,
      calls: [{ input: 2_000, cached: 0, cache_writes: null, output: 10 }],
      view: { before: 20_000, after: 2_000, repeated: 0 },
      moved: true,
      summarizer: 24_000,
    };
    const [first, ...again] = [...paybacksOf(billedRuns([move, move, move])).values()].map(paybackTag);
    expect(first).toMatch(/: paid back at request 1$/);
    expect(again).not.toEqual([]);
    for (const words of again) expect(words).toMatch(/: nothing more was removed$/);
  });
});

describe('a waterfall', () => {
  it('goes from what the array would have cost to what was paid, and leaves no gap', () => {
    forAll(orders, (all) => {
      for (const run of billedRuns(all)) {
        const steps = waterfallOf(amountsOf(run)) ?? [];
        const [first, ...rest] = steps;
        const paid = rest.pop();
        expect(first?.amount).toBe(run.bill?.would_be?.amount);
        expect(paid?.amount).toBe(run.bill?.actual);
        expect(rest.map(({ term }) => term)).toEqual(['removed', 'summarizer', 'fetches', 'broken_cache']);
        let level = first?.to;
        for (const { from, to, amount } of rest) {
          expect(from).toBe(level);
          expect(to).toBe(from + amount);
          level = to;
        }
        expect(level).toBe(paid?.to);
        expect(rest[0]?.amount).toBe(0 - Number(run.bill?.net) - debitsOf(run));
      }
    });
  });

  it('adds up for the sums of a conversation, with the summaries that no request waited for', () => {
    forAll(orders, fc.integer({ min: 0, max: 1e9 }), (all, spent) => {
      const runs = billedRuns(all);
      const sums = runs.map(({ bill }) => sumsOf(bill)).reduce(joinSums);
      const bill = billSumsJson(joinSums(sums, summarizerSums(spent)));
      const steps = waterfallOf(amountsOf({ bill })) ?? [];
      const changes = steps.filter(({ isSum }) => !isSum).reduce((sum, { amount }) => sum + amount, 0);

      expect(Number(bill.would_be?.amount) + changes).toBe(bill.actual);
      expect(steps.find(({ term }) => term === 'summarizer')?.amount).toBe(spent);
    });
  });

  it('differs from the sum of the requests by the summaries that no request waited for', () => {
    forAll(orders, fc.integer({ min: 1, max: 1e9 }), (all, price) => {
      const runs = billedRuns(all);
      const own = runs.reduce((sum, { bill }) => sum + Number(bill?.debits.summarizer), 0);
      const sums = runs.map(({ bill }) => sumsOf(bill)).reduce(joinSums);
      const sumsWith = (spent: number) =>
        amountsOf({ bill: billSumsJson(joinSums(sums, summarizerSums(spent))) });
      const net = sumsWith(own + price)?.net;

      expect(summariesApart(sumsWith(own + price), runs)).toEqual({ price, net });
      expect(summariesApart(sumsWith(own), runs)).toBeUndefined();
      // Sums of other requests are no sums of these.
      const [first, ...rest] = runs;
      const bill = first?.bill && { ...first.bill, net: Number(first.bill.net) + 1 };
      expect(
        summariesApart(sumsWith(own + price), [{ ...first, bill } as ListedRun, ...rest]),
      ).toBeUndefined();
    });
  });

  it.each(['actual', 'would_be', 'debits'])('is not drawn where %s is not known', (member) => {
    const bill = { ...billedRuns([BILL_ORDER])[0]?.bill, [member]: null };

    expect(waterfallOf(amountsOf({ bill }))).toBeUndefined();
    expect(waterfallOf(amountsOf({}))).toBeUndefined();
  });
});

describe('a move', () => {
  const removing = (tokens: number, changes: Partial<BillOrder> = {}): BillOrder => ({
    ...BILL_ORDER,
    calls: [{ input: 20_000, cached: 17_920, cache_writes: null, output: 500 }],
    view: { before: 20_000 + tokens, after: 20_000, repeated: 19_000 + tokens },
    ...changes,
  });
  const breaking = {
    moved: true,
    calls: [{ input: 20_000, cached: 2_048, cache_writes: null, output: 500 }],
  };

  it('has paid back at the request whose savings have covered what its cache has cost', () => {
    const runs = billedRuns([removing(0), removing(10_000, breaking), ...Array(9).fill(removing(10_000))]);
    const cost = Number(runs[1]?.bill?.debits.broken_cache);
    let saved = 0;
    const at = runs.findIndex(({ bill }, index) => {
      if (index > 0) saved += Number(bill?.net) + Number(bill?.debits.broken_cache);
      return index > 0 && saved >= cost;
    });

    expect(cost).toBeGreaterThan(0);
    expect(at).toBeGreaterThan(1);
    expect([...paybacksOf(runs)]).toEqual([
      [2, { cache: cost, summary: 0, isSummaryApart: false, removesMore: true, at: at + 1 }],
    ]);
    expect(paybacksOf(runs.slice(0, at)).get(2)?.at).toBeNull();
  });

  it('names a new summary that no request waited for, whose price it does not know', () => {
    const [first, second] = billedRuns([removing(0), removing(10_000, breaking)]);
    const apart = (covers: readonly [number, number], earlier: unknown) =>
      paybacksOf([
        { ...first, summary: earlier } as ListedRun,
        { ...second, summary: { covers } } as ListedRun,
      ]).get(2)?.isSummaryApart;

    expect(apart([1, 14], null)).toBe(true);
    expect(apart([1, 14], { covers: [1, 14] })).toBe(false);
  });

  it('that removes nothing new never pays back by what others save', () => {
    const quiet = removing(10_000);
    const runs = billedRuns([quiet, removing(10_000, breaking), ...Array(30).fill(quiet)]);

    expect(paybacksOf(runs).get(2)).toMatchObject({ at: null });
  });

  it('is not there where nothing was lost, and where the request was only observed', () => {
    const hitting = {
      moved: true,
      calls: [{ input: 20_000, cached: 19_968, cache_writes: null, output: 500 }],
    };
    expect(paybacksOf(billedRuns([removing(0), removing(9_000, hitting)])).size).toBe(0);
    const runs = billedRuns([removing(0), removing(9_000, breaking)]);
    expect(paybacksOf(runs.map((run) => ({ ...run, observed: true }))).size).toBe(0);
  });

  it('shares what is saved with the others, and no more than that', () => {
    forAll(orders, (all) => {
      const runs = billedRuns(all);
      const saved = runs.reduce(
        (sum, { bill }) => sum + Math.max(0, Number(bill?.net) + debitsOf({ bill })),
        0,
      );
      const paid = [...paybacksOf(runs).values()].filter(({ at }) => at !== null);

      expect(paid.reduce((sum, { cache, summary }) => sum + cache + summary, 0)).toBeLessThanOrEqual(
        saved + 1,
      );
    });
  });
});

it.each([
  [73, 100, '27 % less'],
  [110, 100, '10 % more'],
  [100, 100, 'the same'],
  [99_500, 100_000, 'under 1 % less'],
  [0, 0, 'the same'],
])('compares %i with %i', (paid, without, words) => {
  expect(comparedWith(paid, without)).toBe(words);
});

function debitsOf({ bill }: Pick<ListedRun, 'bill'>): number {
  const { summarizer, fetch_rounds, broken_cache } = bill?.debits ?? {};
  return Number(summarizer) + Number(fetch_rounds) + Number(broken_cache);
}
