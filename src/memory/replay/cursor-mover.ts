/** The moves of a mode with one cursor: as far as necessary, or not at all. */

import type { Cursor, Mover, Position } from './frontier.ts';
import type { CursorState, RoundsCursor } from './kept-rounds.ts';
import type { Refusal } from './refusal.ts';
import { type Cuts, type Due, frontierUnit, type ReplayRule } from './rule.ts';

/** Moves a cursor. */
export class CursorMover implements Mover<CursorState> {
  private readonly rule: ReplayRule;
  private readonly cursor: RoundsCursor;
  private readonly phase: Refusal['phase'];
  /** What the last move would have freed, and the least; undefined if it was made. */
  private failed: Failed | undefined;

  constructor(rule: ReplayRule, cursor: RoundsCursor, phase: Refusal['phase']) {
    this.rule = rule;
    this.cursor = cursor;
    this.phase = phase;
  }

  get refused(): readonly Refusal[] {
    if (!this.failed) return [];
    const { phase, failed } = this;
    return [{ phase, because: failed.freed > 0 ? 'floor' : 'nothing_to_free', ...failed }];
  }

  get state(): CursorState {
    return this.cursor.state;
  }

  set state(state: CursorState) {
    this.cursor.state = state;
  }

  get position(): Position {
    return this.cursor.position;
  }

  set position(position: Position) {
    this.cursor.position = position;
  }

  get turnsCut(): number {
    return this.cursor.turnsCut;
  }

  set turnsCut(turns: number) {
    this.cursor.turnsCut = turns;
  }

  get turnsLeftOut(): number {
    return this.cursor.turnsCut;
  }

  get leftCuts(): Cuts {
    return this.cursor.position.cuts;
  }

  get settledUnit(): number {
    return frontierUnit(this.cursor.position.cuts);
  }

  get rewrites(): boolean {
    return this.cursor.rewrites;
  }

  arrive(messages: number): boolean {
    return this.cursor.arrive(messages);
  }

  shed(over: number): boolean {
    return this.cursor.shed(over);
  }

  move(tail: Cuts, due: Due, arrayTokens: number): void {
    const failed = move(this.cursor, this.rule, tail, due, arrayTokens);
    // A slide moves on every request, as far as there is something to edit.
    this.failed = this.rule.frontier === 'slide' ? undefined : failed;
  }

  settle(): void {}
}

/** A move that was not made. */
type Failed = Pick<Refusal, 'freed' | 'least'>;

/**
 * Moves the cuts as far as necessary, and undoes the move if it frees too little. A move that frees
 * nothing at all stays: it changes no byte, and if the view comes back as an array, the replay
 * stays in step with the one of the original array.
 *
 * @returns what it would have freed, or the most that it could have, if it frees too little
 */
function move(
  cursor: Cursor,
  rule: ReplayRule,
  tail: Cuts,
  due: Due,
  arrayTokens: number,
): Failed | undefined {
  const leastFreed = due.unconditional ? 0 : rule.minReclaim;
  const most = leastFreed > 0 ? cursor.mostFreed(frontierUnit(tail)) : 0;
  if (most < leastFreed) return { freed: Math.max(0, most), least: leastFreed };
  const before = cursor.position;
  cursor.turnTo(tail.turn, arrayTokens - due.target);
  const turned = cursor.position;
  if (
    due.shrinkOver !== undefined &&
    rule.keepSteps !== undefined &&
    arrayTokens - cursor.position.freed > due.shrinkOver
  )
    cursor.stepTo(tail.step, arrayTokens - due.target);
  // A request that stays may weigh more than the steps that leave.
  if (cursor.rewrites && cursor.position.freed <= turned.freed) cursor.position = turned;
  const least = cursor.rewrites ? Math.max(1, leastFreed) : leastFreed;
  cursor.refill?.(arrayTokens, due, before.freed + least);
  const freed = cursor.position.freed - before.freed;
  if (freed < least && (freed > 0 || cursor.rewrites)) cursor.position = before;
  // If turns leave the view, any move resets the turn trigger. Otherwise only its own moves do:
  // tokens missing from an array that came back would shift the count.
  else if (rule.stops === 'turn' || due.trigger === 'turns') cursor.turnsCut = cursor.position.turnsBefore;
  return freed < Math.max(1, least) ? { freed: Math.max(0, freed), least } : undefined;
}
