/**
 * The thinking of earlier answers that a request goes up with, where its API binds it to what
 * stands before it (docs/design.md#bound-thinking). The plan knows what its own moves take along.
 * What else has changed since the request before, this isolate knows: a summary that came late, a
 * content that was not stored in time, other messages or tools of ours. Another isolate may have
 * asked for the answers that this one does not know, so their thinking stays. If they were made
 * without our edits, the upstream refuses them once (`retries/bound-thinking.ts`).
 */
import { elementAt } from '../lib/elements.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { bindsThinking, reasoningTermsOf } from '../memory/models/past-reasoning.ts';
import { earlierRequests, editsBefore } from '../memory/plan/edits-before.ts';
import type { Report } from '../memory/plan/report.ts';
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { SentPrefix } from '../upstream/bound-thinking.ts';
import type { AddedMessages } from '../view/added-messages.ts';
import type { MadeView } from '../view/made-view.ts';
import { THINKING } from './retries/bound-thinking.ts';

export interface KeptThinking {
  /** The messages before this one go up without their thinking. */
  readonly from: number;
  /** Whether something has changed that is no move of the plan. */
  readonly isChanged: boolean;
  /**
   * Notes that the request has gone up.
   *
   * @param from as it was in the end
   * @returns what is noted; undefined if nothing is
   */
  noteSent(from: number): SentPrefix | undefined;
}

const ALL: KeptThinking = { from: 0, isChanged: false, noteSent: () => undefined };

/** @param added the messages that go up with the view */
export function keptThinking(
  call: Call,
  { view, tools, instructions }: Pick<MadeView, 'view' | 'tools' | 'instructions'>,
  added: Pick<AddedMessages, 'messages'>,
): KeptThinking {
  const { request, chosen, scope } = call;
  const { services, caller } = scope;
  const { thinkingFrom = 0 } = view ?? {};
  if (passesThrough(chosen.strategy)) return ALL;
  const { messages } = request;
  // An upstream that has refused some binds it, whatever its models are called.
  const refused = Math.min(refusedAt(call), messages.length);
  if (refused === 0 && !bindsThinking(reasoningTermsOf(request.model))) return ALL;
  if (!caller.tenant) return { ...ALL, from: Math.max(thinkingFrom, refused) };
  const { id } = caller.tenant;
  const sentPrefixes = services.memory.of('sentPrefixes');
  const hashes = prefixHashes(messages, sha256Hex);
  const oursBefore = (end: number): string =>
    sha256Hex(
      JSON.stringify([
        tools?.definitions ?? [],
        added.messages,
        instructions !== undefined,
        editsBefore(view, end),
      ]),
    );
  const asked = (end: number): string => elementAt(hashes, end);
  const sentAs = (end: number) => sentPrefixes.get(id, asked(end))?.value;
  const end = earlierRequests(messages).find((index) => sentAs(index) !== undefined);
  const before = end === undefined ? undefined : sentAs(end);
  /** Whether the answer to the last known request stands behind what it stood behind. */
  const isKept = (of: number): boolean =>
    before?.ours === oursBefore(of) && (!before.hadRounds || view?.rounds?.has(of) === true);
  // A move of the plan since then has taken along all that was thought before it.
  const isSame = end === undefined || thinkingFrom > end || isKept(end);
  const known = isSame ? (before?.from ?? 0) : messages.length;
  const from = Math.max(thinkingFrom, refused, known);
  return {
    from,
    isChanged: !isSame && from > thinkingFrom,
    noteSent: (sentFrom) => {
      const sent = { ours: oursBefore(messages.length), from: sentFrom, hadRounds: false };
      sentPrefixes.set(id, asked(messages.length), sent);
      return sent;
    },
  };
}

/** The report of a request that went up without more thinking than its plan has left out. */
export function withLessThinking(report: Report, { request }: Call, from: number, isChanged = false): Report {
  const blocks = request.messages
    .slice(0, from)
    .reduce((sum, message) => sum + (message.thinking()?.blocks ?? 0), 0);
  if (blocks <= (report.dropped_thinking_blocks ?? 0)) return report;
  return {
    ...report,
    ...(isChanged ? { frontier: { ...report.frontier, moved: true } } : {}),
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
