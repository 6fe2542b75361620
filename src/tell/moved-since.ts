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
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from '../view/made-view.ts';
import { moved, sentBefore } from '../view/sent-before.ts';
import type { CallFeature } from './listener.ts';

/** The newest events among which one of an answer is looked for. */
const LOOKED_AT = 5;

/** Of requests that name their conversation, and have an event. */
export const movedSince: CallFeature = (call) => {
  const conversation = namedConversation(call);
  if (!conversation) return undefined;
  return { reports: (made) => frontierSince(conversation, made, call) };
};

/**
 * The report of a view that does not go up, with a frontier that has moved since the request
 * before.
 */
export async function sinceBefore(call: Call, made: MadeView): Promise<Report> {
  const conversation = namedConversation(call);
  return conversation ? { ...made.report, ...(await frontierSince(conversation, made, call)) } : made.report;
}

/** Nothing where the plan's own word stands. */
async function frontierSince(
  conversation: StoredConversation,
  { report, movedAt }: MadeView,
  call: Call,
): Promise<Partial<Pick<Report, 'frontier'>>> {
  const { frontier, applied_edits } = report;
  const isUnedited = frontier.unit === 0 && applied_edits.length === 0;
  if (frontier.moved || isUnedited || !movedAt) return {};
  const before = await messagesBefore(conversation, movedAt, call);
  return before === undefined || movedAt <= before ? {} : { frontier: moved(report).frontier };
}

/**
 * How many messages the request before had. Undefined if that is not known.
 *
 * @param enough if this isolate knows of a request with so many, no later one is asked for
 */
async function messagesBefore(
  conversation: StoredConversation,
  enough: number,
  call: Call,
): Promise<number | undefined> {
  const known = sentBefore(call)?.messages;
  if (known !== undefined && known >= enough) return known;
  try {
    const page = await soon(
      TIME_LIMITS.movedSinceMs,
      conversation.memory((stub) => stub.listRuns(null, LOOKED_AT)),
    );
    const stored = page?.runs.find(({ kind, status }) => kind === 'answer' && status < 400)?.messages;
    // The newest events may not be kept yet.
    return stored === undefined ? known : Math.max(stored, known ?? 0);
  } catch (error) {
    logCaught(call.scope.services.log, 'warn', 'the request before is not known', error);
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
