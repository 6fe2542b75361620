/** Sums by day begin anew at midnight (UTC), also within a test. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../src/lib/utc-time.ts';

/**
 * For tests of what was counted today: waits for the next day where this one ends too soon.
 *
 * @param within how long the test takes at most, in milliseconds
 */
export async function untilDayLasts(within: number): Promise<void> {
  const left = DAY_MS - (Date.now() % DAY_MS);
  if (left < within) await sleep(left);
}
