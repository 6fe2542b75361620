/**
 * The thinking of earlier answers that a request is sent with, where its API binds it to what
 * precedes it (docs/design.md#bound-thinking). The plan knows what its own moves take along. What
 * else has changed since the request before, this isolate knows (`view/sent-before.ts`). Another
 * isolate may have asked for the answers that this one does not know, so their thinking stays. If
 * they were made without Precis's edits, the upstream refuses them once
 * (`retries/bound-thinking.ts`).
 */

import { blocksOf, reasoningByMessage } from '../memory/conversation/kept-reasoning.ts';
import { bindsThinking, reasoningTermsOf } from '../memory/models/past-reasoning.ts';
import { passesThrough } from '../memory/modes/strategy.ts';
import type { Report } from '../memory/plan/report.ts';
import { ownChange } from '../memory/replay/change.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { changedPart, type SentBefore } from '../upstream/sent-requests.ts';
import type { AddedMessages } from '../view/added-messages.ts';
import type { MadeView } from '../view/made-view.ts';
import { moved, ownPrefix } from '../view/sent-before.ts';
import { THINKING } from './retries/bound-thinking.ts';

/**
 * @param added the messages that are sent with the view
 * @returns the messages before this one are sent without their thinking
 */
export function keptThinkingFrom(call: Call, made: MadeView, added: Pick<AddedMessages, 'messages'>): number {
  const { before } = made;
  const { request, chosen } = call;
  if (passesThrough(chosen.strategy)) return 0;
  const { messages } = request;
  const { thinkingFrom = 0 } = made.view ?? {};
  // An upstream that has refused some binds it, whatever its models are called.
  const refused = Math.min(refusedAt(call), messages.length);
  if (refused === 0 && !bindsThinking(reasoningTermsOf(request.model))) return 0;
  return Math.max(thinkingFrom, refused, before ? knownFrom(before, call, made, added) : 0);
}

/** The message from which on it stays, after a request that is known to have been sent. */
function knownFrom(
  { sent, messages: end }: SentBefore,
  { request }: Call,
  made: MadeView,
  added: Pick<AddedMessages, 'messages'>,
): number {
  const { messages } = request;
  const { view } = made;
  // A move of the plan since then has taken along all that was thought before it.
  if ((view?.thinkingFrom ?? 0) > end) return sent.thinkingFrom;
  const isAnswered = end < messages.length;
  // What is kept over a bridge says itself which rounds led to it (`bridge/kept-answers.ts`).
  const needsRounds = isAnswered && sent.hadRounds && made.reasoning === undefined;
  const hasRounds = !needsRounds || view?.rounds?.has(end) === true;
  const isSame = changedPart(sent.own, ownPrefix(made, added.messages, end)) === undefined;
  return hasRounds && isSame ? sent.thinkingFrom : messages.length;
}

/**
 * The report of a request that was sent without more thinking than its plan has left out. It has
 * moved where the request before had that thinking.
 */
export function withLessThinking(
  report: Report,
  { request }: Call,
  from: number,
  { before, reasoning }: Pick<MadeView, 'before' | 'reasoning'>,
): Report {
  const kept = reasoningByMessage(reasoning);
  const blocks = request.messages
    .slice(0, from)
    .reduce((sum, message, index) => sum + blocksOf(message, kept.get(index)), 0);
  if (blocks <= (report.dropped_thinking_blocks ?? 0)) return report;
  const change = ownChange({ hasLessThinking: before !== undefined && from > before.sent.thinkingFrom });
  return {
    ...(change ? moved(report, change) : report),
    dropped_thinking_blocks: blocks,
    warnings: [...new Set([...report.warnings, 'thinking_dropped' as const])],
  };
}

function refusedAt(call: Call): number {
  const refusals = call.scope.services.memory.of('refusals');
  if (refusals.isEmpty) return 0;
  const conversation = conversationOfCall(call);
  return (conversation && refusals.get(conversation.name, THINKING)?.value) ?? 0;
}
