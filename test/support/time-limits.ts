/** Shorter time limits, for tests in the same process as the Worker's code. */
import { TIME_LIMITS } from '../../src/time-limits.ts';

export type TimeLimits = typeof TIME_LIMITS;

/** The limits of every deployment. */
const OURS: TimeLimits = { ...TIME_LIMITS };

/** Shortens limits, for the waits that begin until the end of the test (restored.ts). */
export function shorten(limits: Partial<TimeLimits>): void {
  Object.assign(TIME_LIMITS, limits);
}

/** Gives all limits their values again. */
export function restoreLimits(): void {
  Object.assign(TIME_LIMITS, OURS);
}

/**
 * Does some work under shorter limits. What something hangs in belongs here, and what must be
 * answered in time does not: a busy machine may take longer than any short limit.
 */
export async function shortened<Value>(
  limits: Partial<TimeLimits>,
  work: () => Promise<Value>,
): Promise<Value> {
  const before = { ...TIME_LIMITS };
  shorten(limits);
  try {
    return await work();
  } finally {
    Object.assign(TIME_LIMITS, before);
  }
}
