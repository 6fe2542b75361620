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
 * at the watermark and four times the floor is freed. `lossy-phases.ts` has the others.
 */

import type { RequestPoint } from '../conversation/history.ts';
import type { Removal } from '../edits/removal.ts';
import type { SummarizedPrefix, TrimmedSpan } from '../edits/summarize.ts';
import type { Floor, FloorState } from './floor.ts';
import { outputsSince, shortenedOutputs } from './fresh-outputs.ts';
import type { JournalEntry } from './journal.ts';
import type { RoundsState } from './kept-rounds.ts';
import { lossyPositions } from './lossy-phases.ts';
import { type Misses, missesIn, type Recalling } from './misses.ts';
import type { Mover, ReplayPoint } from './mover.ts';
import { NOWHERE, Pass, type PhaseStanding, settledBefore } from './phase-standing.ts';
import type { PhaseView } from './phase-view.ts';
import { PhaseWorth, refusalsOf, type WorthState } from './phase-worth.ts';
import type { Refusal } from './reasons.ts';
import { type Cuts, type Due, type TailCuts, turnsBefore } from './rule.ts';
import { type LargeOutput, SeenOutputs, type SeenState } from './seen-outputs.ts';

/** All that the phases have come to by a request point, as a value without the array. */
interface PhaseState {
  /** Settled: no request point has begun since. */
  readonly standing: PhaseStanding;
  readonly turnsCut: number;
  readonly refused: readonly Refusal[];
  /** Of the journal. */
  readonly entries: readonly JournalEntry[];
  readonly rounds: RoundsState;
  readonly floor: FloorState;
  readonly worth: WorthState;
  readonly seen: SeenState | undefined;
  /** Of units that the heavy phase has not passed: what the light one has found there. */
  readonly light: readonly { readonly unit: number; readonly removals: readonly Removal[] }[];
}

export class PhaseMover implements Mover<PhaseState> {
  turnsCut = 0;
  readonly rewrites = true;
  private readonly view: PhaseView;
  private readonly floor: Floor;
  private readonly worth: PhaseWorth;
  readonly edits: Misses;
  /** Absent if large outputs leave only when a trigger is met. */
  private readonly seen: SeenOutputs | undefined;
  /** Of the view of this request point, before the first output or round that has left early. */
  private keptByLeaving = Number.POSITIVE_INFINITY;
  /** Tokens of rounds without which what the model has not seen would fit the budget whole. */
  private crowding = 0;
  private readonly lightOf: (readonly Removal[])[] = [];
  private standing = NOWHERE;
  /** Whether a move of this request point was one of a cold return. */
  private movedCold = false;
  refused: readonly Refusal[] = [];

  constructor(view: PhaseView, floor: Floor, edits: Recalling) {
    const { history, settings, journal } = view;
    this.view = view;
    this.floor = floor;
    this.worth = new PhaseWorth(floor, settings.minReclaim);
    this.seen = settings.early && new SeenOutputs(settings.early, history.requestPoints);
    this.edits = missesIn(history, edits, journal);
  }

  get state(): PhaseState {
    const { standing, turnsCut, refused, floor, worth, seen, lightOf } = this;
    const { journal, rounds } = this.view;
    const { heavy } = standing.passed;
    return {
      standing,
      turnsCut,
      refused,
      entries: journal.entries(0, journal.length),
      rounds: rounds.state,
      floor: floor.state,
      worth: worth.state,
      seen: seen?.state,
      light: lightOf.slice(heavy).flatMap((removals, at) => {
        return removals.length > 0 ? [{ unit: heavy + at, removals }] : [];
      }),
    };
  }

  set state(state: PhaseState) {
    const { standing, entries, seen, light } = state;
    for (const entry of entries) this.view.journal.append(entry);
    for (const { unit, removals } of light) this.lightOf[unit] = removals;
    this.standing = standing;
    this.view.settled = standing;
    this.turnsCut = state.turnsCut;
    this.refused = state.refused;
    this.view.rounds.state = state.rounds;
    this.floor.state = state.floor;
    this.worth.state = state.worth;
    if (this.seen && seen) this.seen.state = seen;
  }

  get leftCuts(): Cuts {
    const { prefix, trims } = this.standing;
    const unit = trims.at(-1) ?? prefix?.unit ?? 0;
    return { turn: unit, step: unit };
  }

  get settledUnit(): number {
    const isMarked = this.view.settings.boundaries === 'marked';
    return isMarked ? settledBefore(this.standing, this.edits) : this.standing.frontier;
  }

  get position(): PhaseStanding {
    return this.standing;
  }

  set position(standing: PhaseStanding) {
    this.view.journal.truncate(standing.ends.at(-1) ?? 0);
    this.standing = standing;
  }

