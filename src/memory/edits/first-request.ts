/**
 * The first request of a conversation, which stays unchanged in every view
 * (docs/design.md#summary-in-the-view). So the summary begins after it, and the upstream's cached
 * prefix reaches through it when the frontier moves.
 *
 * Which message it is follows from the array and the budget alone. Its tokens are subtracted from
 * what a summary or a trimming move frees, so the replay sees the view that is sent. Summary and
 * trim line follow it in one message, the recap, and its own bytes are never spliced.
 */
import type { History } from '../conversation/history.ts';
import type { TokenSums } from '../tokens/sums.ts';

export interface FirstRequest {
  readonly message: number;
  readonly tokens: number;
}

/** The budget of a view, if there is one, and the window, in tokens. */
export interface RoomOfView {
  readonly hard: number | undefined;
  readonly window: number;
}

/** The largest first request that stays, as a share of the hard budget. */
const MOST_SHARE = 0.5;

/**
 * The first request, if it stays. Whether it does depends on it and the budget alone, so that it
 * never changes as the conversation grows.
 */
export function stayingRequest(
  { keep_first_user }: { readonly keep_first_user: boolean },
  history: History,
  { hard, window }: RoomOfView,
  sums: TokenSums,
): FirstRequest | undefined {
  const message = keep_first_user ? firstRequest(history) : undefined;
  if (message === undefined) return undefined;
  const tokens = sums.at(message);
  return tokens > largestKept({ hard, window }) ? undefined : { message, tokens };
}

/** Tokens of the largest request that stays without its turn. */
export function largestKept({ hard, window }: RoomOfView): number {
  return MOST_SHARE * Math.min(hard ?? window, window);
}

/**
 * The first user message of a conversation that is no text observation, and does not open with one
 * of Precis's summaries.
 */
export function firstRequest({ echo, turns, units }: History): number | undefined {
  if (echo?.request !== undefined) return echo.request;
  for (const turn of turns) {
    const message = units[turn]?.first;
    if (message !== echo?.message) return message;
  }
  return undefined;
}

/** Where a recap is: after the first request, instead of messages that left the view. */
export interface RecapPlace {
  /** The first request. */
  readonly after: number;
  /** Whether a user line by Precis follows, since the caller's next message is no request. */
  readonly goesOn: boolean;
}

/**
 * The place of the recap for messages before a unit. Undefined if the first request does not stay,
 * or if the request of the tail opens with an earlier summary, which the next one replaces there.
 *
 * @param request the user message that stays, because its turn is still in progress
 * @param first the first request, if it is before that unit
 */
export function recapPlace(
  history: History,
  unit: number,
  request: number | undefined,
  first: number | undefined,
): RecapPlace | undefined {
  const { units, echo } = history;
  if (first === undefined || (request !== undefined && request === echo?.message)) return undefined;
  const isAsked = units[unit]?.kind === 'user' || (request !== undefined && request !== first);
  const head = headBefore(history, unit);
  // An answer that must begin with thinking can't go on from the recap.
  const isFirst = head !== undefined && !(request !== undefined && request !== first && request < head);
  return { after: first, goesOn: !isAsked || isFirst };
}

/** The first message of an answer before a unit that stays, since its thinking leads a turn. */
export function headBefore({ bonds, units }: History, unit: number): number | undefined {
  const held = bonds.find(
    ({ leads, caller, results, open }) =>
      leads && caller < unit && (open || results.some((result) => result.unit >= unit)),
  );
  return held && units[held.caller]?.first;
}

/** By each unit that a run is in, the request that stays when the units before that one leave. */
export type RunningRequests = readonly ({ readonly unit: number; readonly message: number } | undefined)[];

/**
 * The request of a run that is still in progress although other words have come after its results:
 * a user has interrupted it, or a program has spoken in a form that nobody knows. Both may be what
 * the model works on. So where a summary begins in the later turn, which keeps its own request,
 * this one stays too, until an answer without calls has ended the run.
 *
 * @param first stays anyway
 */
export function runningRequests(
  { keep_first_user }: { readonly keep_first_user: boolean },
  { runs, units, echo }: History,
  rule: RoomOfView,
  sums: TokenSums,
  first: FirstRequest | undefined,
): RunningRequests {
  const byUnit: RunningRequests[number][] = [];
  for (const { request: unit, from, last } of keep_first_user ? runs : []) {
    const message = units[unit]?.first;
    if (message === undefined || message === first?.message || message === echo?.message) continue;
    if (sums.at(message) > largestKept(rule)) continue;
    for (let at = from; at <= last; at++) byUnit[at] = { unit, message };
  }
  return byUnit;
}
