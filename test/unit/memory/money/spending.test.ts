import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dateOfDay, monthOf } from '../../../../src/lib/utc-time.ts';
import type { Schedule } from '../../../../src/memory/models/schedule.ts';
import { amountOf } from '../../../../src/memory/money/amounts.ts';
import { billOf } from '../../../../src/memory/money/bill.ts';
import {
  allowsModel,
  type CallerLimits,
  COUNTED_LIMITS,
  callerLimitsSchema,
} from '../../../../src/memory/money/caller-limits.ts';
import {
  leftOf,
  MINUTE_MS,
  msUntilLeft,
  type RecentCall,
  reachedLimit,
  spendOf,
} from '../../../../src/memory/money/spending.ts';
import { forAll } from '../../../support/laws/runs.ts';

const DAY_MS = 24 * 60 * MINUTE_MS;
const NOON = Date.UTC(2026, 10, 26, 12);

const price = fc.integer({ min: 1, max: 200 }).map((tenths) => tenths / 10);
const schedules: fc.Arbitrary<Schedule> = fc
  .record({ price, output: price })
  .map(({ price: fresh, output }) => ({
    family: 'a-model',
    fresh,
    cached: fresh / 10,
    written: fresh,
    output,
    hits: 'prefix-128' as const,
    lifetimeMs: 3_600_000,
  }));
const tokens = fc.integer({ min: 0, max: 200_000 });

describe('what a call has spent', () => {
  it('is the amount of its bill, where that is known', () => {
    forAll(schedules, tokens, tokens, tokens, (schedule, input, hits, output) => {
      const usage = { input, cached: Math.min(hits, input), cache_writes: null, output };
      const order = { schedule, calls: [usage], isEdited: false, added: 0, tools: 0, view: null };
      const bill = billOf({ ...order, moved: false, summarizer: 0, earlier: null, savedBefore: 0 });
      const spend = spendOf(usage, schedule, { input: 1, output: 1 });
      expect(spend).toEqual({ tokens: input + output, amount: bill?.sent?.amount });
    });
  });

  it('is never less than the price of the tokens that are known, and takes all others from the estimate', () => {
    forAll(schedules, tokens, tokens, (schedule, input, output) => {
      const estimated = { input, output };
      const amount = amountOf({ fresh: input, cached: 0, written: 0, output }, schedule);
      const whole = { tokens: input + output, amount };
      expect(spendOf(undefined, schedule, estimated)).toEqual(whole);
      const half = { input, cached: null, cache_writes: null, output: null };
      expect(spendOf(half, schedule, estimated)).toEqual(whole);
    });
  });

  it('is tokens alone where the model has no price', () => {
    const usage = { input: 10, cached: 0, cache_writes: null, output: 5 };
    expect(spendOf(usage, null, { input: 1, output: 1 })).toEqual({ tokens: 15, amount: 0 });
    expect(spendOf(undefined, null, { input: 10, output: 5 })).toEqual({ tokens: 15, amount: 0 });
  });
});

