/**
 * The request of a run that is still in progress although other words have come after its results:
 * a user has interrupted it, or a program has spoken in a form that nobody knows. Both may be what
 * the model works on. So where a summary begins in the later turn, which keeps its own request,
 * this one stays too, until an answer without calls has ended the run.
 */
import type { History } from '../conversation/history.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { type FirstRequest, largestKept, type RoomOfView } from './first-request.ts';

export interface RunningRequest {
  readonly unit: number;
  readonly message: number;
}

/** By each unit that a run is in, the request that stays when the units before that one leave. */
export type RunningRequests = readonly (RunningRequest | undefined)[];

/** Those that stay beside the requests of the units' turns. @param first stays anyway */
export function runningRequests(
  { keep_first_user }: { readonly keep_first_user: boolean },
  { runs, units, echo }: History,
  rule: RoomOfView,
  sums: TokenSums,
  first: FirstRequest | undefined,
): RunningRequests {
  const byUnit: (RunningRequest | undefined)[] = [];
  for (const { request: unit, from, last } of keep_first_user ? runs : []) {
    const message = units[unit]?.first;
    if (message === undefined || message === first?.message || message === echo?.message) continue;
    if (sums.at(message) > largestKept(rule)) continue;
    for (let at = from; at <= last; at++) byUnit[at] = { unit, message };
  }
  return byUnit;
}
