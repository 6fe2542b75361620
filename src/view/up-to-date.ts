/** Waiting for the memory that is made in the background. */
import { soon, within } from '../lib/time-limit.ts';
import type { Services } from '../request/services.ts';
import type { StoredConversation } from '../summary/conversation.ts';

/** How long a caller waits at most, in milliseconds (docs/design.md#5-routes). */
export const FLUSH_MS = 60_000;

/** The time that an object may take to answer after its wait, in milliseconds. */
const CALL_MS = 5_000;

/**
 * Waits until this isolate has handed over what it knows, and the conversation's object makes
 * nothing more.
 *
 * @returns whether that is so within the limit
 * @throws if the object does not answer
 */
export async function upToDate({ name, memory }: StoredConversation, services: Services): Promise<boolean> {
  const end = Date.now() + FLUSH_MS;
  await soon(FLUSH_MS, services.pending.settled(name));
  const left = Math.max(0, end - Date.now());
  return within(
    left + CALL_MS,
    memory((stub) => stub.idle(left)),
  );
}
