/** Events of answers that have ended, and are still being kept behind them. */
import { soon } from '../lib/time-limit.ts';
import type { Services } from '../request/services.ts';

/** How long a route waits for them, in milliseconds. */
const WAIT_MS = 1_000;

/**
 * Waits for the events of this isolate, so that a caller who has its answer can read them, or
 * delete them.
 *
 * @param owner the name of a conversation, or the id of a tenant
 */
export async function keptRuns(owner: string, { keptRuns: kept }: Services): Promise<void> {
  await soon(WAIT_MS, kept.settled(owner));
}
