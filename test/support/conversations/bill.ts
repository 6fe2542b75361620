/**
 * The cost of a conversation's views, request by request, with an upstream that caches prompts, in
 * tokens of fresh input.
 */
import type { RelativePrices } from '../../../src/memory/models/schedules.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { textOf } from '../../../src/protocol/json/spans.ts';
import { counter, type Viewed } from '../laws/view-of.ts';

/** Tokens around a summarizer's input (see `src/memory/replay/phase-standing.ts`). */
const PROMPT = 600;

/** Two sums: for the views, and for the original arrays. */
export interface Bill {
  readonly views: number;
  readonly arrays: number;
}

/** The bills up to each request of a conversation. Summaries weigh as much as they may. */
export function billsOf(requests: readonly Viewed[], prices: RelativePrices): Bill[] {
  let views = 0;
  let arrays = 0;
  return requests.map((viewed, index) => {
    const earlier = requests[index - 1];
    const { before, after } = viewed.plan.replay;
    views +=
      costOf(after, earlier ? cachedIn(earlier, viewed) : 0, prices) + summaryCost(earlier, viewed, prices);
    arrays += costOf(before, earlier?.plan.replay.before ?? 0, prices);
    return { views, arrays };
  });
}

/** What a prompt costs. @param reused its cached tokens */
export function costOf(tokens: number, reused: number, { cached, written, step }: RelativePrices): number {
  const factor = step && tokens > step.above ? step.input : 1;
  return factor * (written * (tokens - reused) + cached * reused);
}

/** Tokens of the messages that two views have in common at the beginning, which are cached. */
function cachedIn(earlier: Viewed, viewed: Viewed): number {
  const before = sentIn(earlier);
  const now = sentIn(viewed);
  const same = now.findIndex(({ json }, index) => json !== before[index]?.json);
  if (same < 0) return Math.min(earlier.plan.replay.after, viewed.plan.replay.after);
  const { summary } = viewed.view;
  // A summary's text is shorter than it may be, so anything after it is counted from the view's
  // end.
  const block = summary && JSON.stringify(summary.block).slice(1, -1);
  const isBehind = block !== undefined && !now.slice(0, same).some(({ json }) => json.includes(block));
  return isBehind
    ? overheadOf(viewed) + sum(now.slice(0, same))
    : viewed.plan.replay.after - sum(now.slice(same));
}

interface Sent {
  readonly json: string;
  readonly tokens: number;
}

function sentIn({ bytes }: Viewed): Sent[] {
  const request = readChatRequest(bytes);
  if (!request.ok) throw new Error(request.reason.message);
  return request.value.messages.map((message) => ({
    json: textOf(bytes, message.span),
    tokens: counter.message(message),
  }));
}

/** Tokens before the messages. */
function overheadOf({ plan, request: { messages } }: Viewed): number {
  return plan.replay.before - messages.reduce((total, message) => total + counter.message(message), 0);
}

function sum(messages: readonly Sent[]): number {
  return messages.reduce((total, { tokens }) => total + tokens, 0);
}

/** A summarizer's cost, if the view has a summary that the previous one did not have. */
function summaryCost(earlier: Viewed | undefined, { plan }: Viewed, { output }: RelativePrices): number {
  const { prefix, history } = plan;
  const known = earlier?.plan.prefix;
  if (!prefix || prefix.end === known?.end) return 0;
  const freed = new Map<number, number>();
  for (const removal of plan.segments.flat())
    freed.set(removal.message, (freed.get(removal.message) ?? 0) + removal.freed);
  let read = known?.limit ?? 0;
  for (let index = known?.end ?? 0; index < prefix.end; index++) {
    const message = history.messages[index];
    if (message && message.role !== 'preamble') read += counter.message(message) - (freed.get(index) ?? 0);
  }
  return PROMPT + read + output * prefix.limit;
}
