/**
 * How long unused contents are kept (`RETENTION_DAYS`).
 *
 * R2 knows when an object was uploaded, not when it was used. So an object that is used after half
 * of its time is written again. Any object in use is then younger than the limit, for our own sweep
 * and for R2's lifecycle rules (https://developers.cloudflare.com/r2/buckets/object-lifecycles/).
 *
 * Neither objects nor references can be listed, so the tenant's object records the conversations,
 * when each was last used, and which refs it refers to. A conversation's object reports itself
 * before its first write, once more after it, and then once an hour. The ref writer reports the
 * refs that it writes, and `request/named-refs.ts` those in any body that goes upstream, after the
 * view is made.
 *
 * Unused conversations expire, which releases their refs; then old objects in R2 that no
 * conversation refers to are deleted. A manifest records the earliest upload of its refs, and
 * proves nothing once that may be deleted.
 */

import { DAY_MS } from '../lib/utc-time.ts';

export class Retention {
  /** In milliseconds; undefined: everything is kept. */
  private readonly time: number | undefined;
  private readonly now: () => number;

  constructor(days: number | undefined, now: () => number = Date.now) {
    this.time = days === undefined ? undefined : days * DAY_MS;
    this.now = now;
  }

  /** Whether anything is ever deleted. */
  get isOn(): boolean {
    return this.time !== undefined;
  }

  /**
   * Whether to write an object again when it is used.
   *
   * @param uploaded in milliseconds
   */
  isDue(uploaded: number): boolean {
    return this.time !== undefined && this.now() - uploaded > this.time / 2;
  }

  /** Whether an object may be deleted by now. @param uploaded in milliseconds */
  mayBeGone(uploaded: number): boolean {
    return this.time !== undefined && this.now() - uploaded > this.time;
  }

  /** Data not used since this time is deleted; undefined: never. In milliseconds. */
  get unusedSince(): number | undefined {
    return this.time === undefined ? undefined : this.now() - this.time;
  }
}
