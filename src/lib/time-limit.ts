/** Pauses and limits of time. */
import { StoreError } from './store-error.ts';

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A promise that resolves after some time. Clear it when the race is over. */
interface TimeLimit {
  readonly over: Promise<undefined>;
  clear(): void;
}

export function after(milliseconds: number): TimeLimit {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return { over, clear: () => clearTimeout(timer) };
}

/**
 * The result of `work`, or undefined after so many milliseconds.
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

const LATE = Symbol();

/**
 * The result of `work` in storage.
 *
 * @throws what it rejects with; StoreError if it takes longer than so many milliseconds
 */
export async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  const limit = after(milliseconds);
  try {
    const value = await Promise.race([work, limit.over.then(() => LATE)]);
    if (typeof value === 'symbol') throw new StoreError(new Error(`no answer within ${milliseconds} ms`));
    return value as Value;
  } finally {
    limit.clear();
  }
}
