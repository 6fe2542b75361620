/** Shorter time limits, for tests in the same process as the Worker's code. */
import { TIME_LIMITS } from '../../src/time-limits.ts';

export type TimeLimits = typeof TIME_LIMITS;

/** The limits of every deployment. */
const OURS: TimeLimits = { ...TIME_LIMITS };

/**
 * Shortens limits, for the waits that begin from now on.
 *
 * @returns what gives all limits their values again, as `beforeEach` and `onTestFinished` take it
 */
export function shorten(limits: Partial<TimeLimits>): () => void {
  Object.assign(TIME_LIMITS, limits);
  return () => void Object.assign(TIME_LIMITS, OURS);
}
