/**
 * `archive: true` and `ARCHIVE=always`: stores a request's messages and the text of its answer
 * unchanged, once the upstream has accepted the request (docs/conversations.md#the-archive).
 */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { archiveOf, isArchived } from '../request/archive.ts';
import type { Call } from '../request/call.ts';
import { isOvertaken } from '../request/conversation.ts';
import type { CallEnd, CallFeature } from './listener.ts';

/** Archives when the answer has ended, however it ended: messages and answer are one write. */
export const archive: CallFeature = (call) =>
  isArchived(call) ? { readsAnswer: true, ended: (end) => addToArchive(call, end) } : undefined;

/** Never throws. */
async function addToArchive(call: Call, { asked, text }: CallEnd): Promise<void> {
  if (!asked?.answer.ok) return;
  // Yield, so that the answer's last bytes go out first.
  await pause(0);
  if (isOvertaken(call)) return;
  const { scope } = call;
  try {
    // Another key of the request may be the one that the model's server has looked at.
    if (!scope.caller.tenant || !(await scope.isAccepted(scope.caller.tenant))) return;
    const archived = archiveOf(call, text);
    await archived?.archive.add(archived.entries, scope.timings.startedAt);
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'messages could not be archived', error);
  }
}
