/**
 * Intervals of ratios by the bootstrap: the conversations are drawn anew with replacement, and the
 * ratio is taken of each draw (Efron & Tibshirani, An Introduction to the Bootstrap, 13.3). They
 * say how far a figure depends on which conversations were recorded.
 */
import { quantile } from '../figures.ts';
import { Random } from '../random.ts';

/** The bounds of a 95 % interval. */
export type Interval = readonly [low: number, high: number];

/** A conversation's part of a ratio of sums. */
export interface Part {
  readonly part: number;
  readonly whole: number;
}

const DRAWS = 1_000;
const SEED = 18;
const TAIL = 0.025;

/**
 * The 95 % interval of the sum of all parts over the sum of all wholes. Equal numbers of
 * conversations are drawn alike, so policies are compared on the same draws.
 *
 * @returns undefined without at least two conversations that have a whole
 */
export function intervalOf(parts: readonly Part[]): Interval | undefined {
  if (parts.filter(({ whole }) => whole > 0).length < 2) return undefined;
  const random = new Random(SEED);
  const ratios: number[] = [];
  for (let draw = 0; draw < DRAWS; draw++) {
    let part = 0;
    let whole = 0;
    for (let left = parts.length; left > 0; left--) {
      const drawn = parts[random.int(0, parts.length - 1)];
      part += drawn?.part ?? 0;
      whole += drawn?.whole ?? 0;
    }
    if (whole > 0) ratios.push(part / whole);
  }
  return [quantile(ratios, TAIL), quantile(ratios, 1 - TAIL)];
}
