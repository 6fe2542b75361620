/** Limits of time. */

/** A promise that is over after some time, for races; to be cleared when the race is. */
export interface TimeLimit {
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
 * What `work` resolves to, or undefined when it takes longer than so many milliseconds.
 *
 * @throws when it rejects in time
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

/** What `work` resolves to. @throws when it rejects, or takes longer than so many milliseconds */
export async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  const limit = after(milliseconds);
  try {
    const value = await Promise.race([work, limit.over.then(() => LATE)]);
    if (typeof value === 'symbol') throw new Error(`no answer within ${milliseconds} ms`);
    return value as Value;
  } finally {
    limit.clear();
  }
}