describe('a limit', () => {
  const NOTHING = { day: 0, month: 0, tokens: 0, requests: 0 };

  it('is reached when nothing is left of it', () => {
    const limits: CallerLimits = {
      usd_per_day: 1,
      usd_per_month: 2,
      tokens_per_minute: 10,
      requests_per_minute: 3,
    };
    expect(reachedLimit(limits, NOTHING, false)).toBeUndefined();
    expect(reachedLimit(limits, { ...NOTHING, day: 999_999_999 }, false)).toBeUndefined();
    expect(reachedLimit(limits, { ...NOTHING, day: 1_000_000_000 }, false)).toBe('usd_per_day');
    expect(reachedLimit(limits, { ...NOTHING, day: 2e9, month: 2e9 }, false)).toBe('usd_per_month');
    expect(reachedLimit(limits, { ...NOTHING, tokens: 10 }, false)).toBe('tokens_per_minute');
    expect(reachedLimit(limits, { ...NOTHING, requests: 3 }, false)).toBe('requests_per_minute');
    expect(leftOf('usd_per_day', limits, { ...NOTHING, day: 3e8 })).toBe(7e8);
    expect(leftOf('usd_per_day', {}, NOTHING)).toBeUndefined();
  });

  it('per minute does not hold for further calls of a request, and a budget does', () => {
    const limits: CallerLimits = { usd_per_day: 1, tokens_per_minute: 10, requests_per_minute: 3 };
    const full = { ...NOTHING, tokens: 11, requests: 3 };
    expect(reachedLimit(limits, full, true)).toBeUndefined();
    expect(reachedLimit(limits, { ...full, day: 1e9 }, true)).toBe('usd_per_day');
  });

  it('of 0 lets nothing through', () => {
    for (const limit of COUNTED_LIMITS) expect(reachedLimit({ [limit]: 0 }, NOTHING, false)).toBe(limit);
  });

  it('by the day and by the month is there again when the next one begins in UTC', () => {
    expect(msUntilLeft('usd_per_day', {}, [], NOON)).toBe(DAY_MS / 2);
    expect(msUntilLeft('usd_per_month', {}, [], NOON)).toBe(4.5 * DAY_MS);
    expect(msUntilLeft('usd_per_month', {}, [], Date.UTC(2026, 11, 31))).toBe(DAY_MS);
  });

  it('per minute is there again as soon as enough calls are a minute old, and no earlier', () => {
    const calls = fc
      .array(fc.record({ ago: fc.integer({ min: 0, max: MINUTE_MS - 1 }), tokens: fc.nat(1_000) }), {
        minLength: 1,
      })
      .map((all): RecentCall[] =>
        all
          .map(({ ago, tokens: spent }) => ({ at: NOON - ago, tokens: spent, requests: 1 }))
          .toSorted((one, other) => one.at - other.at),
      );
    forAll(calls, fc.integer({ min: 1, max: 2_000 }), (recent, most) => {
      const limits: CallerLimits = { tokens_per_minute: most };
      const sumAt = (time: number): number =>
        recent.reduce((sum, call) => sum + (call.at > time - MINUTE_MS ? call.tokens : 0), 0);
      fc.pre(sumAt(NOON) >= most);
      const wait = msUntilLeft('tokens_per_minute', limits, recent, NOON);
      expect(sumAt(NOON + wait)).toBeLessThan(most);
      expect(sumAt(NOON + wait - 1)).toBeGreaterThanOrEqual(most);
    });
  });
});

describe('the models of a caller', () => {
  it('are all, those that are named, or those that start with it', () => {
    expect(allowsModel({}, 'gpt-6')).toBe(true);
    expect(allowsModel({ models: [] }, 'gpt-6')).toBe(false);
    const limits: CallerLimits = { models: ['GPT-6', 'claude-*'] };
    expect(allowsModel(limits, 'gpt-6')).toBe(true);
    expect(allowsModel(limits, 'gpt-6-luna')).toBe(false);
    expect(allowsModel(limits, 'Claude-opus-5')).toBe(true);
    expect(allowsModel(limits, '')).toBe(false);
  });

  it('are in an object without other fields, and without numbers below 0', () => {
    expect(callerLimitsSchema.safeParse({ usd_per_day: 0.5, models: ['gpt-6'] }).success).toBe(true);
    for (const broken of [
      { usd_per_day: -1 },
      { usd: 1 },
      { tokens_per_minute: 1.5 },
      { models: [''] },
      'none',
    ])
      expect(callerLimitsSchema.safeParse(broken).success).toBe(false);
  });
});

describe('a month', () => {
  it('is one of UTC', () => {
    const { first, end } = monthOf(NOON);
    expect([dateOfDay(first), dateOfDay(end)]).toEqual(['2026-11-01', '2026-12-01']);
    expect(dateOfDay(monthOf(Date.UTC(2027, 0, 1)).first)).toBe('2027-01-01');
    expect(dateOfDay(monthOf(Date.UTC(2026, 11, 31, 23, 59)).end)).toBe('2027-01-01');
  });
});
