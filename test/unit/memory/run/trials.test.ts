/** Both sides of a trial: what requests add to them, and what they say together. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plus } from '../../../../src/lib/sums.ts';
import type { Bill, PotentialBill } from '../../../../src/memory/money/bill-schema.ts';
import { NO_DAY_SUMS } from '../../../../src/memory/run/day-sums.ts';
import { trialsIn } from '../../../../src/memory/run/trial-report.ts';
import { type TriedConversation, trialSumsOf, trialTotals } from '../../../../src/memory/run/trials.ts';
import { forAll } from '../../../support/laws/runs.ts';

const TOKENS = { fresh: 1, cached: 0, written: 0, output: 0 };
const priced = (amount: number) => ({ ...TOKENS, amount });

const BILL: Bill = {
  unit: 'nanodollars',
  family: 'gpt-4.1',
  sent: priced(600),
  would_be: priced(1_000),
  actual: 650,
  net: 350,
  debits: { summarizer: 50, fetch_rounds: 0, broken_cache: 0 },
  gross: null,
  unique: null,
};
const POTENTIAL: PotentialBill = {
  unit: 'nanodollars',
  family: 'gpt-4.1',
  sent: priced(1_000),
  would_be: priced(700),
  net: 300,
};
const RUN = { mode: 'auto', kind: 'answer', status: 200, observed: false } as const;
const COUNTED = { ...NO_DAY_SUMS, tokens_before: 50, tokens_sent: 20, observed_would_be: 30 };

const NOT_LOOKED_AT = { answers: 0, words: 0, missed: 0 };

/** A conversation with requests of one cost on one side. */
const tried = (side: string, requests: number, whole: number, saved: number): TriedConversation => ({
  sums: {
    [side]: {
      requests,
      before: 10 * requests,
      after: 5 * requests,
      billed: requests,
      paid: side.startsWith('observed') ? whole : whole - saved,
      compared: requests,
      whole,
      saved,
      ...NOT_LOOKED_AT,
    },
  },
  requests,
  summarizer: 0,
  unpriced: 0,
});

describe('a request of a trial', () => {
  it('adds what it has really cost, and what the other side of it would have', () => {
    expect(trialSumsOf(COUNTED, RUN, BILL, null)).toEqual({
      'sent auto': {
        requests: 1,
        before: 50,
        after: 20,
        billed: 1,
        paid: 600,
        compared: 1,
        whole: 1_000,
        saved: 400,
        ...NOT_LOOKED_AT,
      },
    });
    const observed = { ...RUN, observed: true };
    const unchanged = { ...BILL, sent: priced(1_000), would_be: priced(1_000) };
    expect(trialSumsOf(COUNTED, observed, unchanged, POTENTIAL)).toEqual({
      'observed auto': {
        requests: 1,
        before: 50,
        after: 30,
        billed: 1,
        paid: 1_000,
        compared: 1,
        whole: 1_000,
        saved: 300,
        ...NOT_LOOKED_AT,
      },
    });
  });

  it('is compared only where both prices are known', () => {
    const observed = { ...RUN, observed: true };
    const known = (bill: Bill | null, potential: PotentialBill | null, run: typeof observed | typeof RUN) =>
      Object.values(trialSumsOf(COUNTED, run, bill, potential) ?? {}).map(({ billed, compared }) => [
        billed,
        compared,
      ]);
    expect(known(null, null, RUN)).toEqual([[0, 0]]);
    expect(known({ ...BILL, would_be: null }, null, RUN)).toEqual([[1, 0]]);
    expect(known(BILL, { ...POTENTIAL, net: null }, observed)).toEqual([[1, 0]]);
    expect(known(BILL, null, observed)).toEqual([[1, 0]]);
  });

  it('adds nothing where the model has not answered', () => {
    expect(trialSumsOf(COUNTED, { ...RUN, status: 429 }, BILL, null)).toBeUndefined();
    expect(trialSumsOf(COUNTED, { ...RUN, kind: 'compaction' }, BILL, null)).toBeUndefined();
  });
});

