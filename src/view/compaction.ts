/**
 * Compacts a whole conversation into one opaque item. The caller sends the item back in place of
 * the messages that it covers (docs/responses-api.md#compactions).
 *
 * The whole array is summarized (`make-view.ts`). The item also holds what no summary replaces,
 * sealed for the user and the conversation that are named (`tenant/sealed-item.ts`). Recent user
 * messages are beside it. `request/open-sealed.ts` opens it in the caller's bytes before the body
 * is read, so no later code knows of it.
 */

import { type History, readHistory } from '../memory/conversation/history.ts';
import { firstRequest } from '../memory/edits/first-request.ts';
import { keepsFirstRequest, tokenMeasure, wholeSummary } from '../memory/modes/strategy.ts';
import type { Report, TokenUsage } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import type { Refusal } from '../memory/replay/reasons.ts';
import type { ModelRequest, WireMessage } from '../protocol/model-request.ts';
import { checkSize } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { sealingTenant } from '../request/callers/caller.ts';
import { ApiError } from '../request/errors.ts';
import { checkPlanned } from '../request/known-key.ts';
import { noteNamed } from '../request/named-refs.ts';
import { NO_USAGE } from '../summary/summarizer.ts';
import { sealCompaction } from '../tenant/sealed-item.ts';
import { workLimited } from './limited-summary.ts';
import { makeView } from './make-view.ts';

/** The user messages returned next to an item have at most this many tokens. */
const RECENT_USER_TOKENS = 20_000;

export interface Compaction {
  /** The opaque text. */
  readonly sealed: string;
  /** Recent user messages that the item's summary covers. */
  readonly users: readonly WireMessage[];
  readonly report: Report;
  /** Undefined if the conversation is kept unchanged. */
  readonly view: View | undefined;
  readonly refused: readonly Refusal[];
  /** What the summary cost. */
  readonly usage: TokenUsage;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Compacts everything but the preamble. The item contains unchanged what a summary can't cover:
 * unanswered calls, items compacted by the upstream, or all messages if no summary would be
 * shorter.
 *
 * @throws ApiError without a tenant, or if the request can't be read
 */
export async function compactConversation(call: Call): Promise<Compaction> {
  const { request, chosen, owner, scope } = call;
  const tenant = sealingTenant(scope.caller);
  checkSize(request);
  const spoken = request.messages.filter(({ role }) => role !== 'preamble');
  if (spoken.length === 0)
    throw new ApiError('invalid_messages', 'There must be items to be compacted.', 'input');
  const strategy = wholeSummary(chosen.strategy);
  const options = { force: true, dryRun: false, count: true, viewOnly: true, bare: true, whole: true };
  const whole = { ...call, chosen: { ...chosen, strategy } };
  const made = await workLimited(() => makeView(whole, options), strategy, call);
  checkPlanned(made.report, scope);
  const isKept = mayReplace(made.report);
  const view = isKept ? made.view : undefined;
  const report = isKept ? made.report : untouched(made.report);
  const history = made.history ?? readHistory(request.messages);
  const held = heldBy(request, view);
  scope.waitUntil(noteNamed(encoder.encode(held), call));
  const { counter } = await scope.caches.counting(
    tokenMeasure(strategy, request.model, scope.services.config.tokenFactors),
  );
  const first = keepsFirstRequest(chosen.strategy) ? firstRequest(history) : undefined;
  return {
    sealed: await sealCompaction(tenant, owner, held),
    users: view?.summary
      ? recentUsers(request.messages, history, view, (at) => counter.message(at), first)
      : [],
    report: { ...report, mode: chosen.strategy.mode },
    view,
    refused: made.refused ?? [],
    usage: report.summary?.usage ?? NO_USAGE,
  };
}

/**
 * Whether a summary may replace the messages that it covers. A digest without a stored transcript
 * would lose them for good.
 */
function mayReplace({ summary }: Report): boolean {
  return summary !== undefined && (summary.status === 'completed' || summary.ref !== undefined);
}

/** The report of a conversation that is stored unchanged. */
function untouched({ summary: _, ...report }: Report): Report {
  return { ...report, applied_edits: [], refs: [], frontier: { unit: 0, moved: false } };
}

/** The summary, and all messages that it does not cover, as JSON. */
function heldBy({ messages, compacted }: ModelRequest, view: View | undefined): string {
  const summary = view?.summary;
  const held = new Set(compacted);
  const rest = messages.filter((message, index) =>
    message.role === 'preamble' ? held.has(message) : !(view?.summary && isCovered(index, view)),
  );
  // Preamble before the first uncovered message belongs to the beginning, too.
  const tail = rest.findIndex(({ role }) => role !== 'preamble');
  const before = tail < 0 ? rest.length : tail;
  const texts = rest.map(({ json }) => decoder.decode(json));
  const block = summary ? [JSON.stringify({ role: 'user', content: summary.block })] : [];
  return [...texts.slice(0, before), ...block, ...texts.slice(before)].join(',');
}

/** Whether a summary is in the view instead of a message, or before its text. */
function isCovered(index: number, { dropped, summary }: View): boolean {
  return dropped.has(index) || summary?.request?.message === index;
}

/**
 * The first request, if it takes no more than half of the room, and the newest user messages, in
 * order, without those that contain an earlier summary.
 *
 * @param first undefined if it is like any other
 */
function recentUsers(
  messages: readonly WireMessage[],
  { units, turns, echo }: History,
  view: View,
  tokensOf: (message: WireMessage) => number,
  first: number | undefined,
): WireMessage[] {
  const asked = first !== undefined && isCovered(first, view) ? messages[first] : undefined;
  const tokens = asked ? tokensOf(asked) : 0;
  const kept = asked && tokens <= RECENT_USER_TOKENS / 2 ? [asked] : [];
  const recent: WireMessage[] = [];
  let room = RECENT_USER_TOKENS - (kept.length > 0 ? tokens : 0);
  for (const turn of turns.toReversed()) {
    const index = units[turn]?.first ?? -1;
    const message = messages[index];
    if (!message || !isCovered(index, view) || index === echo?.message || kept.includes(message)) continue;
    room -= tokensOf(message);
    // The current request stays, however long it is.
    if (room < 0 && recent.length > 0) break;
    recent.unshift(message);
  }
  return [...kept, ...recent];
}
