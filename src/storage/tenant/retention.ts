/**
 * How long contents are kept when nobody uses them (`RETENTION_DAYS`).
 *
 * R2 knows when an object was uploaded, not when it was used. So what is used when half of its time
 * is over is written again: whatever is in use is younger than its time, for our own sweep and for
 * R2's lifecycle rules alike (https://developers.cloudflare.com/r2/buckets/object-lifecycles/).
 */

const DAY_MS = 24 * 60 * 60_000;

export class Retention {
  /** In milliseconds; undefined: everything is kept. */
  private readonly time: number | undefined;
  private readonly now: () => number;

  constructor(days: number | undefined, now: () => number = Date.now) {
    this.time = days === undefined ? undefined : days * DAY_MS;
    this.now = now;
  }

  /** Whether anything is ever collected. */
  get isOn(): boolean {
    return this.time !== undefined;
  }

  /**
   * Whether what was uploaded then is to be written again when it is used.
   *
   * @param uploaded in milliseconds
   */
  isDue(uploaded: number): boolean {
    return this.time !== undefined && this.now() - uploaded > this.time / 2;
  }

  /** Whether what was uploaded then may have been collected. @param uploaded in milliseconds */
  mayBeGone(uploaded: number): boolean {
    return this.time !== undefined && this.now() - uploaded > this.time;
  }

  /** What was not used since then is not kept; undefined: everything is. In milliseconds. */
  get unusedSince(): number | undefined {
    return this.time === undefined ? undefined : this.now() - this.time;
  }
}
