/**
 * The phases of `auto` (docs/design.md#6-edits-in-the-order-of-auto) as one mover of the replay:
 * offload and dedupe; compact; summarize; trim. Each runs only if the ones before have not freed
 * enough. Lossy phases run only if the reversible ones leave the view over its budget: an unneeded
 * summary costs more than the tokens between budget and watermark.
 *
 * Each phase passes every unit once, so a replay is linear in the array.
 *
 * Each phase has its own pointer and records its removals in a journal; a move that does not pay
 * off (`floor.ts`) is undone. The reversible phases run up to the tail, and stop when the view is
 * at the watermark and four times the floor is freed. The summary's boundary is the frontier of the
 * previous move. Trimmed messages are between that and the new frontier.
 */

import { elementAt } from '../../lib/elements.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import { tokensOf } from '../edits/rehydrate.ts';
import type { Removal } from '../edits/removal.ts';
import { refillOf, rehydratedWith, type SummarizedPrefix } from '../edits/summarize.ts';
import type { TrimmedSpan } from '../edits/trim.ts';
import type { Refusal } from '../run/event.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { Floor } from './floor.ts';
import { outputsSince, shortenedOutputs } from './fresh-outputs.ts';
import type { Mover } from './frontier.ts';
import type { Journal } from './journal.ts';
import type { KeptRounds, RoundsInView } from './kept-rounds.ts';
import { Misses, type Recalling } from './misses.ts';
import { Pass, type Passed, passedBefore } from './phase-pass.ts';
import { refusalsOf } from './phase-refusals.ts';
import {
  NOWHERE,
  type PhaseSettings,
  type PhaseStanding,
  settledBefore,
  summarizerCost,
  withRehydrated,
} from './phase-standing.ts';
import { PhaseWorth } from './phase-worth.ts';
import { type Cuts, type Due, filledUpTo, frontierUnit } from './rule.ts';
import { type LargeOutput, SeenOutputs } from './seen-outputs.ts';
import { trimmedSpanOf } from './trimmed-span.ts';
import { ViewWeights } from './view-weights.ts';