  /** The removals of each change, oldest first. */
  removed(): readonly (readonly Removal[])[] {
    const { ends } = this.standing;
    return ends.map((length, index) =>
      this.view.journal.entries(ends[index - 1] ?? 0, length).flatMap(({ removals }) => removals),
    );
  }

  /** Those at the request point whose array ends before a message. */
  removedAt(messages: number): readonly Removal[] {
    return this.view.journal.madeAt(messages).flatMap(({ removals }) => removals);
  }

  /** The prefix that the next move would summarize; fixed since the last move. */
  next(): SummarizedPrefix | undefined {
    const { frontier, prefix, leftOut } = this.standing;
    const next = frontier > 0 ? this.view.prefixBefore(frontier, prefix) : undefined;
    return next && next.freed > leftOut ? next : undefined;
  }

  trimmedSpan(): TrimmedSpan | undefined {
    return this.view.trimmedSpan(this.standing);
  }

  shed(over: number): boolean {
    const { view, standing } = this;
    const left = view.rounds.shed(standing.passed.heavy, Math.max(over, this.crowding));
    this.crowding = 0;
    if (left) this.moveEarly(standing.freed + left.tokens, this.reread(left.unit));
    return left !== undefined;
  }

  arrive(messages: number): boolean {
    const come = this.view.rounds.arrive(messages, this.standing.passed.heavy);
    if (come > 0) this.standing = { ...this.standing, freed: this.standing.freed - come };
    const back = this.view.withLateResults(this.standing, messages);
    this.standing = back ?? this.standing;
    return back !== undefined;
  }

  see(at: ReplayPoint, since: number): void {
    const { tail, arrayTokens } = at;
    const { standing, view } = this;
    const { journal } = view;
    const { shortened } = this.edits;
    // What can't be fetched is cut for the window alone.
    const { fresh: open } = view.settings;
    const fresh = open && this.isClosed(at) ? { ...open, budget: open.window } : open;
    if (!shortened || !fresh || arrayTokens - standing.freed <= fresh.budget) return;
    const least = view.least(this.tailUnit(tail), arrayTokens, at);
    journal.at = at.messages;
    const before = journal.length;
    const outputs = outputsSince(view.history, since, at);
    for (const { unit, removal } of shortenedOutputs(outputs, least, fresh, view.sums, shortened))
      journal.add(unit, [removal]);
    const { leftOut, passed } = standing;
    const isShortened = journal.length > before;
    if (isShortened) {
      const freed = view.freedWith(leftOut, passed);
      this.standing = { ...standing, freed, ends: [...standing.ends, journal.length] };
    }
    if (outputs.length === 0) return;
    const rest = view.least(this.tailUnit(tail), arrayTokens, at);
    // Rounds leave for fresh outputs alone, and not where the view exceeds its budget without them.
    const isCrowded = isShortened || rest <= fresh.budget;
    this.crowding = isCrowded ? Math.max(0, rest + view.rounds.tokens(passed.heavy) - fresh.budget) : 0;
  }

  leave(at: ReplayPoint): void {
    const { view, standing, seen } = this;
    const { settings, journal } = view;
    if (!seen || this.isClosed(at)) return;
    const limit = settings.early?.keepsTail ? this.tailUnit(at.tail) : at.units;
    const outputs = seen.at(at.index, limit, (output) => this.isShown(output));
    const before = { array: at.arrayTokens, view: at.arrayTokens - standing.freed };
    const made = this.worth.leaving(outputs, before, (unit) => view.keptBefore(unit, at, standing));
    if (!made) return;
    journal.at = at.messages;
    for (const { unit, removal } of made.outputs) journal.add(unit, [removal]);
    this.moveEarly(view.freedWith(standing.leftOut, standing.passed), made.kept);
  }

  /** Notes a move of outputs or rounds alone. @param kept of the view before the first of them */
  private moveEarly(freed: number, kept: number): void {
    const { standing } = this;
    this.keptByLeaving = Math.min(this.keptByLeaving, kept);
    const ends = [...standing.ends, this.view.journal.length];
    this.standing = { ...standing, freed, moves: standing.moves + 1, ends, kept, spent: 0 };
  }

  /** What may leave early at the request after the one of an index. */
  leavingNext(index: number): readonly Removal[] {
    const outputs = this.seen?.dueAt(index + 1) ?? [];
    return outputs.filter((output) => this.isShown(output)).map(({ removal }) => removal);
  }

