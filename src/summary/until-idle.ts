/** Waiting for a conversation's object, which makes summaries in the background. */
import { within } from '../lib/time-limit.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { StoredConversation } from './conversation.ts';

/**
 * Waits until the object makes nothing more. It is asked again every few seconds, so that one that
 * no longer answers is distinguished from one that waits for its summarizer.
 *
 * @param ms how long to wait at most, in milliseconds; 0 only asks
 * @returns whether it makes nothing
 * @throws if the object does not answer within ten seconds
 */
export async function untilIdle({ memory }: StoredConversation, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  for (let left = ms; ; left = end - Date.now()) {
    const turn = Math.max(0, Math.min(left, TIME_LIMITS.idleTurnMs));
    const isIdle = await within(
      TIME_LIMITS.idleCallMs,
      memory((stub) => stub.idle(turn)),
    );
    if (isIdle || left <= TIME_LIMITS.idleTurnMs) return isIdle;
  }
}