/**
 * Ends of messages before the newest at which a cache with boundaries is read
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
const LOOKED_BACK = 20;

export class PhaseMover implements Mover {
  turnsCut = 0;
  readonly rewrites = true;
  private readonly history: History;
  private readonly sums: TokenSums;
  private readonly weights: ViewWeights;
  private readonly settings: PhaseSettings;
  private readonly floor: Floor;
  private readonly worth: PhaseWorth;
  readonly edits: Misses;
  private readonly journal: Journal;
  /** Absent if large outputs leave only when a trigger is met. */
  private readonly seen: SeenOutputs | undefined;
  /** Of the view of this request point, before the first output or round that has left early. */
  private keptByLeaving = Number.POSITIVE_INFINITY;
  private readonly rounds: RoundsInView;
  /** Tokens of rounds without which what the model has not seen would fit the budget whole. */
  private crowding = 0;
  private readonly lightOf: (readonly Removal[])[] = [];
  private standing = NOWHERE;
  private settled = NOWHERE;
  /** A trimmed position of the last move that would not have been enough. */
  private futile: PhaseStanding | undefined;
  refused: readonly Refusal[] = [];

  /** @param rounds those of ours in the view */
  constructor(
    history: History,
    sums: TokenSums,
    settings: PhaseSettings,
    floor: Floor,
    edits: Recalling,
    rounds: RoundsInView,
  ) {
    this.history = history;
    this.sums = sums;
    this.settings = settings;
    this.floor = floor;
    this.worth = new PhaseWorth(floor, settings.minReclaim);
    this.rounds = rounds;
    this.weights = new ViewWeights(history, sums, settings);
    this.journal = this.weights.journal;
    this.seen = settings.early && new SeenOutputs(settings.early, history.requestPoints);
    this.edits = new Misses(history, edits, this.journal);
  }

  get turnsLeftOut(): number {
    const unit = this.leftCuts.turn;
    return this.history.turns.filter((turn) => turn < unit).length;
  }

  get leftCuts(): Cuts {
    const { prefix, trims } = this.standing;
    const unit = trims.at(-1) ?? prefix?.unit ?? 0;
    return { turn: unit, step: unit };
  }

  get settledUnit(): number {
    const isMarked = this.settings.boundaries === 'marked';
    return isMarked ? settledBefore(this.standing, this.edits) : this.standing.frontier;
  }

  get position(): PhaseStanding {
    return this.standing;
  }

  set position(standing: PhaseStanding) {
    this.journal.truncate(standing.ends.at(-1) ?? 0);
    this.standing = standing;
  }

  /** The removals of each change, oldest first. */
  removed(): readonly (readonly Removal[])[] {
    const { ends } = this.standing;
    return ends.map((length, index) =>
      this.journal.entries(ends[index - 1] ?? 0, length).flatMap(({ removals }) => removals),
    );
  }

  /** Those at the request point whose array ends before a message. */
  removedAt(messages: number): readonly Removal[] {
    return this.journal.madeAt(messages).flatMap(({ removals }) => removals);
  }

  /** The prefix that the next move would summarise; fixed since the last move. */
  next(): SummarizedPrefix | undefined {
    const { frontier, prefix, leftOut } = this.standing;
    const next = frontier > 0 ? this.weights.prefixBefore(frontier, prefix) : undefined;
    return next && next.freed > leftOut ? next : undefined;
  }

  /** The trimmed messages, if any. */
  trimmedSpan(): TrimmedSpan | undefined {
    return trimmedSpanOf(this.history, this.standing, this.weights.requests, this.settings.unsure);
  }

  /** The rounds that stay in the view. */
  shown(): readonly KeptRounds[] {
    return this.rounds.shown(this.standing.passed.heavy);
  }

  shed(over: number): boolean {
    const { rounds, standing, journal } = this;
    const { heavy } = standing.passed;
    const enough = Math.max(over, this.crowding);
    this.crowding = 0;
    const left = enough > 0 ? rounds.shed(heavy, enough) : rounds.overflow(heavy);
    if (!left) return false;
    const kept = Math.min(this.keptByLeaving, this.reread(this.viewBefore(left.unit)));
    this.keptByLeaving = kept;
    this.standing = {
      ...standing,
      freed: standing.freed + left.tokens,
      moves: standing.moves + 1,
      ends: [...standing.ends, journal.length],
      kept,
      spent: 0,
    };
    return true;
  }

  arrive(messages: number): boolean {
    const come = this.rounds.arrive(messages, this.standing.passed.heavy);
    if (come > 0) this.standing = { ...this.standing, freed: this.standing.freed - come };
    return this.bringBack(messages);
  }

  /** Takes late results into account, which bring back their calls. */
  private bringBack(messages: number): boolean {
    const { held } = this.weights;
    if (held.isEmpty) return false;
    const { prefix, trims, freed, leftOut } = this.standing;
    const covered = prefix?.unit ?? 0;
    const gone = trims.at(-1) ?? covered;
    const heldBefore = { gone: held.before(gone), covered: held.before(covered) };
    held.arrive(messages);
    const back = held.before(gone) - heldBefore.gone;
    const ofPrefix = held.before(covered) - heldBefore.covered;
    if (back <= 0) return false;
    const { rehydrator } = this.settings.refills ?? {};
    const shown = prefix?.rehydrated;
    const rehydrated = rehydrator?.without(shown, covered, messages);
    const more = back - tokensOf(shown) + tokensOf(rehydrated);
    const rest = { freed: freed - more, leftOut: leftOut - more };
    const changed =
      prefix &&
      rehydratedWith(
        { ...prefix, covered: prefix.covered - ofPrefix, freed: prefix.freed - ofPrefix },
        rehydrated,
      );
    // If the summary or all replacements are longer than what they still replace, restore it.
    const { weights } = this;
    const isShorter =
      rest.leftOut > weights.unsureBefore(gone) &&
      (!changed || changed.freed > weights.unsureBefore(covered));
    this.standing = isShorter
      ? { ...this.standing, ...rest, prefix: changed }
      : {
          ...this.standing,
          freed: this.freedWith(0, this.standing.passed),
          leftOut: 0,
          prefix: undefined,
          trims: [],
        };
    return true;
  }

  see(tail: Cuts, arrayTokens: number, point: RequestPoint, since: number): void {
    const { standing, edits, settings, journal, weights } = this;
    const { shortened } = edits;
    const { fresh } = settings;
    if (!shortened || !fresh || arrayTokens - standing.freed <= fresh.budget) return;
    const least = weights.least(this.tailUnit(tail), arrayTokens, point);
    journal.at = point.messages;
    const before = journal.length;
    const outputs = outputsSince(this.history, since, point);
    for (const { unit, removal, unsure } of shortenedOutputs(outputs, least, fresh, this.sums, shortened)) {
      journal.add(unit, [removal]);
      weights.addUnsure(unit, unsure);
    }
    const { leftOut, passed } = standing;
    if (journal.length > before) {
      const freed = this.freedWith(leftOut, passed);
      this.standing = { ...standing, freed, ends: [...standing.ends, journal.length] };
    }
    if (outputs.length === 0) return;
    const rest = weights.least(this.tailUnit(tail), arrayTokens, point);
    this.crowding = Math.max(0, rest + this.rounds.tokens(passed.heavy) - fresh.budget);
  }

  leave(tail: Cuts, arrayTokens: number, point: RequestPoint, index: number): void {
    const { settings, standing, seen, journal } = this;
    if (!seen) return;
    const limit = settings.early?.keepsTail ? this.tailUnit(tail) : point.units;
    const outputs = seen.at(index, limit, (output) => this.isShown(output));
    const before = { array: arrayTokens, view: arrayTokens - standing.freed };
    const made = this.worth.leaving(outputs, before, (unit) => this.keptBefore(unit, point));
    if (!made) return;
    journal.at = point.messages;
    for (const { unit, removal } of made.outputs) journal.add(unit, [removal]);
    this.keptByLeaving = Math.min(this.keptByLeaving, made.kept);
    this.standing = {
      ...standing,
      freed: this.freedWith(standing.leftOut, standing.passed),
      moves: standing.moves + 1,
      ends: [...standing.ends, journal.length],
      kept: made.kept,
      spent: 0,
    };
  }

  /** What may leave early at the request after that of an index. */
  leavingNext(index: number): readonly Removal[] {
    const outputs = this.seen?.dueAt(index + 1) ?? [];
    return outputs.filter((output) => this.isShown(output)).map(({ removal }) => removal);
  }

  move(tail: Cuts, due: Due, arrayTokens: number, point: RequestPoint): void {
    const start = this.standing;
    const stakes = { array: arrayTokens, view: arrayTokens - start.freed };
    if (!this.worth.isTried(point.units, due)) return;
    this.journal.at = point.messages;
    // Reasoning can't be brought back, so it leaves where a summary may replace messages.
    const clears = Number.isFinite(due.lossyOver);
    const limits = [tail.turn];
    if (this.settings.shrinks && due.shrinkOver !== undefined) limits.push(Math.max(tail.turn, tail.step));

    const pass = new Pass(this.journal, this.rounds, start.passed, (first) =>
      this.worth.goal(this.reread(this.viewBefore(first)), due, stakes),
    );
    for (const [index, limit] of limits.entries()) {
      pass.run('light', limit, (unit) => {
        this.lightOf[unit] = this.edits.light(unit, point.messages);
        return this.stillShown(this.lightOf[unit]);
      });
      const old = clears ? this.edits.old : undefined;
      if (old) pass.run('reasoning', Math.min(limit, old.staysFrom(point.turns)), (unit) => old.in(unit));
      // The current request keeps its images.
      const asking = this.history.turns[point.turns - 1] ?? 0;
      if (index === 0) pass.run('media', Math.min(limit, asking), (unit) => this.edits.media(unit));
      pass.run('heavy', limit, (unit) => this.stillShown(this.edits.heavy(unit, this.lightOf[unit] ?? [])));
    }
    const reversible: PhaseStanding = {
      ...this.standingOf(start, pass.passed, start),
      kept: pass.first === undefined ? stakes.view : this.reread(this.viewBefore(pass.first)),
      spent: 0,
    };
    const viewOf = (standing: PhaseStanding): number => stakes.array - standing.freed;
    this.futile = undefined;
    const found = [...this.lossy(start, reversible, viewOf, due, arrayTokens, point), reversible];
    const made = found.find(
      (standing) => standing.freed - start.freed >= this.worth.least(standing, due, stakes).least,
    );
    const isLossy = viewOf(reversible) > due.lossyOver;
    const tried = { start, found, made, isLossy, futile: this.futile, needed: stakes.view - due.trimOver };
    this.refused = refusalsOf(tried, (standing) => this.worth.least(standing, due, stakes));
    if (!made && pass.first === undefined) {
      // Nothing could be removed in these units, so don't pass them again.
      this.standing = { ...start, passed: reversible.passed };
      return;
    }
    this.position = made ? { ...made, frontier: made.passed.heavy, clears } : start;
    this.worth.note(made !== undefined, point.units, pass.tried, due);
    if (made && due.trigger === 'turns')
      this.turnsCut = this.history.turns.filter((unit) => unit < tail.turn).length;
  }

  settle(arrayTokens: number): void {
    const { freed, kept, spent } = this.standing;
    const moved = this.standing.moves !== this.settled.moves;
    const unchanged = moved ? Math.min(kept, this.keptByLeaving) : undefined;
    this.floor.settle(arrayTokens, arrayTokens - freed, unchanged, moved ? spent : 0);
    this.keptByLeaving = Number.POSITIVE_INFINITY;
    this.settled = this.standing;
  }

  /** The lossy positions to try if the reversible edits were not enough, best first. */
  private lossy(
    start: PhaseStanding,
    reversible: PhaseStanding,
    viewOf: (standing: PhaseStanding) => number,
    due: Due,
    arrayTokens: number,
    point: RequestPoint,
  ): PhaseStanding[] {
    if (viewOf(reversible) <= due.lossyOver) return [];
    const { heavy } = reversible.passed;
    // Summarise up to the frontier of the previous move; at the first move, up to the new one.
    const summarized = this.summarized(start, reversible, start.frontier > 0 ? start.frontier : heavy, point);
    // If there is nothing more to summarise, the outputs behind the summary leave first.
    const bare = withRehydrated(reversible, undefined);
    const whole = summarized ?? bare;
    const shorter =
      viewOf(whole) > due.trimOver ? this.trimmed(whole, arrayTokens - due.target, point) : undefined;
    // If trimming would bring the view neither below its budget nor below the step of the price, it
    // is not worth the loss, unless the window demands it.
    const brings = (limit: number) => shorter && viewOf(whole) > limit && viewOf(shorter) <= limit;
    const isWorth = due.unconditional || brings(due.trimOver) || brings(due.step ?? due.trimOver);
    const trimmed = isWorth ? shorter : undefined;
    this.futile = trimmed ? undefined : shorter;
    // If that is not enough and trimming does not help, summarise up to the new frontier.
    const further = trimmed ? undefined : this.summarized(start, reversible, heavy, point);
    const refilled = (standing: PhaseStanding | undefined): (PhaseStanding | undefined)[] => [
      standing && this.refilled(standing, viewOf(standing), due, point),
      standing,
    ];
    const tried = [trimmed, ...refilled(summarized), ...refilled(further)];
    if (bare !== reversible) tried.push({ ...bare, kept: this.untouched(bare.prefix?.unit ?? 0) });
    return tried.filter((standing) => standing !== undefined);
  }

  /** A position with outputs behind its summary, as far as the goal of the move leaves room. */
  private refilled(
    standing: PhaseStanding,
    view: number,
    due: Due,
    { messages }: RequestPoint,
  ): PhaseStanding | undefined {
    const { refills } = this.settings;
    const { prefix } = standing;
    if (!refills || !prefix) return undefined;
    const room = filledUpTo(due, refills.watermark) - view;
    const space = Math.min(
      refillOf(prefix.freed, room),
      prefix.freed - this.weights.unsureBefore(prefix.unit) - 1,
    );
    const rehydrated = refills.rehydrator.choose(prefix.unit, messages, space);
    return rehydrated && withRehydrated(standing, rehydrated);
  }

  /**
   * The position with a summary of everything before a unit; undefined if it would not make the
   * view smaller.
   */
  private summarized(
    start: PhaseStanding,
    reversible: PhaseStanding,
    unit: number,
    { messages: since }: RequestPoint,
  ): PhaseStanding | undefined {
    const covering = this.weights.prefixBefore(unit, start.prefix);
    if (!covering) return undefined;
    const prefix = { ...covering, since };
    const before = start.prefix ? this.weights.covered(start.prefix.unit) : 0;
    const read = prefix.covered - before + (start.prefix?.limit ?? 0);
    const spent = summarizerCost(read, prefix.limit, this.settings.outputPrice);
    const left = { prefix, trims: [], leftOut: prefix.freed };
    const standing = this.standingOf(start, passedBefore(unit, reversible.passed), left);
    if (standing.freed <= this.freedWith(start.prefix?.freed ?? 0, standing.passed)) return undefined;
    return { ...standing, kept: this.untouched(unit), spent };
  }

  /**
   * Drops the oldest units until `enough` tokens are freed or the tail is reached. Undefined if it
   * frees nothing, or if no user message is left for the trim line.
   */
  private trimmed(
    standing: PhaseStanding,
    enough: number,
    { units }: RequestPoint,
  ): PhaseStanding | undefined {
    const { passed, prefix, trims } = standing;
    const from = prefix?.unit ?? 0;
    let unit = trims.at(-1) ?? from;
    let leftOut = standing.leftOut;
    while (unit < passed.heavy && this.freedWith(leftOut, passed) < enough)
      leftOut = this.weights.leftOut(++unit, prefix);
    const freed = this.freedWith(leftOut, passed);
    const place = this.weights.requests.linePlace(unit);
    const later = this.history.units[units]?.first ?? Number.POSITIVE_INFINITY;
    if (
      freed <= standing.freed ||
      leftOut <= this.weights.unsureBefore(unit) ||
      !place ||
      ('opens' in place && place.opens >= later)
    )
      return undefined;
    const trim = { leftOut, freed, trims: [...trims, unit], passed: passedBefore(unit, passed) };
    return { ...standing, ...trim, kept: this.untouched(unit) };
  }

  private standingOf(
    start: PhaseStanding,
    passed: Passed,
    { prefix, trims, leftOut }: Pick<PhaseStanding, 'prefix' | 'trims' | 'leftOut'>,
  ): Omit<PhaseStanding, 'kept' | 'spent'> {
    const edited = this.journal.entries(start.ends.at(-1) ?? 0, this.journal.length);
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
      ends: [...start.ends, this.journal.length],
    };
  }

  /** Tokens of the view that stay untouched when the messages before a unit leave. */
  private untouched(unit: number): number {
    const first = this.weights.requests.firstBefore(unit)?.message;
    const begins = first !== undefined && first === this.history.units[0]?.first;
    return this.reread(begins ? this.sums.before(first + 1) : this.viewBefore(0));
  }

  /**
   * The part of a view before a unit that is read from the cache if the unit changes. A request has
   * ended there, and a cache with boundaries still looks for that end among the newest messages.
   */
  private keptBefore(unit: number, { messages }: RequestPoint): number {
    const kept = this.viewBefore(unit);
    const { first, kind } = elementAt(this.history.units, unit);
    return kind === 'assistant' && messages - first <= LOOKED_BACK ? kept : this.reread(kept);
  }

  /**
   * The part of a view that is read from the cache, of the part before the first byte that changes.
   * The marks are those of the moves before (see `marksOf`).
   */
  private reread(kept: number): number {
    const { boundaries } = this.settings;
    const { moves, frontier } = this.settled;
    if (!boundaries) return kept;
    const isMarked = boundaries === 'marked' && moves > 0;
    return Math.min(kept, this.viewBefore(isMarked ? frontier : 0));
  }

  /** Tokens of the view before a unit after the summary; for the first unit, of the preamble. */
  private viewBefore(unit: number): number {
    const { leftOut, passed } = this.standing;
    const rounds = unit === 0 ? 0 : this.rounds.tokens(passed.heavy, unit);
    return this.weights.before(unit, leftOut) + rounds;
  }

  /** Tokens that the view has less than the array; rounds of ours are in it beside the array. */
  private freedWith(leftOut: number, { heavy }: Passed): number {
    return this.journal.freed + leftOut - this.rounds.tokens(heavy);
  }

  /** The first unit of the recent part, which no move edits. */
  private tailUnit({ turn, step }: Cuts): number {
    return this.settings.shrinks ? Math.max(turn, step) : turn;
  }

  /** Whether a large output is in the view, and may leave it. */
  private isShown({ unit, removal }: LargeOutput): boolean {
    const isLeft = unit < this.leftCuts.turn || this.journal.removalOf(removal.message) !== undefined;
    return !isLeft && this.edits.without([removal]).length > 0;
  }

  /** Removals without those of outputs that have been removed. */
  private stillShown(removals: readonly Removal[]): readonly Removal[] {
    const isGone = ({ kind, message }: Removal): boolean =>
      kind === 'output' && this.journal.removalOf(message) !== undefined;
    return removals.some(isGone) ? removals.filter((removal) => !isGone(removal)) : removals;
  }
}
