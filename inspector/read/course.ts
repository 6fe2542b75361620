/** The requests of a whole conversation under a strategy, summed up. */
import type { Explained } from '../api/answers.ts';
import { inDollars } from './money.ts';

export type Course = NonNullable<Explained['course']>;

/** Sums over all requests. Amounts are in dollars; undefined if one of them is not known. */
export interface CourseSums {
  readonly requests: number;
  readonly came: number;
  readonly sent: number;
  readonly moves: number;
  readonly without: number | undefined;
  readonly price: number | undefined;
}

export function courseSums(course: Course): CourseSums {
  return {
    requests: course.length,
    came: course.reduce((sum, { before }) => sum + before, 0),
    sent: course.reduce((sum, { after }) => sum + after, 0),
    moves: course.filter(({ moved }) => moved).length,
    without: priceOf(course.map(({ price_before: price }) => price)),
    price: priceOf(course.map(({ price_after: price }) => price)),
  };
}

function priceOf(prices: readonly (number | null)[]): number | undefined {
  let sum = 0;
  for (const price of prices) {
    if (price === null) return undefined;
    sum += price;
  }
  return inDollars(sum);
}

/** The points of a line in a box of 100 by 40; one value is a level line. */
export function linePoints(values: readonly number[], most: number): string {
  const y = (value: number): string => (40 - (40 * value) / Math.max(most, 1)).toFixed(2);
  const [only] = values;
  if (values.length === 1 && only !== undefined) return `0,${y(only)} 100,${y(only)}`;
  return values.map((value, at) => `${((100 * at) / (values.length - 1)).toFixed(2)},${y(value)}`).join(' ');
}
