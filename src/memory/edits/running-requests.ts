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

/** For each unit that a run is in, the request that stays beside the one of the unit's turn. */
export class RunningRequests {
  private readonly byUnit: readonly (RunningRequest | undefined)[];

  /** @param first stays anyway */
  constructor(
    { keep_first_user }: { readonly keep_first_user: boolean },
    { runs, units, echo }: History,
    rule: RoomOfView,
    sums: TokenSums,
    first: FirstRequest | undefined,
  ) {
    const byUnit: (RunningRequest | undefined)[] = [];
    for (const { request: unit, from, last } of keep_first_user ? runs : []) {
      const message = units[unit]?.first;
      if (message === undefined || message === first?.message || message === echo?.message) continue;
      if (sums.at(message) > largestKept(rule)) continue;
      for (let at = from; at <= last; at++) byUnit[at] = { unit, message };
    }
    this.byUnit = byUnit;
  }

  /** The one that stays when the units before this one leave. */
  at(unit: number): RunningRequest | undefined {
    return this.byUnit[unit];
  }
}
