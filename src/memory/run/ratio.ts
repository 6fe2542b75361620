/**
 * Ratios of sums over units of different size, with an interval: the ratio estimator of survey
 * sampling (Cochran, Sampling Techniques, ch. 6). Its units here are conversations, since the
 * requests of one are not independent. Sums of squares and products are enough, so units need not
 * be kept. Pure.
 */

/** Sums over units of y, of x, and of their products. */
export interface Moments {
  readonly units: number;
  readonly y: number;
  readonly x: number;
  readonly yy: number;
  readonly xy: number;
  readonly xx: number;
}

export const NO_MOMENTS: Moments = { units: 0, y: 0, x: 0, yy: 0, xy: 0, xx: 0 };

/** The interval of 95 % is `value` ± `margin`; null if there are too few units for one. */
export interface Estimate {
  readonly value: number;
  readonly margin: number | null;
}

/** With fewer, an interval would promise too much. */
export const FEWEST_UNITS = 10;

export function withUnit(sums: Moments, y: number, x: number): Moments {
  return {
    units: sums.units + 1,
    y: sums.y + y,
    x: sums.x + x,
    yy: sums.yy + y * y,
    xy: sums.xy + x * y,
    xx: sums.xx + x * x,
  };
}

/** Σy ÷ Σx; undefined if nothing is known. */
export function ratioOf(sums: Moments): Estimate | undefined {
  if (sums.x <= 0) return undefined;
  const value = sums.y / sums.x;
  const error = errorOf(sums);
  return { value, margin: error === null ? null : error * quantile(evenUnits(sums) - 1) };
}

/**
 * How much less the ratio of one is than the other's, as a share of the latter. They are of
 * different units, so their errors are independent (the delta method). The freedom is the smaller
 * side's, which is the careful choice.
 */
export function lessThan(one: Moments, other: Moments): Estimate | undefined {
  if (one.x <= 0 || other.x <= 0 || other.y <= 0 || one.y < 0) return undefined;
  const [mine, others] = [one.y / one.x, other.y / other.x];
  const [error, otherError] = [errorOf(one), errorOf(other)];
  const value = 1 - mine / others;
  if (error === null || otherError === null) return { value, margin: null };
  const relative = Math.hypot(error / others, (otherError * mine) / others ** 2);
  return { value, margin: relative * quantile(Math.min(evenUnits(one), evenUnits(other)) - 1) };
}

/**
 * As many units of one size would weigh as much as these (Kish): where a few are most of the sum,
 * the others say little. All units, if they have one size.
 */
export function evenUnits({ x, xx }: Moments): number {
  return xx > 0 ? x ** 2 / xx : 0;
}

/** The standard error of a ratio: of what each unit deviates from it (`y − ratio · x`). */
function errorOf(sums: Moments): number | null {
  const { y, x, yy, xy, xx } = sums;
  const units = evenUnits(sums);
  // One size of all units is not lost by rounding.
  if (units < FEWEST_UNITS - 1e-6) return null;
  const ratio = y / x;
  // Of equal ratios nothing is left but what rounding has made.
  const squares = Math.max(0, yy - 2 * ratio * xy + ratio * ratio * xx);
  return Math.sqrt((squares * units) / (units - 1)) / x;
}

/** 97.5 % of a standard normal distribution. */
const Z = 1.959964;

/**
 * 97.5 % of Student's distribution, by its expansion in 1 ÷ freedom (Abramowitz & Stegun 26.7.5);
 * within 0.001 from 9 degrees on.
 */
export function quantile(freedom: number): number {
  const first = (Z ** 3 + Z) / 4;
  const second = (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96;
  const third = (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384;
  return Z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}

/** `31 % ± 4`, without its sign, with as many digits as the interval has. */
export function shareIn({ value, margin }: Estimate): string {
  const digits = margin === null || margin >= 0.01 ? 0 : 1;
  const percent = (100 * Math.abs(value)).toFixed(digits);
  if (margin === null) return `${percent} % (of too few conversations for an interval)`;
  return `${percent} % ± ${Math.max(10 ** -digits, 100 * margin).toFixed(digits)}`;
}
