/** Tokens of a view at a position of the phases, and of its parts that a move leaves alone. */
import { elementAt } from '../../lib/elements.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import type { RunningRequests } from '../edits/running-requests.ts';
import { coveredMessages } from '../edits/summarize.ts';
import type { TrimmedSpan } from '../edits/trim.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { Journal } from './journal.ts';
import type { RoundsInView } from './kept-rounds.ts';
import type { Passed } from './phase-pass.ts';
import { NOWHERE, type PhaseSettings, type PhaseStanding } from './phase-standing.ts';
import { frontierUnit } from './rule.ts';
import { ViewWeights } from './view-weights.ts';

/**
 * Ends of messages before the newest at which a cache with boundaries is read
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
const LOOKED_BACK = 20;

/** What a view is reckoned from. The moves of a request point add to the journal. */
export class PhaseView {
  readonly weights: ViewWeights;
  readonly journal: Journal;
  /** The position after the last request point. */
  settled = NOWHERE;
  private readonly history: History;
  private readonly sums: TokenSums;
  private readonly boundaries: PhaseSettings['boundaries'];
  private readonly rounds: RoundsInView;

  constructor(history: History, sums: TokenSums, settings: PhaseSettings, rounds: RoundsInView) {
    this.history = history;
    this.sums = sums;
    this.boundaries = settings.boundaries;
    this.rounds = rounds;
    this.weights = new ViewWeights(history, sums, settings);
    this.journal = this.weights.journal;
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
    const first = this.weights.requests.firstBefore(unit)?.message;
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
    const { boundaries } = this;
    const { moves, frontier } = this.settled;
    if (!boundaries) return kept;
    const isMarked = boundaries === 'marked' && moves > 0;
    return Math.min(kept, this.before(isMarked ? frontier : 0, standing));
  }

  /** Tokens before a unit after the summary; for the first unit, of the preamble. */
  before(unit: number, { leftOut, passed }: PhaseStanding): number {
    return this.weights.before(unit, leftOut) + this.rounds.tokens(passed.heavy, unit);
  }
}

/** The trimmed messages of a position. Undefined if it has trimmed none. */
export function trimmedSpanOf(
  history: History,
  { trims, prefix, leftOut }: PhaseStanding,
  weights: ViewWeights,
  inProgress: RunningRequests | undefined,
): TrimmedSpan | undefined {
  const { requests } = weights;
  const unit = trims.at(-1);
  const place = unit === undefined ? undefined : requests.linePlace(unit);
  if (unit === undefined || place === undefined) return undefined;
  const { units, messages } = history;
  const request = units[requests.at(unit) ?? -1]?.first;
  const first = requests.firstBefore(unit)?.message;
  const running = inProgress?.at(unit)?.message;
  const end = units[unit]?.first ?? messages.length;
  return {
    from: messages.findIndex(({ role }, at) => role !== 'preamble' && at >= (prefix?.end ?? 0)),
    ends: trims.map((trim) => units[trim]?.first ?? messages.length),
    place,
    dropped: coveredMessages(history, { unit, end, request, first, running }),
    prefix: prefix && {
      ...prefix,
      unit,
      request,
      first,
      running,
      freed: leftOut,
      unsure: weights.unsureBefore(unit),
    },
    freed: leftOut - (prefix?.freed ?? 0),
  };
}