describe('the totals of trials', () => {
  const conversation = fc.record({
    side: fc.constantFrom('observed auto', 'sent auto', 'sent compact'),
    requests: fc.integer({ min: 1, max: 40 }),
    whole: fc.integer({ min: 1, max: 1e12 }),
    share: fc.double({ min: -0.5, max: 0.9, noNaN: true }),
  });
  const all = fc
    .array(conversation, { maxLength: 30 })
    .map((many) =>
      many.map(({ side, requests, whole, share }) => tried(side, requests, whole, Math.round(share * whole))),
    );

  it('of two parts together are the totals of the whole', () => {
    forAll(all, all, (one, other) => {
      const joined = plus(trialTotals(one), trialTotals(other));
      const whole = trialTotals([...one, ...other]);
      expect(Object.keys(joined).toSorted()).toEqual(Object.keys(whole).toSorted());
      for (const [key, { saving, cost, length, ...sums }] of Object.entries(whole)) {
        const mine = joined[key];
        expect(mine).toMatchObject(sums);
        expect(mine?.length).toEqual(length);
        for (const [name, value] of [...Object.entries(saving), ...Object.entries(cost)])
          expect(Number.isFinite(value), name).toBe(true);
        expect((mine?.saving.yy ?? 0) / (saving.yy || 1)).toBeCloseTo(saving.yy === 0 ? 0 : 1, 9);
      }
    });
  });

  it('count what summaries cost where the strategy was applied, by the number of requests', () => {
    const { sums } = tried('sent auto', 3, 1_000, 400);
    const totals = trialTotals([{ sums, requests: 4, summarizer: 100, unpriced: 0 }]);
    expect(totals['sent auto']).toMatchObject({ paid: 675, saved: 325, summarizer: 75 });
    const watched = tried('observed auto', 3, 1_000, 400);
    const observed = trialTotals([{ ...watched, summarizer: 100, unpriced: 1 }]);
    expect(observed['observed auto']).toMatchObject({ paid: 1_000, saved: 400, summarizer: 0 });
  });

  it('do not know what was saved where a summary has no price', () => {
    const one = { ...tried('sent auto', 3, 1_000, 400), unpriced: 1 };
    const [trial] = trialsIn(trialTotals([one, tried('observed auto', 2, 900, 90)]));
    expect(trial?.sent?.saving).toBeNull();
    expect(trial?.between?.cost).toBeNull();
    expect(trial?.observed?.saving?.value).toBeCloseTo(0.1);
  });

  it('leave out of the difference what was on both sides', () => {
    const mixed = { ...tried('sent auto', 2, 100, 10), requests: 4 };
    const both = { ...mixed, sums: { ...mixed.sums, ...tried('observed auto', 2, 100, 10).sums } };
    const totals = trialTotals([both, tried('sent auto', 1, 100, 10), tried('observed auto', 1, 100, 10)]);
    const [trial] = trialsIn(totals);
    expect(trial?.observed?.total.length.units).toBe(1);
    expect(trial?.sent?.total).toMatchObject({ conversations: 2, requests: 3, length: { units: 1 } });
  });
});

describe('the words of a trial', () => {
  const group = (side: string, count: number, share: number, requests = 10) =>
    Array.from({ length: count }, (_, at) => {
      const whole = 1_000_000 * requests * (1 + (at % 3));
      return tried(side, requests, whole, Math.round(whole * (share + 0.06 * ((at % 5) - 2))));
    });
  const wordsOf = (...conversations: TriedConversation[]) =>
    trialsIn(trialTotals(conversations)).map(({ text }) => text);

  it('have both sides with their intervals, and the difference', () => {
    const [text] = wordsOf(...group('observed auto', 120, 0.31), ...group('sent auto', 90, 0.29));
    expect(text).toMatch(
      /^auto would save 31 % ± 2 over 1,200 requests of 120 conversations that were only observed\. auto saves 29 % ± 2 over 900 requests of 90 conversations that it was applied to\. A request has really cost 29 % ± \d+ less with it than without\. A conversation has 0\.0 % ± 0\.1 fewer requests with it, which may be chance\.$/,
    );
  });

  it('say what costs more, what may be chance, and what is too little', () => {
    const [text] = wordsOf(...group('observed auto', 12, 0.3, 9), ...group('sent auto', 40, -0.02, 10));
    expect(text).toContain('auto costs 2 % ± 3 more over 400 requests of 40 conversations');
    expect(text).toContain(
      ' more with it than without, which may be chance. A conversation has 11.1 % ± 0.1 more requests with it.',
    );
    expect(wordsOf(tried('observed trim', 1, 100, 31))).toEqual([
      'trim would save 31 % (of too few conversations for an interval) over 1 request of 1 conversation that was only observed.',
    ]);
    const unpriced = { ...tried('sent auto', 3, 0, 0).sums['sent auto'], compared: 0, billed: 0 } as never;
    expect(wordsOf({ sums: { 'sent auto': unpriced }, requests: 3, summarizer: 0, unpriced: 0 })).toEqual([
      'auto saves an unknown share over 3 requests of 1 conversation that it was applied to.',
    ]);
  });

  it('say what the views would have lacked, where it was looked at', () => {
    const { sums, ...rest } = tried('observed auto', 500, 1_000, 310);
    const looked = { ...sums['observed auto'], answers: 500, words: 1_031, missed: 14 } as never;
    expect(wordsOf({ ...rest, sums: { 'observed auto': looked } })).toEqual([
      expect.stringMatching(
        / 500 answers took 1,031 words from an output just read; 14 \(1\.4 %\) would not have been in view\.$/,
      ),
    ]);
  });

  it('come by mode, the one with the most requests first', () => {
    expect(
      trialsIn(trialTotals([tried('sent trim', 1, 9, 1), tried('observed auto', 5, 9, 1)])),
    ).toMatchObject([
      { mode: 'auto', sent: null, between: null },
      { mode: 'trim', observed: null },
    ]);
  });
});
