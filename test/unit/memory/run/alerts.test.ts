/** What an operator should look at: the thresholds, and no alert without its counter. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallerLimits } from '../../../../src/memory/money/caller-limits.ts';
import { alertsOf, type CountedCaller } from '../../../../src/memory/run/alerts.ts';
import { type DaySums, joinDaySums, NO_DAY_SUMS } from '../../../../src/memory/run/day-sums.ts';
import { forAll } from '../../../support/laws/runs.ts';

const NOW = Date.UTC(2026, 10, 29, 15);
const DOLLAR = 1_000_000_000;
const MINUTE = 60_000;

const sums = (some: Partial<DaySums>): DaySums => ({ ...NO_DAY_SUMS, ...some });
const model = (some: object) => ({
  requests: 1,
  failed: 0,
  billed: 1,
  unbilled: 0,
  about: 0,
  would_be: 0,
  sent: 0,
  ...some,
});

function caller(some: Partial<DaySums>, rest: Partial<CountedCaller> = {}): CountedCaller {
  return { name: 'alice', sums: sums(some), limits: undefined, spent: { day: 0, month: 0 }, ...rest };
}

/** Of callers, with their sums as the total. */
function alerts(...callers: CountedCaller[]) {
  const total = callers.map((one) => one.sums).reduce(joinDaySums, NO_DAY_SUMS);
  return alertsOf({ total, callers, now: NOW }).map(({ level, message }) => `${level}: ${message}`);
}

const limited = (limits: CallerLimits, day: number, month = day) =>
  caller({}, { name: 'bob', limits, spent: { day: day * DOLLAR, month: month * DOLLAR } });
const failing = (failed: number, requests: number, failures: DaySums['failures'] = {}) =>
  caller({ failed, requests, failures, models: { m: model({ requests, failed }) }, answered_at: NOW });
const missing = (amount: number | null) =>
  caller({ sent: 100, missed: { tools: { requests: 2, tokens: 9, amount } } });

describe('alerts', () => {
  it.each<[string, CountedCaller, string[]]>([
    ['no request', caller({}), []],
    ['4 of 5 failed', failing(4, 5), []],
    ['5 of 101 failed', failing(5, 101), []],
    ['5 of 100 failed', failing(5, 100), ['watch: alice: 5 % of requests fail (5 of 100).']],
    [
      '25 of 100 failed',
      failing(25, 100, { 429: { requests: 20 }, 500: { requests: 5 }, broken: { requests: 90 } }),
      ['act: alice: 25 % of requests fail, mostly with 429 (25 of 100).'],
    ],
    ['79 % of a day', limited({ usd_per_day: 100 }, 79), []],
    [
      '95 % of a day',
      limited({ usd_per_day: 5, usd_per_month: 300 }, 4.75, 20),
      ['watch: bob is at 95 % of the limit of the day ($4.75 of $5.00).'],
    ],
    [
      'a month that is over',
      limited({ usd_per_month: 20 }, 0, 20),
      ['act: bob is at 100 % of the limit of the month ($20.00 of $20.00).'],
    ],
    ['a limit of nothing', limited({ usd_per_day: 0 }, 0), []],
    ['no budget', limited({ requests_per_minute: 1 }, 900), []],
    [
      'requests without a known cost',
      caller({
        requests: 600,
        models: { mine: model({ requests: 560, unbilled: 560 }), b: model({ requests: 40, unbilled: 6 }) },
      }),
      ['watch: 566 requests without a known cost, mostly of mine.'],
    ],
    ['cheap misses', missing(4), []],
    ['misses of unknown cost', missing(null), []],
    ['misses', missing(5), ['watch: Cache misses cost under $0.01, 5 % of what was paid (2 requests).']],
    ['a small loss', caller({ billed: 1, would_be: 100 * DOLLAR, sent: 100.9 * DOLLAR }), []],
    [
      'a loss',
      caller({ billed: 1, would_be: 100 * DOLLAR, sent: 102 * DOLLAR }),
      ['watch: alice has paid $2.00 more than without Precis ($100).'],
    ],
    ['a loss that is not known', caller({ billed: 1, would_be: 1, sent: 9, unpriced: 1 }), []],
    ['an upstream that answers', caller({ answered_at: NOW, unanswered_at: NOW - 1 }), []],
    [
      'an upstream that does not',
      caller({ answered_at: NOW - 58 * MINUTE, unanswered_at: NOW - 20 * MINUTE }),
      ['act: The upstream has not answered since 14:02; the last one failed at 14:40 (UTC).'],
    ],
    [
      'an upstream that never has',
      caller({ unanswered_at: NOW - 16 * 60 * MINUTE }),
      ['act: The upstream has answered no request; the last one failed at 2026-11-28, 23:00 (UTC).'],
    ],
    [
      'models that retire',
      caller({ requests: 3, models: { 'gpt-4.1-mini': model({}), 'gpt-5': model({}), o1: model({}) } }),
      [
        'act: gpt-5 retires in 12 days (2026-12-11); its vendor recommends gpt-6.1-sol.',
        'act: o1 was switched off (2026-10-23).',
        'watch: gpt-4.1-mini retires in 46 days (2027-01-14); its vendor recommends gpt-6-luna.',
      ],
    ],
  ])('for %s', (_, one, wanted) => {
    expect(alerts(one)).toEqual(wanted);
  });

  it('see an answer that any caller got', () => {
    expect(alerts(caller({ unanswered_at: NOW - 1 }), caller({ answered_at: NOW }))).toEqual([]);
  });

  it('name nothing that no counter has', () => {
    const small = fc.nat(200);
    const counted = fc.record({
      requests: small,
      failed: small,
      billed: small,
      would_be: small,
      sent: small,
      unanswered_at: fc.nat(3),
      answered_at: fc.nat(3),
      unbilled: fc.nat(3),
      miss: fc.nat(30),
      day: fc.nat(20),
    });
    forAll(fc.array(counted, { maxLength: 5 }), (all) => {
      const callers = all.map(({ unbilled, miss, day, ...one }, at) =>
        caller(
          {
            ...one,
            models: { m: model({ requests: one.requests, unbilled }) },
            missed: { tools: { requests: 1, tokens: 1, amount: miss } },
          },
          { name: `caller-${at}`, limits: { usd_per_day: 10 }, spent: { day: day * DOLLAR, month: 0 } },
        ),
      );
      const total = callers.map((one) => one.sums).reduce(joinDaySums, NO_DAY_SUMS);
      for (const { code, caller: name, message } of alertsOf({ total, callers, now: NOW })) {
        const at = callers.findIndex((one) => one.name === name);
        const counter = {
          upstream: total.unanswered_at,
          failing: all[at]?.failed,
          budget: all[at]?.day,
          unpriced: all.reduce((sum, one) => sum + one.unbilled, 0),
          misses: all.reduce((sum, one) => sum + one.miss, 0),
          losing: (all[at]?.sent ?? 0) - (all[at]?.would_be ?? 0),
          retiring: 0,
        }[code];
        expect(counter, message).toBeGreaterThan(0);
        if (name !== null) expect(message).toContain(name);
      }
    });
  });
});
