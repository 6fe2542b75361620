/** What a replay moves. */
import type { RequestPoint } from '../conversation/history.ts';
import type { Refusal } from './reasons.ts';
import type { Cuts, Due, TailCuts } from './rule.ts';

/** The cuts during a replay, and the tokens that they free. */
export interface Cursor {
  /** Current position. Assign an earlier one to undo moves. */
  position: Reach;
  /** Turns that begin before the turn cut. */
  readonly turnsBefore: number;
  /** See `Mover`. */
  readonly rewrites: boolean;
  /** See `Mover`. */
  arrive(messages: number): boolean;
  /** An upper bound of what a move to this unit frees. */
  mostFreed(unit: number): number;
  /** Moves the turn cut towards `limit`, until `enough` tokens are freed in total. */
  turnTo(limit: number, enough: number): void;
  /** Moves the step cut likewise. */
  stepTo(limit: number, enough: number): void;
  /**
   * Ends a move: puts contents back after a summary that has moved, and takes them from one that
   * could not move while the view is over its budget. Absent where none come back.
   *
   * @param least tokens that stay freed
   */
  refill?(arrayTokens: number, due: Due, least: number): void;
}

/** Before the first unit. */
export const AT_START: Reach = { cuts: { turn: 0, step: 0 }, freed: 0 };

/** Tokens that an edit frees in a unit. */
export interface Effect {
  /** In a unit before the turn cut. */
  whole(unit: number): number;
  /** In a unit that is only before the step cut. */
  step(unit: number): number;
}

/** A request point during a replay. */
export interface ReplayPoint extends RequestPoint {
  readonly index: number;
  /** The limit of each cut. */
  readonly tail: TailCuts;
  /** Tokens of the array up to it. */
  readonly arrayTokens: number;
}

/**
 * Anything that a replay moves: a cursor, or the phases of `auto`.
 *
 * @typeParam State all that it has come to by a request point
 */
export interface Mover<State = unknown> {
  /**
   * A value of its own, without the array. Assign one that a mover of the same kind had for the
   * same array, or for one that begins with the same messages, to go on from there. These must have
   * arrived.
   */
  state: State;
  /** Current position. Assign an earlier one to undo moves. */
  position: Reach;
  /** Turns that the turn trigger no longer counts. */
  turnsCut: number;
  /** The units before these cuts have left the view. */
  readonly leftCuts: Cuts;
  /** See `Move.settled` (`frontier.ts`). */
  readonly settledUnit: number;
  /** Whether a move changes bytes even if it frees nothing. */
  readonly rewrites: boolean;
  /**
   * Adds the messages before an index. Returns whether a result among them brings something back
   * into the view.
   */
  arrive(messages: number): boolean;
  /**
   * Shortens outputs that the model has not seen, where the view would not fit its budget with them
   * whatever else left it. That is no move, since nothing of them was sent. Absent: all stay whole.
   *
   * @param since the first message that no answer has followed
   */
  see?(at: ReplayPoint, since: number): void;
  /**
   * Lets Precis's rounds leave, the oldest first: those that exceed their bounds, or as many as
   * free this many tokens. Returns whether any have left.
   */
  shed(over: number): boolean;
  /** Removes large outputs that the model has answered often enough, where that pays off. */
  leave?(at: ReplayPoint): void;
  /** Moves as far as necessary. Does nothing if that frees too little. */
  move(due: Due, at: ReplayPoint): void;
  /** Ends a request point, after its moves. */
  settle(arrayTokens: number): void;
  /** Tokens of a view from which a move is likely to pay off. Absent: any move does. */
  paysFrom?(last: ReplayPoint): number;
  /** What the last move left out, and why; empty if it took all that was due. */
  readonly refused: readonly Refusal[];
}

/** How far a mover has come. */
export interface Reach {
  readonly cuts: Cuts;
  /** Tokens that the view has less than the caller's array. */
  readonly freed: number;
  /**
   * The part of `freed` from messages that left the view, for movers whose cuts don't determine it.
   */
  readonly leftOut?: number;
}
