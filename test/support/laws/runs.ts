/**
 * How many cases a property tries. The numbers by day are chosen so that a property takes about a
 * second; `PROPERTY_RUNS=full` has all of them.
 *
 * What a property must have met is stated as a share of this, never as a number of its own.
 */
import { inject } from 'vitest';

/**
 * @param day in most runs
 * @param full in `npm run test:full`
 */
export function runs(day: number, full: number): number {
  return inject('properties').full ? full : day;
}
