/** Events of answers that have ended, and are still being kept. */
import { soon } from '../lib/time-limit.ts';
import type { Services } from '../request/services.ts';
import { TIME_LIMITS } from '../time-limits.ts';

/**
 * Waits for the events of this isolate, so that a caller who has its answer can read them, or
 * delete them.
 *
 * @param owner the name of a conversation, or the id of a tenant
 */
export async function keptRuns(owner: string, { keptRuns: kept }: Services): Promise<void> {
  await soon(TIME_LIMITS.keptEventsMs, kept.settled(owner));
}
