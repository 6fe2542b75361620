/** Tokens of a view at a position of the phases, and of its parts that a move leaves alone. */
import { elementAt } from '../../lib/elements.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import { tokensOf } from '../edits/rehydrate.ts';
import {
  coveredMessages,
  Prefixes,
  rehydratedWith,
  reservedFor,
  type SummarizedPrefix,
  TRIM_LINE_TOKENS,
  type TrimmedSpan,
} from '../edits/summarize.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { Journal } from './journal.ts';
import type { RoundsInView } from './kept-rounds.ts';
import { NOWHERE, type Passed, type PhaseSettings, type PhaseStanding } from './phase-standing.ts';
import { frontierUnit } from './rule.ts';

/**
 * Ends of messages before the newest at which a cache with boundaries is read
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
const LOOKED_BACK = 20;

/** What a view is reckoned from. The moves of a request point add to the journal. */
export class PhaseView {
  readonly history: History;
  readonly settings: PhaseSettings;
  readonly journal: Journal;
  readonly prefixes: Prefixes;
  /** The position after the last request point. */
  settled = NOWHERE;
  readonly sums: TokenSums;
  /** Precis's rounds in the view. */
  readonly rounds: RoundsInView;

  constructor(history: History, sums: TokenSums, settings: PhaseSettings, rounds: RoundsInView) {
    this.history = history;
    this.sums = sums;
    this.settings = settings;
    this.rounds = rounds;
    const { length } = history.units;
    this.journal = new Journal(length, (unit, freed) => this.prefixes.held.weigh(unit, -freed));
    this.prefixes = new Prefixes(history, sums, settings, (unit) => this.journal.freedBefore(unit));
  }

  /** Tokens that the view has less than the array; Precis's rounds are in it beside the array. */
  freedWith(leftOut: number, { heavy }: Passed): number {
    return this.journal.freed + leftOut - this.rounds.tokens(heavy);
  }

  /**
   * The position after a move.
   *
   * @param start the position before it
   */
  moved(
    start: PhaseStanding,
    passed: Passed,
    { prefix, trims, leftOut }: Pick<PhaseStanding, 'prefix' | 'trims' | 'leftOut'>,
  ): Omit<PhaseStanding, 'kept' | 'spent'> {
    const { journal } = this;
    const edited = journal.entries(start.ends.at(-1) ?? 0, journal.length);
    const ends = edited.map(({ unit }) => unit + 1);
    const frontier = Math.max(frontierUnit(start.cuts), passed.heavy, ...ends);
    return {
      cuts: { turn: frontier, step: frontier },
      freed: this.freedWith(leftOut, passed),
      passed,
      clears: start.clears,
      frontier: start.frontier,
      prefix,
      trims,
      leftOut,
      moves: start.moves + 1,
      ends: [...start.ends, journal.length],
    };
  }

  /** Tokens that stay untouched when the messages before a unit leave. */
  untouched(unit: number, standing: PhaseStanding): number {
    const first = this.prefixes.firstBefore(unit)?.message;
    const begins = first !== undefined && first === this.history.units[0]?.first;
    return this.reread(begins ? this.sums.before(first + 1) : this.before(0, standing), standing);
  }

  /**
   * The part before a unit that is read from the cache if its outputs change. A request has ended
   * there, after the rounds that led to its answer, and a cache with boundaries still looks for
   * that end among the newest messages.
   */
  keptBefore(unit: number, { messages }: RequestPoint, standing: PhaseStanding): number {
    const own = this.rounds.tokens(Math.max(standing.passed.heavy, unit), unit + 1);
    const kept = this.before(unit, standing) + own;
    const { first, kind } = elementAt(this.history.units, unit);
    return kind === 'assistant' && messages - first <= LOOKED_BACK ? kept : this.reread(kept, standing);
  }

  /**
   * The part that is read from the cache, of the part before the first byte that changes. The marks
   * are the ones of the moves before (see `marksOf`).
   */
  reread(kept: number, standing: PhaseStanding): number {
    const { boundaries } = this.settings;
    const { moves, frontier } = this.settled;
    if (!boundaries) return kept;
    const isMarked = boundaries === 'marked' && moves > 0;
    return Math.min(kept, this.before(isMarked ? frontier : 0, standing));
  }

