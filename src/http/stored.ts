/** What fails in storage, told to the caller. */
import type { Context } from 'hono';
import { ApiError } from './errors.ts';
import type { AppEnv } from './services.ts';

/** @throws ApiError `store_failed` when the work fails */
export async function stored<Value>(c: Context<AppEnv>, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch {
    c.get('services').log('error', 'storage has failed', { code: 'store_failed' });
    throw new ApiError('store_failed', 'The storage could not be read or written; try again.');
  }
}
