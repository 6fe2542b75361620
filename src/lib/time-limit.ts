/** Pauses and limits of time. */
import { StoreError } from './store-error.ts';

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A promise that resolves after some time. Clear it when the race is over. */
export function after(milliseconds: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return { over, clear: () => clearTimeout(timer) };
}

/**
 * The result of `work`, or undefined after this many milliseconds.
 *
 * @throws if `work` rejects in time
 */
export async function soon<Value>(milliseconds: number, work: Promise<Value>): Promise<Value | undefined> {
  const limit = after(milliseconds);
  try {
    return await Promise.race([work, limit.over]);
  } finally {
    limit.clear();
  }
}

/**
 * The result of `work` in storage.
 *
 * @throws what it rejects with; StoreError if it takes longer than this many milliseconds
 */
export async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  const done = await soon(
    milliseconds,
    work.then((value) => ({ value })),
  );
  if (!done) throw new StoreError(new Error(`no answer within ${milliseconds} ms`));
  return done.value;
}

/**
 * The first timer of a `Patience` fires after this many milliseconds. Most answers have come by
 * then, and a short wait after a long one needs no timer of its own.
 */
const FIRST_MS = 5;

/**
 * A limit of time for one wait after another. One timer serves many waits, since most of them end
 * long before it fires.
 */
export class Patience {
  private dueAt = 0;
  private firesAt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private giveUp: (() => void) | undefined;

  /**
   * The result of `work`, or undefined after this many milliseconds. One wait at a time.
   *
   * @throws if `work` rejects in time
   */
  race<Value>(milliseconds: number, work: Promise<Value>): Promise<Value | undefined> {
    this.dueAt = Date.now() + milliseconds;
    return new Promise((resolve, reject) => {
      this.giveUp = () => resolve(undefined);
      work.then(resolve, reject);
      if (this.timer === undefined) this.arm(Math.min(milliseconds, FIRST_MS));
      else if (this.firesAt > this.dueAt) this.arm(milliseconds);
    });
  }

  /** Call it after the last wait. */
  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(milliseconds: number): void {
    clearTimeout(this.timer);
    this.firesAt = Date.now() + milliseconds;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const left = this.dueAt - Date.now();
      if (left > 0) this.arm(left);
      else this.giveUp?.();
    }, milliseconds);
  }
}
