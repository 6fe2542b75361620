/**
 * Whether the frontier has moved since the caller's request before. The replay of an array sees a
 * request at each point where one can have been. A caller that sends its array only every few steps
 * has skipped some of them, and with them perhaps the move. The conversation's object knows which
 * beginnings of the array were answered; requests of other branches count for nothing.
 */
import { elementAt } from '../lib/elements.ts';
import { soon } from '../lib/time-limit.ts';
import { logged } from '../log.ts';
import { arrayName, prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { earlierRequests } from '../memory/plan/edits-before.ts';
import type { Report } from '../memory/plan/report.ts';
import { ownChange } from '../memory/replay/change.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from '../view/made-view.ts';
import { extendsSent, moved } from '../view/sent-before.ts';
import type { CallFeature } from './listener.ts';

/** Of the beginnings of an array that are asked for, the longest. */
const MOST_ENDS = 256;

/** Of requests that name their conversation, and have an event. */
export const movedSince: CallFeature = (call) => {
  const conversation = namedConversation(call);
  if (!conversation) return undefined;
  return { reports: (made) => frontierSince(conversation, made, call) };
};

/**
 * The report of a view that is not sent, with a frontier that has moved since the request before.
 */
export async function sinceBefore(call: Call, made: MadeView): Promise<Report> {
  const conversation = namedConversation(call);
  return conversation ? { ...made.report, ...(await frontierSince(conversation, made, call)) } : made.report;
}

/** Nothing where the report has its frontier already. */
async function frontierSince(
  conversation: StoredConversation,
  made: MadeView,
  call: Call,
): Promise<Partial<Pick<Report, 'frontier' | 'changed'>>> {
  const { report, movedAt, shownFrom, before: sent } = made;
  const { frontier, applied_edits } = report;
  const isUnedited = frontier.unit === 0 && applied_edits.length === 0;
  const since = movedAt ?? shownFrom;
  if (frontier.moved || isUnedited || !since) return {};
  const before = await messagesBefore(conversation, since, sent?.messages ?? 0, call);
  const hasMovedBetween =
    before !== undefined && since > before && !(before === sent?.messages && extendsSent(sent, made, call));
  const change = ownChange({ hasMovedBetween });
  return change ? { frontier: moved(report, change).frontier, changed: change } : {};
}

/**
 * How many messages the longest beginning of the array had that was answered. Undefined if that is
 * not known.
 *
 * @param enough if this isolate knows of one with this many, none with more is asked for
 * @param known messages of the longest that it knows of; 0 without one
 */
async function messagesBefore(
  conversation: StoredConversation,
  enough: number,
  known: number,
  call: Call,
): Promise<number | undefined> {
  if (known >= enough) return known;
  const { messages } = call.request;
  const hashes = prefixHashes(messages, sha256Hex);
  const ends = [messages.length, ...earlierRequests(messages)].slice(0, MOST_ENDS);
  const names = ends.map((end) => arrayName(elementAt(hashes, end)));
  const asking = conversation.memory((stub) => stub.events.answered(names));
  const failed = logged(call.scope.services.log, 'warn', 'the request before is not known', undefined);
  const found = await soon(TIME_LIMITS.movedSinceMs, asking).catch(failed);
  // The newest events may not be kept yet.
  return Math.max(known, ends[found ?? ends.length] ?? 0) || undefined;
}

/** Undefined if the request does not name its conversation, or has no event. */
function namedConversation({ owner, scope }: Call): StoredConversation | undefined {
  const { conversation: id, off, user } = owner;
  const { tenant } = scope.caller;
  if (!tenant || id === undefined || off.length > 0 || !scope.services.config.keepsEvents) return undefined;
  return storedConversation(user, { id }, tenant, scope.services);
}
