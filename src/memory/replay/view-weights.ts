/** Tokens of the parts of a view during a replay, as the journal of its removals leaves them. */
import type { PrefixSums } from '../../lib/prefix-sums.ts';
import { HeldTokens } from '../conversation/bonds.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import { type FirstRequest, type RecapPlace, recapPlace } from '../edits/first-request.ts';
import { askedBy, reservedFor, type SummarizedPrefix, summarizedPrefix } from '../edits/summarize.ts';
import { TRIM_LINE_TOKENS } from '../edits/trim.ts';
import { type TokenSums, unitSums } from '../tokens/sums.ts';
import { Journal } from './journal.ts';
import type { PhaseSettings } from './phase-standing.ts';

export class ViewWeights {
  readonly journal: Journal;
  readonly held: HeldTokens;
  readonly requests: KeptRequests;
  private readonly history: History;
  private readonly sums: TokenSums;
  private readonly settings: PhaseSettings;
  /** Tokens of the units, without removals. */
  private readonly units: PrefixSums;

  constructor(history: History, sums: TokenSums, settings: PhaseSettings) {
    this.history = history;
    this.sums = sums;
    this.settings = settings;
    const units = unitSums(history, sums);
    this.units = units;
    this.requests = new KeptRequests(history, settings.first);
    this.held = new HeldTokens(history, (unit) => units.at(unit));
    this.journal = new Journal(history.units.length, (unit, freed) => this.held.weigh(unit, -freed));
  }

  /** Of the view before a unit after the summary; for the first unit, of the preamble. */
  before(unit: number, leftOut: number): number {
    const first = this.history.units[unit]?.first ?? this.history.messages.length;
    const before = this.sums.before(first);
    return unit === 0 ? before : before - this.journal.freedBefore(unit) - leftOut;
  }

  /** Of the units before one, as they are in the view without a summary. */
  covered(unit: number): number {
    return this.units.before(unit) - this.journal.freedBefore(unit);
  }

  /** Tokens saved without the units before one. */
  leftOut(unit: number, prefix: SummarizedPrefix | undefined): number {
    const summary = prefix ? reservedFor(prefix) : 0;
    return this.covered(unit) - this.stayingBefore(unit) - summary - TRIM_LINE_TOKENS;
  }

  /** Of the view of a request if everything had left it that may: all before the tail. */
  least(tail: number, arrayTokens: number, { units }: RequestPoint): number {
    const view = arrayTokens - this.journal.freedBefore(units);
    return view - this.covered(tail) + this.stayingBefore(tail);
  }

  /**
   * The prefix before a unit; undefined if the earlier one already reaches that far, or if a
   * summary as long as allowed may be no shorter than what it replaces.
   */
  prefixBefore(unit: number, earlier: SummarizedPrefix | undefined): SummarizedPrefix | undefined {
    if (unit <= (earlier?.unit ?? 0)) return undefined;
    const { history, settings } = this;
    const { summaryTokens, echo, first } = settings;
    const asked = this.requests.askedBefore(unit);
    const running = settings.running?.at(unit);
    const of = (message: number): number => {
      const stays = message === running?.message ? running.unit : asked;
      return stays === undefined ? 0 : this.of(stays);
    };
    const weights = { covered: this.covered(unit), of, held: this.held.before(unit) };
    const prefix = summarizedPrefix(history, unit, asked, weights, summaryTokens, echo, first, running);
    const unsure = this.unsureBefore(unit);
    return prefix.freed > unsure ? { ...prefix, unsure } : undefined;
  }

  /** Counted for digests before a unit that may not come. */
  unsureBefore(unit: number): number {
    return (this.settings.unsure?.before(unit) ?? 0) + this.journal.unusedBefore(unit);
  }

  /** Of what stays when the units before one leave: held units and requests. */
  private stayingBefore(unit: number): number {
    const request = this.requests.at(unit);
    const first = this.requests.firstBefore(unit);
    const isOther = request !== undefined && this.history.units[request]?.first !== first?.message;
    const running = this.settings.running?.at(unit);
    const asked = (isOther ? this.of(request) : 0) + (running ? this.of(running.unit) : 0);
    return this.held.before(unit) + asked + (first?.tokens ?? 0);
  }

  /** Of a unit as it is in the view. */
  private of(unit: number): number {
    return this.units.at(unit) - this.journal.freedBefore(unit + 1) + this.journal.freedBefore(unit);
  }
}

/** The user messages that stay in a view when the units before one leave it. */
class KeptRequests {
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

  /** The user unit of the turn that is in progress before a unit. */
  askedBefore(unit: number): number | undefined {
    return this.asked[unit - 1];
  }

  /** The user unit before this one that stays, since its turn continues. */
  at(unit: number): number | undefined {
    return this.history.units[unit]?.kind === 'user' ? undefined : this.askedBefore(unit);
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
