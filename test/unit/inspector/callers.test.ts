import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ShownCaller } from '../../../inspector/api/answers.ts';
import {
  limitLines,
  limitsOf,
  seenWords,
  sortedCallers,
  typedLimits,
  usedWords,
} from '../../../inspector/read/callers.ts';
import { operatorWords } from '../../../inspector/read/operator-words.ts';
import { callerLimitsSchema } from '../../../src/memory/money/caller-limits.ts';
import { forAll } from '../../support/laws/runs.ts';

type Usage = ShownCaller['today'];

function usage(actual: number | null, counted: number | null = null): Usage {
  return {
    from: '2026-11-01',
    requests: { requests: 3, failed: 0, tokens_sent: 900, billed: 3, actual },
    counted: counted === null ? null : { requests: 3, tokens: 1_000, amount: counted },
  };
}

function caller(change: Partial<ShownCaller>): ShownCaller {
  return {
    object: 'memory.caller',
    name: 'alice',
    kind: 'access_key',
    state: 'active',
    key: 'configured',
    limits: null,
    limits_from: null,
    first_seen_at: null,
    last_seen_at: null,
    today: usage(null),
    month: usage(null),
    ...change,
  };
}

const namesBy = (sort: string, callers: ShownCaller[]): string[] =>
  sortedCallers(callers, sort).map(({ name }) => name);

describe('callers', () => {
  const callers = [
    caller({ name: 'a', month: usage(null), last_seen_at: 200 }),
    caller({ name: 'b', month: usage(5), last_seen_at: null }),
    caller({ name: 'c', month: usage(0), last_seen_at: 100 }),
    caller({ name: 'd', month: usage(null, 9), last_seen_at: 100 }),
  ];

  it('are sorted with what is not known last, also after nothing', () => {
    expect(namesBy('paid', callers)).toEqual(['d', 'b', 'c', 'a']);
    expect(namesBy('seen', callers)).toEqual(['a', 'c', 'd', 'b']);
  });

  it.each(['name', 'requests', '__proto__'])('keep their order where they are equal (%s)', (sort) => {
    expect(namesBy(sort, callers)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('have used what their bills say or what was counted, whichever knows of more requests', () => {
    expect(usedWords(usage(2_000_000_000))).toBe('3 requests, $2.00, 900 tokens');
    expect(usedWords(usage(2_000_000_000, 1_500_000_000))).toBe('3 requests, $1.50, 1.0 k tokens');
    const counted = { requests: 1, tokens: 1_000, amount: 9 };
    expect(usedWords({ ...usage(2_000_000_000), counted })).toBe('3 requests, $2.00, 900 tokens');
  });

  it('have paid the same by use and by limit where bills leave requests out', () => {
    const requests = { requests: 616, failed: 0, tokens_sent: 900, billed: 50, actual: 55_300_000 };
    const counted = { requests: 400, tokens: 800, amount: 472_500_000 };
    const today = { ...usage(null), requests, counted };
    expect(usedWords(today)).toBe('616 requests, $0.47, 900 tokens');
    expect(limitLines(caller({ limits: { usd_per_day: 5 }, today }))).toEqual(['$0.47 of $5.00 a day']);
    expect(
      namesBy('paid', [caller({ name: 'a', month: usage(90_000_000) }), caller({ name: 'b', month: today })]),
    ).toEqual(['b', 'a']);
    expect(usedWords({ ...today, counted: null })).toBe(
      '616 requests, $0.06 without 566 whose price is not known, 900 tokens',
    );
    const failed = { ...today, requests: { ...requests, failed: 566 }, counted: null };
    expect(usedWords(failed)).toBe('616 requests, $0.06, 900 tokens');
    const earlier = { requests: { ...requests, billed: 616 }, counted: { ...counted, amount: 9_000_000 } };
    expect(limitLines(caller({ limits: { usd_per_day: 5 }, today: { ...today, ...earlier } }))).toEqual([
      '<$0.01 of $5.00 a day, counted since there is a limit',
    ]);
  });

  it('have not paid 0 where it is not known, nor anything without a request', () => {
    expect(usedWords(usage(null))).toBe('3 requests, n/a, 900 tokens');
    const requests = { requests: 0, failed: 0, tokens_sent: 0, billed: 0, actual: null };
    expect(usedWords({ ...usage(null), requests })).toBe('no request');
  });

  it('have a line for each limit, with what is spent of it', () => {
    const limits = {
      usd_per_day: 5,
      usd_per_month: 0,
      tokens_per_minute: 400_000,
      requests_per_minute: 60,
      models: ['gpt-6*', 'gpt-4.1-mini'],
      unpriced_models: 'allow' as const,
    };
    const today = usage(null, 1_250_000_000);

    expect(limitLines(caller({ limits, today }))).toEqual([
      '$1.25 of $5.00 a day',
      'n/a of $0.00 a month',
      '400,000 tokens a minute',
      '60 requests a minute',
      'only gpt-6*, gpt-4.1-mini',
      'also models without a known price',
    ]);
    expect(limitLines(caller({ limits: { models: [] } }))).toEqual(['no model']);
    expect(limitLines(caller({ limits: null }))).toEqual([]);
  });
});

it.each([
  [null, 'never'],
  [1_795_305_600, 'today (UTC)'],
  [1_795_305_599, 'yesterday (UTC)'],
  [1_795_132_800, '2 days ago'],
  [1_795_400_000, 'today (UTC)'],
])('names the day on which a caller was seen (%j)', (at, words) => {
  expect(seenWords(at, 1_795_372_800)).toBe(words);
});

describe('the form of limits', () => {
  const amount = fc.double({ min: 0, max: 1_000_000, noNaN: true });
  const number = fc.integer({ min: 0, max: 1_000_000_000 });
  const model = fc.stringMatching(/^[\w.,*/-]{1,40}$/).filter((name) => name !== 'none');
  const limits = fc.record(
    {
      usd_per_day: amount,
      usd_per_month: amount,
      tokens_per_minute: number,
      requests_per_minute: number,
      models: fc.array(model, { maxLength: 5 }),
      unpriced_models: fc.constant('allow' as const),
    },
    { requiredKeys: [] },
  );

  it('gives the limits that it was filled with', () => {
    forAll(limits, (given) => {
      expect(callerLimitsSchema.parse(limitsOf(typedLimits(given)))).toEqual(given);
    });
  });

  it('has no limit in an empty field', () => {
    expect(limitsOf(typedLimits(null))).toEqual({});
    expect(limitsOf({ ...typedLimits(null), models: ' \n ' })).toEqual({});
  });
});

it.each([
  [{ status: 401, code: 'invalid_api_key' }, 'does not accept this ADMIN_TOKEN'],
  [{ status: 404, code: 'not_forwarded' }, 'sets no ADMIN_TOKEN'],
  [{ status: 404, code: 'caller_not_found' }, 'There is no such caller'],
  [{ status: 409, code: 'caller_exists' }, 'already'],
  [{ status: 400, code: 'invalid_value', message: 'limits.models must be a list.' }, 'limits.models must be'],
  [{ status: 503, code: 'store_failed' }, 'store_failed'],
])('explains a failure of the operator’s routes in words (%j)', (failure, words) => {
  expect(operatorWords(failure)).toContain(words);
});
