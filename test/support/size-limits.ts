/** Lower size limits, for tests in the same process as the Worker's code. */
import { SIZE_LIMITS } from '../../src/request/size-limits.ts';

/** The limits of every deployment. */
const OURS: typeof SIZE_LIMITS = { ...SIZE_LIMITS };

/**
 * Lowers limits, for the bodies that are read from now on.
 *
 * @returns what gives all limits their values again, as `beforeEach` and `onTestFinished` take it
 */
export function lower(limits: Partial<typeof SIZE_LIMITS>): () => void {
  Object.assign(SIZE_LIMITS, limits);
  return () => void Object.assign(SIZE_LIMITS, OURS);
}
