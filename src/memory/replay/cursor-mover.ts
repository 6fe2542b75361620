/** The moves of a mode with one cursor: as far as necessary, or not at all. */
import type { RoundsInView, RoundsState } from './kept-rounds.ts';
import type { Cursor, Mover, Reach, ReplayPoint } from './mover.ts';
import type { Refusal } from './reasons.ts';
import { type Cuts, type Due, frontierUnit, type ReplayRule } from './rule.ts';

interface CursorState {
  /** Of the cursor: without the rounds. */
  readonly position: Reach;
  readonly turnsCut: number;
  readonly rounds: RoundsState;
}

/** A move that was not made. */
type Failed = Pick<Refusal, 'freed' | 'least'>;

/** Moves a cursor. Kept rounds leave the view when its cuts pass their answers. */
export class CursorMover implements Mover<CursorState> {
  turnsCut = 0;
  private readonly rule: ReplayRule;
  private readonly cursor: Cursor;
  private readonly rounds: RoundsInView;
  private readonly phase: Refusal['phase'];
  /** What the last move would have freed, and the least; undefined if it was made. */
  private failed: Failed | undefined;

  constructor(rule: ReplayRule, cursor: Cursor, rounds: RoundsInView, phase: Refusal['phase']) {
    this.rule = rule;
    this.cursor = cursor;
    this.rounds = rounds;
    this.phase = phase;
  }

  get refused(): readonly Refusal[] {
    if (!this.failed) return [];
    const { phase, failed } = this;
    return [{ phase, because: failed.freed > 0 ? 'floor' : 'nothing_to_free', ...failed }];
  }

  get state(): CursorState {
    const { turnsCut, cursor, rounds } = this;
    return { position: cursor.position, turnsCut, rounds: rounds.state };
  }

  set state({ position, turnsCut, rounds }: CursorState) {
    this.rounds.state = rounds;
    this.cursor.position = position;
    this.turnsCut = turnsCut;
  }

  get position(): Reach {
    const { tokens, cursor } = this;
    const { position } = cursor;
    return tokens === 0 ? position : { ...position, freed: position.freed - tokens };
  }

  set position(position: Reach) {
    const tokens = this.rounds.tokens(frontierUnit(position.cuts));
    this.cursor.position = { ...position, freed: position.freed + tokens };
  }

  get leftCuts(): Cuts {
    return this.cursor.position.cuts;
  }

  get settledUnit(): number {
    return frontierUnit(this.leftCuts);
  }

  get rewrites(): boolean {
    return this.cursor.rewrites;
  }

  arrive(messages: number): boolean {
    this.rounds.arrive(messages, this.settledUnit);
    const cameBack = this.cursor.arrive(messages);
    if (this.settledUnit === 0) this.turnsCut = 0;
    return cameBack;
  }

  shed(over: number): boolean {
    return this.rounds.shed(this.settledUnit, over) !== undefined;
  }

  move(due: Due, at: ReplayPoint): void {
    const failed = this.tryMove(due, at);
    // A slide moves on every request, as far as there is something to edit.
    this.failed = this.rule.frontier === 'slide' ? undefined : failed;
  }

  settle(): void {
    this.rounds.settle(this.settledUnit);
  }

  /**
   * Moves the cuts as far as necessary, and undoes the move if it frees too little. A move that
   * frees nothing at all stays: it changes no byte, and if the view comes back as an array, the
   * replay stays in step with the one of the original array.
   *
   * @returns what it would have freed, or the most that it could have, if it frees too little
   */
  private tryMove(due: Due, { tail, arrayTokens }: ReplayPoint): Failed | undefined {
    const { rule, cursor } = this;
    const leastFreed = due.unconditional ? 0 : rule.minReclaim;
    const most = leastFreed > 0 ? this.mostFreed(frontierUnit(tail)) : 0;
    if (most < leastFreed) return { freed: Math.max(0, most), least: leastFreed };
    const before = this.position;
    // The rounds that are passed on the way are not counted, so it may go further than it must.
    cursor.turnTo(tail.turn, arrayTokens + this.tokens - due.target);
    const turned = this.position;
    const { tightOver } = due;
    const mayShrink = tightOver !== undefined && rule.keepSteps !== undefined;
    if (mayShrink && arrayTokens - turned.freed > (due.target || tightOver))
      cursor.stepTo(tail.step, arrayTokens + this.tokens - due.target);
    // A request that stays may weigh more than the steps that leave.
    if (cursor.rewrites && this.position.freed <= turned.freed) this.position = turned;
    const least = cursor.rewrites ? Math.max(1, leastFreed) : leastFreed;
    cursor.refill?.(arrayTokens + this.tokens, due, before.freed + least + this.tokens);
    const freed = this.position.freed - before.freed;
    if (freed < least && (freed > 0 || cursor.rewrites)) this.position = before;
    // If turns leave the view, any move resets the turn trigger. Otherwise only its own moves do:
    // tokens missing from an array that came back would shift the count.
    else if (rule.stops === 'turn' || due.trigger === 'turns') this.turnsCut = cursor.turnsBefore;
    return freed < Math.max(1, least) ? { freed: Math.max(0, freed), least } : undefined;
  }

  /** An upper bound of what a move to a unit frees, with the rounds that it passes. */
  private mostFreed(unit: number): number {
    const left = this.rounds.tokens(Math.max(unit, this.settledUnit));
    return this.cursor.mostFreed(unit) + this.tokens - left;
  }

  /** Of the rounds in the view. */
  private get tokens(): number {
    return this.rounds.tokens(this.settledUnit);
  }
}
