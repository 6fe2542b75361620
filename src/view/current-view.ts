/** The view of a conversation for a caller who wants nothing else, with the newest memory. */
import { logCaught } from '../log.ts';
import { Boundaries } from '../memory/conversation/boundaries.ts';
import { isBetweenRounds } from '../memory/plan/due-memory.ts';
import type { Call } from '../request/call.ts';
import { conversationOf } from '../request/conversation.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';
import { makeView } from './make-view.ts';
import { untilSettled } from './until-settled.ts';

/**
 * Has a memory made that is due. With `force` the view waits for it, unless a round is in progress,
 * which keeps the memory of its first request.
 *
 * @throws see `makeView`
 */
export async function makeCurrentView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const { scope } = call;
  const made = await makeView(call, options);
  if (!made.remember || options.dryRun) return made;
  const remembering = made.remember(undefined);
  const conversation = options.force ? betweenRounds(made, call) : undefined;
  if (!conversation) {
    scope.waitUntil(remembering);
    return made;
  }
  await remembering;
  try {
    await scope.timings.measure('summary', () => untilSettled(conversation, scope.services));
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'a memory could not be waited for', error);
    const { report } = made;
    return {
      ...made,
      report: { ...report, warnings: [...new Set([...report.warnings, 'store_failed' as const])] },
    };
  }
  return makeView(call, options);
}

/** The conversation, if its last round is answered. */
function betweenRounds({ history }: MadeView, { owner, scope }: Call): StoredConversation | undefined {
  const { caller, services } = scope;
  if (!history || !caller.tenant) return undefined;
  const boundaries = new Boundaries(history, sha256Hex);
  if (!isBetweenRounds(boundaries)) return undefined;
  return conversationOf(owner, history, boundaries, caller.tenant, services);
}
