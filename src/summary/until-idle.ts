/** Waiting for a conversation's object, which makes summaries in the background. */
import { within } from '../lib/time-limit.ts';
import type { StoredConversation } from './conversation.ts';

/** How long a call waits in the object, in milliseconds. */
const TURN_MS = 5_000;

/** How long such a call may take, in milliseconds (docs/design.md#5-routes). */
export const IDLE_LIMIT_MS = 10_000;

/**
 * Waits until the object makes nothing more. It is asked again every few seconds, so that one that
 * no longer answers is told from one that waits for its summarizer.
 *
 * @param ms how long to wait at most, in milliseconds; 0 only asks
 * @returns whether it makes nothing
 * @throws if the object does not answer within ten seconds
 */
export async function untilIdle({ memory }: StoredConversation, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  for (let left = ms; ; left = end - Date.now()) {
    const turn = Math.max(0, Math.min(left, TURN_MS));
    const isIdle = await within(
      IDLE_LIMIT_MS,
      memory((stub) => stub.idle(turn)),
    );
    if (isIdle || left <= TURN_MS) return isIdle;
  }
}
