/** The view of a conversation for a caller who wants nothing else, with the newest memory. */
import { logCaught } from '../log.ts';
import { Boundaries } from '../memory/conversation/boundaries.ts';
import { isBetweenRounds } from '../memory/plan/due-memory.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';
import { makeView, tryView } from './make-view.ts';
import { passed } from './refused-view.ts';
import { untilSettled } from './until-settled.ts';

/**
 * Has a memory made that is due. With `force` the view waits for it, unless a round is in progress,
 * which keeps the memory of its first request while its view is not refused with that.
 *
 * @throws see `makeView`
 */
export async function makeCurrentView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const { scope } = call;
  const tried = await tryView(call, options);
  const conversation = options.force && !options.dryRun ? conversationToAwait(tried, call) : undefined;
  if (!conversation || !tried.remember) {
    const made = await passed(tried, call, options);
    if (made.remember && !options.dryRun) scope.waitUntil(made.remember(undefined));
    return made;
  }
  await tried.remember(undefined);
  try {
    await scope.timings.measure('summary', () => untilSettled(conversation, scope.services));
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'a memory could not be waited for', error);
    const { report } = tried;
    const warnings = [...new Set([...report.warnings, 'store_failed' as const])];
    return passed({ ...tried, report: { ...report, warnings } }, call, options);
  }
  return makeView(call, options);
}

/** The conversation, if its last round is answered, or its view is refused. */
function conversationToAwait({ history, exceeded }: MadeView, call: Call): StoredConversation | undefined {
  if (!history || (!exceeded && !isBetweenRounds(new Boundaries(history, sha256Hex)))) return undefined;
  return conversationOfCall(call);
}