  /** Tokens before a unit after the summary; for the first unit, of the preamble. */
  before(unit: number, { leftOut, passed }: PhaseStanding): number {
    const first = this.history.units[unit]?.first ?? this.history.messages.length;
    const edited = unit === 0 ? 0 : this.journal.freedBefore(unit) + leftOut;
    return this.sums.before(first) - edited + this.rounds.tokens(passed.heavy, unit);
  }

  /** Tokens saved without the units before one. */
  leftOut(unit: number, prefix: SummarizedPrefix | undefined): number {
    const summary = prefix ? reservedFor(prefix) : 0;
    return this.prefixes.before(unit) - this.prefixes.stayingBefore(unit) - summary - TRIM_LINE_TOKENS;
  }

  /** Of the view of a request if everything had left it that may: all before the tail. */
  least(tail: number, arrayTokens: number, { units }: RequestPoint): number {
    const view = arrayTokens - this.journal.freedBefore(units);
    return view - this.prefixes.before(tail) + this.prefixes.stayingBefore(tail);
  }

  /**
   * The prefix before a unit; undefined if the earlier one already reaches that far, or if a
   * summary as long as allowed may be no shorter than what it replaces.
   */
  prefixBefore(unit: number, earlier: SummarizedPrefix | undefined): SummarizedPrefix | undefined {
    if (unit <= (earlier?.unit ?? 0)) return undefined;
    const prefix = this.prefixes.at(unit);
    const unsure = this.unsureBefore(unit);
    return prefix.freed > unsure ? { ...prefix, unsure } : undefined;
  }

  /** Counted for digests before a unit that may not come. */
  unsureBefore(unit: number): number {
    return (this.settings.unsure?.before(unit) ?? 0) + this.journal.unusedBefore(unit);
  }

  /**
   * The position with the calls whose results are among the messages before an index. Undefined if
   * none comes back.
   */
  withLateResults(standing: PhaseStanding, messages: number): PhaseStanding | undefined {
    const { prefixes, settings } = this;
    const { held } = prefixes;
    const { prefix, trims, freed, leftOut } = standing;
    const covered = prefix?.unit ?? 0;
    const gone = trims.at(-1) ?? covered;
    const before = held.before(covered);
    const back = held.arrive(messages, gone);
    const ofPrefix = held.before(covered) - before;
    if (back <= 0) return undefined;
    const shown = prefix?.rehydrated;
    const rehydrated = settings.refills?.rehydrator.without(shown, covered, messages);
    const more = back - tokensOf(shown) + tokensOf(rehydrated);
    const rest = { freed: freed - more, leftOut: leftOut - more };
    const changed =
      prefix &&
      rehydratedWith(
        { ...prefix, covered: prefix.covered - ofPrefix, freed: prefix.freed - ofPrefix },
        rehydrated,
      );
    // If the summary or all replacements are longer than what they still replace, restore it.
    const isShorter =
      rest.leftOut > this.unsureBefore(gone) && (!changed || changed.freed > this.unsureBefore(covered));
    if (isShorter) return { ...standing, ...rest, prefix: changed };
    const whole = this.freedWith(0, standing.passed);
    return { ...standing, freed: whole, leftOut: 0, prefix: undefined, trims: [] };
  }

  /** The trimmed messages of a position. Undefined if it has trimmed none. */
  trimmedSpan({ trims, prefix, leftOut }: PhaseStanding): TrimmedSpan | undefined {
    const { history, prefixes } = this;
    const unit = trims.at(-1);
    const place = unit === undefined ? undefined : prefixes.linePlace(unit);
    if (unit === undefined || place === undefined) return undefined;
    const { units, messages } = history;
    const request = units[prefixes.requestAt(unit) ?? -1]?.first;
    const first = prefixes.firstBefore(unit)?.message;
    const running = this.settings.running?.[unit]?.message;
    const end = units[unit]?.first ?? messages.length;
    const staying = { unit, request, first, running };
    const unsure = this.unsureBefore(unit);
    return {
      from: messages.findIndex(({ role }, at) => role !== 'preamble' && at >= (prefix?.end ?? 0)),
      ends: trims.map((trim) => units[trim]?.first ?? messages.length),
      place,
      dropped: coveredMessages(history, { ...staying, end }),
      prefix: prefix && { ...prefix, ...staying, freed: leftOut, unsure },
      freed: leftOut - (prefix?.freed ?? 0),
    };
  }
}
