import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sumOfBills } from '../../../bench/replay/bill.ts';
import { intervalOf } from '../../../bench/replay/bootstrap.ts';
import { byLength } from '../../../bench/replay/lengths.ts';
import type { Outcome } from '../../../bench/replay/measure.ts';
import { type DataSet, figuresOf, together } from '../../../bench/replay/results.ts';
import { forAll } from '../../support/laws/runs.ts';

const outcome = (paid: number, fields: Partial<Outcome['bill']> = {}, visible: boolean[] = []): Outcome => ({
  bill: { ...sumOfBills([]), requests: 1, tokens: 100, paid, ...fields },
  values: visible.map((visible) => ({ visible, reachable: true })),
  near: [],
  savings: { gross: 30, unique: 10 },
  constraints: [],
});

const set = (none: readonly Outcome[], other: readonly Outcome[]): DataSet => ({
  name: 'set',
  none: { name: 'none', maker: 'none', outcomes: none },
  others: [{ name: 'other', maker: 'peer', outcomes: other }],
});

describe('the figures of a policy', () => {
  const figures = figuresOf(
    set(
      [outcome(100, {}, [true]), outcome(200, {}, [true, true]), outcome(100)],
      [outcome(104, { fetches: 4 }, [true]), outcome(100, {}, [false, true]), outcome(103)],
    ),
  ).policies[1];

  it('count a conversation as dearer over 1.03 times its cost, and name the worst', () => {
    expect(figures).toMatchObject({ dearer: 1, worst: 1.04 });
  });

  it('have the bill with fetches and without', () => {
    expect(figures?.paidToNone).toBeCloseTo(307 / 400, 9);
    expect(figures?.paidWithoutFetches).toBeCloseTo(303 / 400, 9);
  });

  it('add up savings and values, with intervals around the figures', () => {
    expect(figures).toMatchObject({ savedGross: 90, savedUnique: 30, visible: 2, reachable: 3 });
    const [low = Number.NaN, high = Number.NaN] = figures?.paidInterval ?? [];
    expect(low).toBeLessThan(307 / 400);
    expect(high).toBeGreaterThan(307 / 400);
    expect(figures?.visibleInterval).toEqual([0.5, 1]);
  });
});

describe('an interval', () => {
  it('is missing for fewer than two conversations', () => {
    expect(intervalOf([])).toBeUndefined();
    expect(intervalOf([{ part: 1, whole: 2 }])).toBeUndefined();
    expect(
      intervalOf([
        { part: 1, whole: 2 },
        { part: 0, whole: 0 },
      ]),
    ).toBeUndefined();
  });

  it('is a point where all conversations have the same ratio', () => {
    expect(
      intervalOf([
        { part: 1, whole: 2 },
        { part: 4, whole: 8 },
      ]),
    ).toEqual([0.5, 0.5]);
  });

  it('is reproducible, lies among the ratios of the conversations, and narrows with their number', () => {
    const part = fc.record({
      part: fc.integer({ min: 0, max: 100 }),
      whole: fc.integer({ min: 1, max: 100 }),
    });
    forAll(20, fc.array(part, { minLength: 2, maxLength: 12 }), (parts) => {
      const [low, high] = intervalOf(parts) ?? [];
      const ratios = parts.map(({ part, whole }) => part / whole);
      expect([low, high]).toEqual(intervalOf(parts));
      expect(low).toBeGreaterThanOrEqual(Math.min(...ratios) - 1e-9);
      expect(high).toBeLessThanOrEqual(Math.max(...ratios) + 1e-9);
    });
    const two = [
      { part: 1, whole: 10 },
      { part: 9, whole: 10 },
    ];
    const width = (times: number): number => {
      const [low = 0, high = 0] = intervalOf(Array.from({ length: times }, () => two).flat()) ?? [];
      return high - low;
    };
    expect(width(50)).toBeLessThan(width(2) / 2);
  });
});

describe('the classes of length', () => {
  const lengths = [15_999, 16_000, 200_000, 3_000];
  const all = set(
    lengths.map((peak) => outcome(100, { peak })),
    lengths.map((peak, index) => outcome(index, { peak: peak / 2 })),
  );

  it('are the array’s without a policy, for all policies', () => {
    const classes = byLength(all);

    expect(classes.map(({ name, none }) => [name, none.outcomes.length])).toEqual([
      ['under 16k', 2],
      ['16k–32k', 1],
      ['128k and more', 1],
    ]);
    expect(classes.map(({ others }) => others[0]?.outcomes.map(({ bill }) => bill.paid))).toEqual([
      [0, 3],
      [1],
      [2],
    ]);
  });

  it('have every conversation once', () => {
    expect(figuresOf(together(byLength(all))).policies[1]?.paid).toBe(0 + 1 + 2 + 3);
  });
});
