/** Ratios with an interval: what they estimate, and how often their interval has the truth. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FEWEST_UNITS,
  lessThan,
  type Moments,
  NO_MOMENTS,
  quantile,
  ratioOf,
  withUnit,
} from '../../../../src/memory/run/ratio.ts';
import { forAll } from '../../../support/laws/runs.ts';

type Unit = readonly [y: number, x: number];

const momentsOf = (units: readonly Unit[]): Moments =>
  units.reduce((sums, [y, x]) => withUnit(sums, y, x), NO_MOMENTS);

const unit = fc.tuple(fc.integer({ min: -1_000, max: 1_000 }), fc.integer({ min: 1, max: 1_000 }));
const units = fc.array(unit, { minLength: 3 * FEWEST_UNITS, maxLength: 90 });

/** The same number in each run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

describe('a ratio of sums', () => {
  it('has the error of the deviations of its units', () => {
    forAll(units, (all) => {
      const sum = (of: (unit: Unit) => number): number => all.reduce((whole, one) => whole + of(one), 0);
      const [y, x] = [sum(([one]) => one), sum(([, one]) => one)];
      const squares = sum(([mine, size]) => (mine - (y / x) * size) ** 2);
      const n = x ** 2 / sum(([, one]) => one ** 2);
      if (n < FEWEST_UNITS) return;
      const wanted = (quantile(n - 1) * Math.sqrt((n / (n - 1)) * squares)) / x;
      const { value = Number.NaN, margin = null } = ratioOf(momentsOf(all)) ?? {};

      expect(value).toBeCloseTo(y / x, 10);
      expect(margin).not.toBeNull();
      expect(Math.abs((margin ?? 0) - wanted)).toBeLessThan(1e-6 * (1 + wanted));
    });
  });

  it('does not depend on the unit of its amounts, nor on the order of units', () => {
    forAll(units, fc.integer({ min: 1, max: 1_000_000_000 }), (all, scale) => {
      const scaled = all.map(([y, x]): Unit => [y * scale, x * scale]).toReversed();
      const [one, other] = [ratioOf(momentsOf(all)), ratioOf(momentsOf(scaled))];

      expect(other?.value).toBeCloseTo(one?.value ?? Number.NaN, 9);
      expect(other?.margin).toBeCloseTo(one?.margin ?? Number.NaN, 6);
    });
  });

  it('is certain where all units agree', () => {
    forAll(units, (all) => {
      const { value, margin } = ratioOf(momentsOf(all.map(([, x]) => [x * 0.25, x]))) ?? {};
      expect(value).toBeCloseTo(0.25, 12);
      expect(margin).toBeCloseTo(0, 6);
    });
  });

  it('has no interval where a few units are most of it', () => {
    const even = Array.from({ length: FEWEST_UNITS }, (_, at): Unit => [at, 10]);
    expect(ratioOf(momentsOf(even))?.margin).toBeGreaterThan(0);
    expect(ratioOf(momentsOf([...even, [1_000, 2_000]]))?.margin).toBeNull();
  });

  it('has no interval of a few units, and is unknown without one', () => {
    const few = Array.from({ length: FEWEST_UNITS - 1 }, (_, at): Unit => [at, 10]);
    expect(ratioOf(momentsOf(few))?.margin).toBeNull();
    expect(ratioOf(momentsOf([...few, [1, 10]]))?.margin).toBeGreaterThan(0);
    expect(ratioOf(NO_MOMENTS)).toBeUndefined();
    expect(lessThan(momentsOf(few), NO_MOMENTS)).toBeUndefined();
  });

  it.each([
    [9, 2.2622],
    [29, 2.0452],
    [99, 1.9842],
    [1_000_000, 1.96],
  ])('takes the quantile of %i degrees of freedom', (freedom, wanted) => {
    expect(quantile(freedom)).toBeCloseTo(wanted, 3);
  });
});

/** Conversations of very different size; the longer they are, the more is saved of them. */
function conversation(random: () => number, without: number): Unit {
  const whole = Math.exp(normal(random));
  const share = Math.min(0.9, Math.max(-0.2, 0.25 + 0.1 * Math.log(whole) + 0.15 * normal(random)));
  return [without * share * whole, whole];
}

/** Σy ÷ Σx of enough conversations to leave chance out. */
function truth(of: (random: () => number) => Unit): number {
  const random = randomFrom(1);
  const { y, x } = momentsOf(Array.from({ length: 400_000 }, () => of(random)));
  return y / x;
}

describe('an interval of 95 %', () => {
  it.each([
    [60, 0.89],
    [120, 0.91],
    [500, 0.925],
  ])('has the truth about as often with %i conversations of unequal size', (count, least) => {
    const real = truth((random) => conversation(random, 1));
    const random = randomFrom(count);
    let [has, all] = [0, 0];
    for (let run = 0; run < 2_000; run++) {
      const one = ratioOf(momentsOf(Array.from({ length: count }, () => conversation(random, 1))));
      if (one?.margin == null) continue;
      all++;
      if (Math.abs(one.value - real) <= one.margin) has++;
    }
    expect(has / all).toBeGreaterThan(least);
    expect(has / all).toBeLessThan(0.965);
  });

  it('has the true difference of two sides about as often', () => {
    /** [paid, billed requests] of a conversation whose requests cost this much. */
    const paid =
      (price: number) =>
      (random: () => number): Unit => {
        const requests = 1 + Math.floor(12 * Math.exp(0.8 * normal(random)));
        return [price * requests ** 1.2 * Math.exp(0.3 * normal(random)), requests];
      };
    const real = 1 - truth(paid(0.7)) / truth(paid(1));
    const random = randomFrom(7);
    let has = 0;
    const runs = 2_000;
    for (let run = 0; run < runs; run++) {
      const side = (price: number, count: number) =>
        momentsOf(Array.from({ length: count }, () => paid(price)(random)));
      const { value, margin } = lessThan(side(0.7, 200), side(1, 60)) ?? { value: 0, margin: 0 };
      if (Math.abs(value - real) <= (margin ?? 0)) has++;
    }
    expect(real).toBeCloseTo(0.3, 2);
    expect(has / runs).toBeGreaterThan(0.92);
    expect(has / runs).toBeLessThan(0.98);
  });
});
