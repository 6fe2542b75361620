/** Events of answers that have ended, and are not kept yet. */
import { soon } from '../lib/time-limit.ts';
import type { Services } from '../request/services.ts';
import { TIME_LIMITS } from '../time-limits.ts';

/**
 * Has the events of this isolate kept, so that a caller who has its answer can read them, or delete
 * them. Those of other isolates come within `eventBatchMs`.
 *
 * @param owner the name of a conversation, or the id of a tenant
 */
export async function keptRuns(owner: string, { runOutboxes }: Services): Promise<void> {
  await soon(TIME_LIMITS.keptEventsMs, runOutboxes.settled(owner));
}
