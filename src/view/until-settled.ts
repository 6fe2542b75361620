/** Waiting for the memory that is made in the background. */
import { within } from '../lib/time-limit.ts';
import type { Services } from '../request/services.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { TIME_LIMITS } from '../time-limits.ts';

/**
 * Waits until this isolate has handed over what it knows, and the conversation's object makes
 * nothing more.
 *
 * @returns whether that is so within the limit
 * @throws if storage does not answer within ten seconds: the object, or what the isolate waits for
 *   while it hands over
 */
export async function untilSettled(conversation: StoredConversation, services: Services): Promise<boolean> {
  const end = Date.now() + TIME_LIMITS.flushMs;
  const handedOver = within(TIME_LIMITS.idleCallMs, services.pending.settled(conversation.name));
  await Promise.all([handedOver, untilIdle(conversation, 0)]);
  return untilIdle(conversation, Math.max(0, end - Date.now()));
}

/**
 * Waits until the object makes nothing more. It is asked again every few seconds, so that one that
 * no longer answers is distinguished from one that waits for its summarizer.
 *
 * @param ms how long to wait at most, in milliseconds; 0 only asks
 * @returns whether it makes nothing
 * @throws if the object does not answer within ten seconds
 */
async function untilIdle({ memory }: StoredConversation, ms: number): Promise<boolean> {
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
