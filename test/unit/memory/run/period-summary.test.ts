/** The sentences that sum up some days, and which conversations are named as dearer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dollarsIn } from '../../../../src/memory/money/amounts.ts';
import { type DaySums, NO_DAY_SUMS } from '../../../../src/memory/run/day-sums.ts';
import { summaryText } from '../../../../src/memory/run/period-summary.ts';
import {
  type Losses,
  NO_LOSSES,
  rankConversations,
} from '../../../../src/memory/run/ranked-conversations.ts';
import { forAll } from '../../../support/laws/runs.ts';

const DOLLAR = 1_000_000_000;
const MODEL = { requests: 4, failed: 0, billed: 4, unbilled: 0, about: 0, would_be: 0, sent: 0 };
const BILLED: DaySums = {
  ...NO_DAY_SUMS,
  requests: 4,
  billed: 4,
  would_be: 990 * DOLLAR,
  sent: 570 * DOLLAR,
  summarizer: 8 * DOLLAR,
  models: { 'gpt-4.1': MODEL },
};

const textOf = (total: Partial<DaySums>, losses: Losses = NO_LOSSES, days = 7): string =>
  summaryText({ days, from: '2026-11-23', to: '2026-11-29', total: { ...BILLED, ...total }, losses });

describe('the summary of some days', () => {
  it.each<[Partial<DaySums>, string]>([
    [{}, '$412 saved of $990 (42 %), 0 lost answers, no conversation cost more.'],
    [{ sent: 982 * DOLLAR }, '$990 paid, nothing saved, 0 lost answers'],
    [{ sent: 35_000, would_be: 35_000, summarizer: 0 }, ': under $0.01 paid, nothing saved, 0 lost'],
    [{ models: { a: { ...MODEL, about: 1 } } }, 'about $412 saved of $990'],
    [
      { sent: 1_000, would_be: 4_000, summarizer: 0, models: { a: { ...MODEL, about: 1 } } },
      ': under $0.01 saved of under $0.01 (75 %), 0 lost',
    ],
    [{ sent: 1_000 * DOLLAR }, '$18.00 lost: without Precis it would have been $990, 0 lost'],
    [{ unpriced: 1 }, '4 requests whose savings are not known, since 1 summary has no known cost'],
    [{ billed: 0, would_be: 0, sent: 0 }, '4 requests whose savings are not known, 0 lost'],
    [
      { failed: 3, failures: { 429: { requests: 2 }, 502: { requests: 1 } } },
      '1 lost answer, 2 refused requests (429)',
    ],
    [{ failures: { broken: { requests: 1_200 } } }, '1,200 lost answers, no conversation'],
    [{ failed: 2 }, '2 failed answers, no conversation'],
    [
      { requests: 700, models: { a: { ...MODEL, requests: 700, unbilled: 566 } } },
      '566 requests of 700 have no known cost; they are left out.',
    ],
    [{ requests: 9, models: {}, failed: 1, observed: 2 }, '2 requests of 9 have no known cost'],
    [{ observed: 2 }, '2 requests were only observed; what they would have saved is not known.'],
    [
      { observed: 1, potential_billed: 1, potential_net: DOLLAR },
      '1 request was only observed; it would have saved $1.00.',
    ],
  ])('says of %j: %s', (total, words) => {
    expect(textOf(total)).toContain(words);
  });

  it('names its days', () => {
    expect(textOf({})).toMatch(/^This week \(23 Nov to 29 Nov, UTC\): \$412/);
    expect(textOf({}, NO_LOSSES, 1)).toMatch(/^Today \(29 Nov, UTC\): /);
    expect(textOf({}, NO_LOSSES, 30)).toMatch(/^In 30 days \(/);
    expect(textOf({ requests: 0 })).toBe('This week (23 Nov to 29 Nov, UTC): no request is recorded.');
  });

  it('says why conversations cost more', () => {
    const amount = 0.41 * DOLLAR;
    expect(textOf({}, { conversations: 1, amount, causes: { added: 1 } })).toMatch(
      /1 conversation cost more\. It cost \$0\.41 more because the tools that Precis adds/,
    );
    expect(textOf({}, { conversations: 3, amount, causes: { summarizer: 1, broken_cache: 2 } })).toMatch(
      /3 conversations cost more\. They cost \$0\.41 more together: 2 because an edit broke .+; 1 because summaries/,
    );
    expect(textOf({}, { conversations: 2, amount, causes: { fetch_rounds: 2 } })).toContain(
      'They cost $0.41 more together because the model fetched',
    );
  });

  it.each([
    [0, '$0'],
    [12, 'under $0.01'],
    [0.0197 * DOLLAR, '$0.02'],
    [0.0996 * DOLLAR, '$0.10'],
    [-0.414 * DOLLAR, '$0.41'],
    [41.2 * DOLLAR, '$41.20'],
    [1_204.4 * DOLLAR, '$1,204'],
  ])('writes %d nanodollars as %s', (amount, words) => {
    expect(dollarsIn(amount)).toBe(words);
  });
});

describe('conversations in order', () => {
  const amount = fc.nat(100);
  const sums = fc
    .record({ billed: fc.nat(2), unpriced: fc.nat(1), would_be: amount, sent: amount, summarizer: amount })
    .map((some) => ({ sums: { ...NO_DAY_SUMS, requests: 1, ...some } }));

  it('are the dearest, and those that have lost, by what most was paid for', () => {
    forAll(fc.array(sums, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (all, most) => {
      const { dearest, losing, losses } = rankConversations(all, most);
      const costs = all.map(({ sums: one }) => one.sent + one.summarizer).toSorted((a, b) => b - a);
      expect(dearest.map(({ sums: one }) => one.sent + one.summarizer)).toEqual(costs.slice(0, most));
      const lost = all
        .filter(({ sums: one }) => one.billed > 0 && one.unpriced === 0)
        .map(({ sums: one }) => one.sent + one.summarizer - one.would_be)
        .filter((each) => each > 0)
        .toSorted((a, b) => b - a);
      expect(losing.map((one) => one.amount)).toEqual(lost.slice(0, most));
      expect(losses.amount).toBe(lost.reduce((sum, one) => sum + one, 0));
      expect(losses.conversations).toBe(lost.length);
      expect(Object.values(losses.causes).reduce((sum, one) => sum + one, 0)).toBe(lost.length);
    });
  });

  it.each([
    [{ summarizer: 30, sent: 90 }, 'summarizer'],
    [{ sent: 120, fetch_rounds: 60, broken_cache: 10 }, 'fetch_rounds'],
    [{ sent: 120, fetch_rounds: 10, broken_cache: 60 }, 'broken_cache'],
    [{ sent: 120, broken_cache: 5 }, 'added'],
  ])('name for %j the cause %s', (some, cause) => {
    const losing = rankConversations([{ sums: { ...NO_DAY_SUMS, billed: 1, would_be: 100, ...some } }], 1);
    expect(losing.losing[0]?.cause).toBe(cause);
  });
});