  move(due: Due, at: ReplayPoint): void {
    const { tail, arrayTokens } = at;
    const { view, standing: start } = this;
    const { journal, rounds, history } = view;
    const stakes = { array: arrayTokens, view: arrayTokens - start.freed };
    if (!this.worth.isTried(at.units, due)) return;
    journal.at = at.messages;
    // Reasoning can't be brought back, so it leaves where a summary may replace messages.
    const clears = Number.isFinite(due.lossyOver);
    const limits = [tail.turn];
    if (view.settings.shrinks && due.tightOver !== undefined)
      limits.push(Math.max(tail.turn, tail.step), Math.max(tail.turn, tail.tight));
    const { tightOver = Number.POSITIVE_INFINITY } = due;

    const pass = new Pass(journal, rounds, start.passed, (first) =>
      this.worth.goal(this.reread(first), due, stakes),
    );
    for (const [index, limit] of limits.entries()) {
      if (index > 1 && arrayTokens - view.freedWith(start.leftOut, pass.passed) <= tightOver) break;
      pass.run('light', limit, (unit) => {
        this.lightOf[unit] = this.edits.light(unit, at.messages);
        return this.stillShown(this.lightOf[unit]);
      });
      const old = clears ? this.edits.old : undefined;
      if (old) pass.run('reasoning', Math.min(limit, old.staysFrom(at.turns)), (unit) => old.in(unit));
      // The current request keeps its images.
      const asking = history.turns[at.turns - 1] ?? 0;
      if (index === 0) pass.run('media', Math.min(limit, asking), (unit) => this.edits.media(unit));
      pass.run('heavy', limit, (unit) => this.stillShown(this.edits.heavy(unit, this.lightOf[unit] ?? [])));
    }
    const reversible: PhaseStanding = {
      ...view.moved(start, pass.passed, start),
      kept: pass.first === undefined ? stakes.view : this.reread(pass.first),
      spent: 0,
    };
    const lossy = lossyPositions(view, { start, reversible, due, at });
    const found = [...lossy.tried, reversible];
    const made = found.find(
      (standing) => standing.freed - start.freed >= this.worth.least(standing, due, stakes).least,
    );
    const isLossy = stakes.array - reversible.freed > due.lossyOver;
    const { futile } = lossy;
    const tried = { start, found, made, isLossy, futile, needed: stakes.view - due.trimOver };
    this.refused = refusalsOf(tried, (standing) => this.worth.least(standing, due, stakes));
    if (!made && pass.first === undefined) {
      // Nothing could be removed in these units, so don't pass them again.
      this.standing = { ...start, passed: reversible.passed };
      return;
    }
    this.position = made ? { ...made, frontier: made.passed.heavy, clears } : start;
    this.worth.note(made !== undefined, at.units, pass.tried, due);
    this.movedCold = made !== undefined && due.isCold === true;
    if (made && due.trigger === 'turns') this.turnsCut = turnsBefore(history, tail.turn);
  }

  paysFrom({ tail, arrayTokens }: ReplayPoint): number {
    const { standing, view } = this;
    const { units, messages } = view.history;
    const kept = view.before(standing.passed.heavy, standing);
    const first = units[this.tailUnit(tail)]?.first ?? messages.length;
    return this.worth.paysFrom(kept, arrayTokens - view.sums.before(first), arrayTokens);
  }

  settle(arrayTokens: number): void {
    const { freed, kept, spent } = this.standing;
    const moved = this.standing.moves !== this.view.settled.moves;
    const unchanged = moved ? Math.min(kept, this.keptByLeaving) : undefined;
    this.floor.settle(arrayTokens, arrayTokens - freed, unchanged, moved ? spent : 0, this.movedCold);
    this.movedCold = false;
    this.keptByLeaving = Number.POSITIVE_INFINITY;
    this.view.settled = this.standing;
    this.view.rounds.settle(this.standing.passed.heavy);
  }

  /** Whether the model could not fetch at a request. */
  private isClosed({ messages }: RequestPoint): boolean {
    return this.view.settings.closed?.has(messages) === true;
  }

  /** Of the view, what is read from the cache if a unit changes. */
  private reread(unit: number): number {
    return this.view.reread(this.view.before(unit, this.standing), this.standing);
  }

  /** The first unit of the recent part, which no move edits. */
  private tailUnit({ turn, tight }: TailCuts): number {
    return this.view.settings.shrinks ? Math.max(turn, tight) : turn;
  }

  /** Whether a large output is in the view, and may leave it. */
  private isShown({ unit, removal }: LargeOutput): boolean {
    const isGone = this.view.journal.removalOf(removal.message) !== undefined;
    return unit >= this.leftCuts.turn && !isGone && this.edits.without([removal]).length > 0;
  }

  /** Removals without the ones of outputs that have been removed. */
  private stillShown(removals: readonly Removal[]): readonly Removal[] {
    const isGone = ({ kind, message }: Removal): boolean =>
      kind === 'output' && this.view.journal.removalOf(message) !== undefined;
    return removals.filter((removal) => !isGone(removal));
  }
}
