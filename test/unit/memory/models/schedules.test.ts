import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { PUBLISHED_PRICES } from '../../../../src/memory/models/published-prices.ts';
import { mixedLifetimes, scheduleOf } from '../../../../src/memory/models/schedules.ts';
import { amountOf, NO_TOKENS, ratesAt } from '../../../../src/memory/money/amounts.ts';
import { forAll } from '../../../support/laws/runs.ts';

const DAY = '2026-10-10';
const AT = utcTimeOf(new Date(DAY));
const MILLION = 1_000_000;

/** Dollars for a million tokens of each kind. */
function rates(model: string, at = DAY): number[] | undefined {
  const schedule = scheduleOf(model, utcTimeOf(new Date(at)));
  return schedule && [schedule.fresh, schedule.cached, schedule.written, schedule.output];
}

describe('the prices of a model', () => {
  it.each([
    ['gpt-6.1-sol', [2, 0.1, 2.5, 10]],
    ['gpt-6-astra', [10, 1, 12.5, 50]],
    ['gpt-5.6-luna', [0.2, 0.02, 0.25, 1.2]],
    ['gpt-5.4-2026-03-05', [2.5, 0.25, 2.5, 15]],
    ['gpt-5-mini-2025-08-07', [0.25, 0.025, 0.25, 2]],
    ['openai/gpt-4.1-mini', [0.4, 0.1, 0.4, 1.6]],
    ['gpt-4o-2024-05-13', [5, 5, 5, 15]],
    ['gpt-4o-2024-08-06', [2.5, 1.25, 2.5, 10]],
    ['claude-opus-5-5', [4, 0.2, 5, 20]],
    ['anthropic/claude-opus-5.5', [4, 0.2, 5, 20]],
    ['claude-sonnet-4-20250514', [3, 0.3, 3.75, 15]],
    ['claude-3-5-haiku-20241022', [0.8, 0.08, 1, 4]],
    ['gemini-2.5-pro', [1.25, 0.125, 1.25, 10]],
    ['grok-4.7', [2, 0.5, 2, 6]],
    ['kimi-k3', [3, 0.3, 3, 15]],
    ['gpt-6.1-terra', [1, 0.05, 1.25, 5]],
    ['anthropic/claude-fable-5.2', [8, 0.2, 10, 40]],
    ['claude-mythos-5-2', [8, 0.2, 10, 40]],
    ['deepseek/deepseek-v4-pro', [0.66, 0.022, 0.66, 1.98]],
    ['GLM-5.3', [1.4, 0.26, 1.4, 4.4]],
  ])('of %s are its page’s', (model, expected) => {
    expect(rates(model)).toEqual(expected);
  });

  it.each([
    'my-model',
    'gpt-6.1-sol-mini',
    'gpt-4-1106-preview',
    'gpt-5-search-api',
    'gpt-4o-audio-preview',
    'claude-opus-5-9',
    'claude-opus-4-9',
    'gpt-oss-120b:free',
    '',
  ])('are not known of %s', (model) => {
    expect(scheduleOf(model, AT)).toBeUndefined();
  });

  it('are not known of a request that names no model', () => {
    expect(scheduleOf(undefined, AT)).toBeUndefined();
    expect(scheduleOf(null, AT)).toBeUndefined();
  });

  it('hold until the last day for which they are promised', () => {
    expect(rates('gemini-3.8-flash', '2026-12-31')?.[0]).toBe(0.75);
    expect(rates('gemini-3.8-flash', '2027-01-01')?.[0]).toBe(1.5);
    expect(rates('gemini-4-argon', '2026-11-30T23:59:59Z')?.[0]).toBe(2);
    expect(rates('gemini-4-argon', '2026-12-01T00:00:00Z')?.[0]).toBe(4);
    expect(rates('gpt-5.6-sol', '2026-11-21')?.[0]).toBe(4);
    expect(rates('gpt-5.6-sol', '2026-11-22')).toBeUndefined();
  });

  it.each([
    ['2026-11-25T00:59:59Z', 0.15],
    ['2026-11-25T01:00:00Z', 0.3],
    ['2026-11-25T03:59:59Z', 0.3],
    ['2026-11-25T04:00:00Z', 0.15],
    ['2026-11-25T09:59:59Z', 0.3],
    ['2026-11-25T10:00:00Z', 0.15],
    // A Saturday and a Sunday.
    ['2026-11-28T02:00:00Z', 0.15],
    ['2026-11-29T07:00:00Z', 0.15],
  ])('at %s are the hour’s', (at, fresh) => {
    const share = fresh / 0.15;
    expect(rates('deepseek-flash', at)).toEqual([fresh, share * 0.003, fresh, share * 0.6]);
  });

  it('depend on how long the cache keeps what is written', () => {
    const of = (lifetime?: string) => scheduleOf('gpt-6.2-sol', AT, [], lifetime);
    expect(of()).toMatchObject({ written: 2.5, lifetimeMs: 30 * 60_000 });
    expect(of('30m')).toMatchObject({ written: 2.5, lifetimeMs: 30 * 60_000 });
    expect(of('12h')).toMatchObject({ written: 5, lifetimeMs: 12 * 3_600_000 });
    expect(of('24h')).toBeUndefined();
    expect(scheduleOf('gpt-4.1', AT, [], '12h')).toBeUndefined();
  });

  it('cost twice as fresh input where a mark of Anthropic’s API asks for an hour', () => {
    const of = (lifetime?: string) => scheduleOf('claude-opus-5-5', AT, [], lifetime);
    expect(of()).toMatchObject({ written: 5, lifetimeMs: 5 * 60_000 });
    expect(of('5m')).toMatchObject({ written: 5, lifetimeMs: 5 * 60_000 });
    expect(of('1h')).toMatchObject({ written: 8, lifetimeMs: 3_600_000 });
    const own = [{ family: 'claude-opus', fresh: 6, cached: 0.6, written: 7.5, output: 30 }];
    expect(scheduleOf('claude-opus-5-5', AT, own)).toMatchObject({ written: 7.5 });
    expect(scheduleOf('claude-opus-5-5', AT, own, '1h')).toMatchObject({
      written: 12,
      lifetimeMs: 3_600_000,
    });
  });

  it('cost their own for all writes together where some live longer', () => {
    forAll(fc.nat(500_000), fc.nat(500_000), (usual, hour) => {
      const [short, long] = [undefined, '1h'].map((ttl) => scheduleOf('claude-fable-5-2', AT, [], ttl));
      if (!short || !long || usual + hour === 0) return;
      const written = usual + hour;
      const mixed = mixedLifetimes(short, long, hour / written);
      const own = [short, long].map((schedule, index) =>
        amountOf({ ...NO_TOKENS, written: index === 0 ? usual : hour }, schedule),
      );
      const all = own.reduce((sum, amount) => sum + amount, 0);
      // The average is rounded to a picodollar per token.
      const apart = Math.abs(amountOf({ ...NO_TOKENS, written }, mixed) - all);
      expect(apart).toBeLessThanOrEqual(1 + written / 2_000);
    });
  });

  it.each([
    ['claude-fable-5-2', 'claude-fable-5.2'],
    ['claude-mythos-5-2', 'claude-mythos-5.2'],
    ['claude-fable-5-1', 'claude-fable-5.1'],
    ['claude-opus-5-5', 'claude-opus-5.5'],
    ['claude-opus-5-5-20261012', 'claude-opus-5.5'],
    ['claude-opus-5', 'claude-opus-5'],
    ['claude-opus-4-8', 'claude-opus-4.8'],
    ['claude-opus-4-5-20251101', 'claude-opus-4.5'],
    ['claude-sonnet-5-5', 'claude-sonnet-5.5'],
    ['claude-sonnet-5', 'claude-sonnet-5'],
    ['claude-sonnet-4-6', 'claude-sonnet-4.6'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4.5'],
    ['claude-haiku-5-5', 'claude-haiku-5.5'],
    ['claude-haiku-4-5-20251001', 'claude-haiku-4.5'],
  ])('of %s, as Anthropic’s API spells it, are the prices of %s', (model, family) => {
    expect(scheduleOf(model, AT)?.family).toBe(family);
  });

  it('of Haiku 5.5 are five times as high above 100,000 tokens, the cache’s included', () => {
    const schedule = scheduleOf('claude-haiku-5-5', AT);
    if (!schedule) throw new Error('no schedule');
    expect(ratesAt(schedule, 100_000)).toMatchObject({ fresh: 0.1, output: 0.5 });
    expect(ratesAt(schedule, 100_001)).toMatchObject({
      fresh: 0.5,
      cached: 0.05,
      written: 0.625,
      output: 2.5,
    });
  });

  it('are the deployer’s before the published ones, for all of a family', () => {
    const prices = [{ family: 'gpt-4.1', fresh: 1, cached: 0.5, output: 3 }];
    expect(scheduleOf('gpt-4.1-mini', AT, prices)).toMatchObject({ fresh: 1, written: 1, output: 3 });
    expect(scheduleOf('gpt-4o', AT, prices)?.fresh).toBe(2.5);
  });

  it('are not mixed with the published ones where the deployer’s have none for output', () => {
    expect(scheduleOf('gpt-4.1', AT, [{ family: 'gpt-4.1', fresh: 1, cached: 0.5 }])).toBeUndefined();
  });

  it('rise for the whole request above the step', () => {
    const schedule = scheduleOf('gpt-5.4', AT);
    if (!schedule) throw new Error('no schedule');
    const of = (fresh: number) => amountOf({ ...NO_TOKENS, fresh, output: 1_000 }, schedule);
    expect(of(272_000)).toBe(272_000 * 2_500 + 1_000 * 15_000);
    expect(of(272_001)).toBe(272_001 * 5_000 + 1_000 * 22_500);
  });
});

/** The rows with a price for output. */
const BILLED = PUBLISHED_PRICES.filter(({ output }) => output !== undefined);

describe('the table of schedules', () => {
  it.each(PUBLISHED_PRICES)('can say where it has $family from', (row) => {
    expect(row.fresh).toBeGreaterThan(0);
    expect(row.cached).toBeGreaterThan(0);
    expect(row.cached).toBeLessThanOrEqual(row.fresh);
    expect(row.written).toBeGreaterThanOrEqual(row.fresh);
    if (row.output !== undefined) expect(row.output).toBeGreaterThan(row.fresh);
    expect(new URL(row.source).protocol).toBe('https:');
    expect(new Date(row.asOf).toISOString().slice(0, 10)).toBe(row.asOf);
    expect(Date.parse(row.asOf)).toBeLessThanOrEqual(Date.now());
  });

  it.each(BILLED)('has $family in whole picodollars per token', ({ family, ...row }) => {
    const schedule = scheduleOf(family, utcTimeOf(new Date(row.asOf)));
    if (!schedule) throw new Error(`${family} is not found by its own name`);
    for (const kind of ['fresh', 'cached', 'written', 'output'] as const) {
      const dollars = amountOf({ ...NO_TOKENS, [kind]: MILLION }, { ...schedule, step: undefined }) / 1e9;
      expect(dollars).toBeCloseTo(schedule[kind], 9);
    }
  });

  it('has one row for each family and day', () => {
    const rows = PUBLISHED_PRICES.map(({ family, until }) => `${family} ${until}`);
    expect(new Set(rows).size).toBe(rows.length);
  });
});
