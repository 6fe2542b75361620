/**
 * Whether the frontier has moved since the caller's request before. The replay of an array sees a
 * request at each point where one can have been. A caller that sends its array only every few steps
 * has skipped some of them, and with them perhaps the move. The conversation's object knows the
 * request before.
 */
import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import type { MadeView } from '../view/made-view.ts';

/** How long the object may take, in milliseconds. It is asked while the upstream works. */
const ASK_LIMIT_MS = 1_000;

/** The newest events among which one of an answer is looked for. */
const LOOKED_AT = 5;

/**
 * The report of a view, with a frontier that has moved since the request before. Without a name, or
 * without an earlier event, the plan's own word stands.
 */
export async function sinceBefore(call: Call, made: MadeView): Promise<Report> {
  const { report, movedAt } = made;
  const isUnedited = report.frontier.unit === 0 && report.applied_edits.length === 0;
  if (report.frontier.moved || isUnedited || movedAt === undefined) return report;
  const conversation = namedConversation(call);
  if (!conversation) return report;
  const before = await messagesBefore(conversation, movedAt, call);
  if (before === undefined || movedAt <= before) return report;
  return { ...report, frontier: { ...report.frontier, moved: true } };
}

/** Notes that the upstream has accepted a request. */
export function noteSent(call: Call): void {
  const conversation = namedConversation(call);
  if (conversation)
    call.scope.learned.conversation(conversation.name).sent.set('', call.request.messages.length);
}

/**
 * How many messages the request before had. Undefined if that is not known.
 *
 * @param enough if this isolate knows of a request with so many, no later one is asked for
 */
async function messagesBefore(
  conversation: StoredConversation,
  enough: number,
  { scope }: Call,
): Promise<number | undefined> {
  const known = scope.learned.conversation(conversation.name).sent.get('');
  if (known !== undefined && known >= enough) return known;
  try {
    const runs = await soon(
      ASK_LIMIT_MS,
      conversation.memory((stub) => stub.listRuns(null, LOOKED_AT)),
    );
    const stored = runs?.find(({ kind, status }) => kind === 'answer' && status < 400)?.messages;
    // The newest event may not be kept yet.
    return stored === undefined ? known : Math.max(stored, known ?? 0);
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'the request before is not known', error);
    return known;
  }
}

/** Undefined if the request does not name its conversation, or has no event. */
function namedConversation({ owner, scope }: Call): StoredConversation | undefined {
  const { conversation: id, off, user } = owner;
  const { tenant } = scope.caller;
  if (!tenant || id === undefined || off.length > 0 || !scope.services.config.keepsEvents) return undefined;
  return storedConversation(user, { id }, tenant, scope.services);
}
