/**
 * The reasoning that a request loses, in its report: what its event says after the answer, as far
 * as it is known before it. An isolate remembers the requests of a conversation that it has sent,
 * where the API binds reasoning or a bridge keeps it, and asks no storage. An explanation asks the
 * conversation's object too, which knows what other isolates have sent.
 */
import { soon } from '../lib/time-limit.ts';
import { logged } from '../log.ts';
import { bindsThinking, dropsUnread, reasoningTermsOf } from '../memory/models/past-reasoning.ts';
import { edits } from '../memory/modes/strategy.ts';
import type { Report } from '../memory/plan/report.ts';
import { followed, type Line } from '../memory/run/followed.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { actingOn } from '../request/native-compaction.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from '../view/made-view.ts';
import { type ComparedView, comparedRequest } from './request-prefix.ts';

/** The only value of a conversation in `lines`. */
const LINES = '';

/**
 * @param made the view that was sent; undefined if the body was sent unchanged
 * @param isAnswered whether the next request continues this one
 */
export function withDroppedReasoning(
  report: Report,
  call: Call,
  made: ComparedView | undefined,
  isAnswered: boolean,
): Report {
  const conversation = comparedConversation(report, call, made);
  if (conversation === 'none') return report;
  const known = call.scope.services.memory.of('lines');
  const lines = conversation && known.get(conversation.name, LINES)?.lines;
  const after = following(lines, report, call, made);
  if (conversation && isAnswered) known.set(conversation.name, LINES, { lines: after.lines });
  return withDropped(report, after);
}

/** The same for a view that is not sent. */
export async function withReasoningToDrop(report: Report, call: Call, made: MadeView): Promise<Report> {
  const conversation = comparedConversation(report, call, made);
  if (conversation === 'none') return report;
  const here = conversation && call.scope.services.memory.of('lines').get(conversation.name, LINES);
  const stored = conversation && (await storedLines(conversation, call));
  const lines = [here?.lines ?? [], stored ?? []].toSorted((one, other) => newest(other) - newest(one));
  return withDropped(report, following(lines[0], report, call, made));
}

function newest([line]: readonly Line[]): number {
  return line?.at ?? 0;
}

/** Undefined if it has no name yet. `none`: nothing is bound, or nothing is to be remembered. */
function comparedConversation(
  { dropped_thinking_blocks: left = 0 }: Report,
  call: Call,
  made?: ComparedView,
): StoredConversation | undefined | 'none' {
  const { request, owner } = call;
  const { model } = request;
  const isBound = left > 0 || bindsThinking(reasoningTermsOf(model)) || dropsUnread(model);
  const isKept = made?.reasoning !== undefined;
  return (isKept || (isBound && edits(actingOn(call)))) && owner.off.length === 0
    ? conversationOfCall(call)
    : 'none';
}

function following(lines: readonly Line[] = [], report: Report, call: Call, made: ComparedView | undefined) {
  const at = call.scope.timings.startedAt;
  // Without an order for a bill, nothing is said of the cache.
  return followed(lines, { ...comparedRequest(call, made, report), ready: at, isFar: false }, at);
}

function withDropped(report: Report, { dropped }: ReturnType<typeof followed>): Report {
  return dropped ? { ...report, reasoning_dropped: dropped } : report;
}

/** Undefined if they can't be read. */
function storedLines({ memory }: StoredConversation, call: Call): Promise<readonly Line[] | undefined> {
  const asking = memory((stub) => stub.events.lines());
  const failed = logged(call.scope.services.log, 'warn', 'the request before is not known', undefined);
  return soon(TIME_LIMITS.movedSinceMs, asking).catch(failed);
}
