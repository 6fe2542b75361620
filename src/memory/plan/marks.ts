/**
 * Marks for prompt caches that are read at boundaries alone (docs/design.md#marks). A cache entry
 * is written at each mark of a request, and read by a later one that has the mark in the same
 * place. So the places are those that a move leaves as they are: after the first request, if it
 * stays, and where the moves before have ended.
 *
 * `protocol/edits.ts` writes the marks. `answer/retries/own-fields.ts` asks again without them if
 * they are refused.
 */
import type { Message } from '../conversation/message.ts';
import { firstRequest } from '../edits/first-request.ts';
import type { Removal } from '../edits/removal.ts';
import type { Plan } from './plan.ts';

/**
 * The most marks by Precis. OpenAI writes the latest three of a request
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
export const MOST_MARKS = 3;

/** Precis's texts, which may be in a message of the caller's. */
interface ShownTexts {
  readonly summary?: InMessage | undefined;
  readonly trim?: InMessage | undefined;
}

interface InMessage {
  readonly request?: { readonly message: number };
}

/** What decides whether a mark can follow a message of a view. */
interface MarkedView extends ShownTexts {
  readonly removals: ReadonlyMap<number, readonly Removal[]>;
  readonly dropped: ReadonlySet<number>;
}

/** Not after one that opens with a text by Precis, or of which parts are replaced. */
export function canBear(
  message: Message | undefined,
  index: number,
  { removals, dropped, summary, trim }: MarkedView,
): boolean {
  if (message?.role !== 'user' && message?.role !== 'tool') return false;
  if (dropped.has(index) || index === summary?.request?.message || index === trim?.request?.message)
    return false;
  const edits = removals.get(index) ?? [];
  return edits.every(({ kind }) => kind === 'output') && message.bearsMark(edits.length > 0);
}

/** Messages of the caller's array, ascending. */
export function marksOf(
  { history, replay, prefix }: Pick<Plan, 'history' | 'replay' | 'prefix'>,
  removals: ReadonlyMap<number, readonly Removal[]>,
  dropped: ReadonlySet<number>,
  { summary, trim }: ShownTexts,
): readonly number[] {
  const { messages, units } = history;
  const bears = (index: number): boolean =>
    canBear(messages[index], index, { removals, dropped, summary, trim });
  if (replay.moves.length === 0) return [];
  const first = firstRequest(history);
  const marks = new Set(first !== undefined && bears(first) ? [first] : []);
  // A summary has changed all before its end.
  const begin = summary && prefix ? prefix.end : 0;
  // Settled units may be fewer after a later move, as after the first one that clears reasoning.
  const searched: { readonly end: number; readonly from: number }[] = [];
  for (const { settled } of replay.moves.toReversed()) {
    const from = units[settled]?.first ?? messages.length;
    if (marks.size >= MOST_MARKS) break;
    if (from <= begin || searched.some((range) => range.end <= from && from <= range.from)) continue;
    let end = from;
    while (end > begin && !bears(end - 1)) end--;
    searched.push({ end, from });
    if (end > begin) marks.add(end - 1);
  }
  return [...marks].sort((a, b) => a - b);
}
