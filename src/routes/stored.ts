/** Calls to storage from routes: time limits, and failures as errors for the caller. */
import { StoreError } from '../lib/store-error.ts';
import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { ApiError, internalError } from '../request/errors.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { RouteContext } from './context.ts';

/** @throws ApiError `store_failed` if the work fails or takes too long */
export async function stored<Value>(
  c: RouteContext,
  work: () => Promise<Value>,
  limitMs = TIME_LIMITS.routeStorageMs,
): Promise<Value> {
  const ended = await inTime(c, work(), limitMs);
  if (ended === 'late') throw failed(c, new StoreError(new Late()));
  return ended.value;
}

/**
 * Runs a deletion. If it has begun when the time is up, it goes on in the background.
 *
 * @param work calls `begin` before it deletes anything. `begin` throws if the caller has already
 *   got a failure.
 * @returns `under way` if it goes on
 * @throws ApiError `store_failed` if the work fails, or has not begun in time
 */
export async function deletion<Value>(
  c: RouteContext,
  work: (begin: () => void) => Promise<Value>,
): Promise<Value | 'under way'> {
  let state: 'waiting' | 'begun' | 'given up' = 'waiting';
  const begin = (): void => {
    if (state === 'given up') throw new Error('the deletion was given up');
    state = 'begun';
  };
  const hasBegun = (): boolean => state === 'begun';
  const result = work(begin);
  const ended = await inTime(c, result);
  if (ended !== 'late') return ended.value;
  if (hasBegun()) {
    c.executionCtx.waitUntil(result.catch((error: unknown) => failed(c, error)));
    return 'under way';
  }
  state = 'given up';
  // `begin` makes it fail, so its result does not matter.
  result.catch(() => undefined);
  throw failed(c, new StoreError(new Late()));
}

/**
 * The answer to a deletion.
 *
 * @param isGone whether everything is deleted; otherwise the deletion goes on
 */
export function deleted(c: RouteContext, what: object, isGone: boolean): Response {
  return c.json({ ...what, deleted: isGone }, isGone ? 200 : 202);
}

/** @throws ApiError if the work fails in time */
async function inTime<Value>(
  c: RouteContext,
  work: Promise<Value>,
  limitMs = TIME_LIMITS.routeStorageMs,
): Promise<{ readonly value: Value } | 'late'> {
  try {
    return (
      (await soon(
        limitMs,
        work.then((value) => ({ value })),
      )) ?? 'late'
    );
  } catch (error) {
    throw failed(c, error);
  }
}

/** Storage has not answered in time. */
class Late extends Error {
  override readonly name = 'late';
}

function failed(c: RouteContext, error: unknown): ApiError {
  // A refusal is no failure of storage.
  if (error instanceof ApiError) return error;
  const code = logCaught(c.get('services').log, 'error', 'storage has failed', error);
  if (code === 'internal_error') return internalError();
  return new ApiError('store_failed', 'Storage could not be read or written; try again.');
}
