/** When `precis start` runs the scheduled handler: at the times at which Cloudflare does. */

import { RUNS_EVERY_MS } from '../src/lib/utc-time.ts';

/** As in wrangler.toml. */
export const CRON = '*/15 * * * *';

/**
 * Calls back at each quarter of an hour of UTC, with its time. The handler has work for one quarter
 * of a day or a week: runs counted from the start would miss it where the program is started anew.
 *
 * @param after in milliseconds since 1970
 */
export function eachRun(run: (at: Date) => void, after: number = Date.now()): void {
  const at = (Math.floor(after / RUNS_EVERY_MS) + 1) * RUNS_EVERY_MS;
  setTimeout(() => {
    run(new Date(at));
    // A timer may be early, or late by hours where the machine sleeps.
    eachRun(run, Math.max(at, Date.now()));
  }, at - Date.now());
}
