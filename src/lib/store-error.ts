/**
 * A failure of storage: it does not answer, or not in time, or what it holds can't be read.
 *
 * Calls to R2 and to Durable Objects, waits for them, and stored bytes that can't be read throw a
 * `StoreError` with the cause. Only a `StoreError` is `store_failed`: an `ApiError` has its own
 * code, and anything else is `internal_error`.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Runs work that uses storage and nothing else. @throws StoreError with the cause of a failure */
export async function storing<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StoreError ? error : new StoreError(error);
  }
}
