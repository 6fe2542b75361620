/** The user messages that stay in a view when the units before one leave it. */
import type { History } from '../conversation/history.ts';
import { type FirstRequest, type RecapPlace, recapPlace } from '../edits/first-request.ts';
import { askedBy } from '../edits/summarize.ts';

export class KeptRequests {
  private readonly history: History;
  private readonly first: FirstRequest | undefined;
  private readonly asked: readonly (number | undefined)[];

  /** @param first the first request, if it stays */
  constructor(history: History, first: FirstRequest | undefined) {
    this.history = history;
    this.first = first;
    this.asked = askedBy(history);
  }

  /** The first request, if it is before a unit and stays. */
  firstBefore(unit: number): FirstRequest | undefined {
    const { first } = this;
    const end = this.history.units[unit]?.first ?? this.history.messages.length;
    return first && first.message < end ? first : undefined;
  }

  /** The user unit before this one that stays, since its turn continues. */
  at(unit: number): number | undefined {
    return this.history.units[unit]?.kind === 'user' ? undefined : this.asked[unit - 1];
  }

  /**
   * The place of the line for trimmed messages: the recap, or the first user message that stays.
   */
  linePlace(unit: number): RecapPlace | { readonly opens: number } | undefined {
    const { history } = this;
    const request = this.at(unit);
    const asked = history.units[request ?? -1]?.first;
    const recap = recapPlace(history, unit, asked, this.firstBefore(unit)?.message);
    const user = request ?? history.turns.find((turn) => turn >= unit);
    const opens = history.units[user ?? -1]?.first;
    return recap ?? (opens === undefined ? undefined : { opens });
  }
}
