/** What a replay goes by, and the cuts that it moves. */

/** Why units are edited, in the words of `x-memory-trigger`. */
export type Trigger = 'turns' | 'token_budget' | 'token_soft_budget' | 'upstream_limit' | 'force' | 'none';

/**
 * Which units are edited: all before `turn`, and the steps before `step`. The second is the larger
 * one after the tail had to shrink from turns to steps; the user messages between the two stay.
 */
export interface Cuts {
  readonly turn: number;
  readonly step: number;
}

/** The index of the first unit that is not edited. */
export function frontierUnit(cuts: Cuts): number {
  return Math.max(cuts.turn, cuts.step);
}

/** A strategy as the replay sees it. */
export interface ReplayRule {
  readonly frontier: 'jump' | 'slide';
  /** Turns in the tail. */
  readonly keepTurns: number;
  /**
   * Steps to which the tail may shrink under a token trigger; undefined where the caller forbade
   * that.
   */
  readonly keepSteps: number | undefined;
  /** The number of turns from which on the turn trigger is met. */
  readonly turnsDue: number | undefined;
  /** The number of turns from which on that trigger lets run what loses something too. */
  readonly turnsLossy?: number | undefined;
  /** Budgets in tokens. */
  readonly hard: number | undefined;
  readonly soft: number | undefined;
  /** Where a jump stops, as a share of the budget; 0 is the tail itself. */
  readonly watermark: number;
  /** A jump that frees less is not made, unless the view would not fit the window. */
  readonly minReclaim: number;
  readonly window: number;
  /** Whether the window is what the upstream has said by refusing a request. */
  readonly learned: boolean;
  /** Tokens that the answer may take. They count only at the last request point. */
  readonly answer: number;
  /** Whether the turn cut may stand inside a turn. */
  readonly stops: 'unit' | 'turn';
  /** Triggers count as met at the last request point. */
  readonly force: boolean;
}
