/** The rule of a replay, and the cuts that it moves. */
import { elementAt } from '../../lib/elements.ts';
import type { History } from '../conversation/history.ts';
import { mostFitting } from '../tokens/fitting.ts';
import type { ThinkingRule } from './bound-thinking.ts';
import type { Trigger } from './reasons.ts';

/**
 * Which units are edited: all before `turn`, and the steps before `step`. `step` is larger if the
 * tail had to shrink from turns to steps; user messages between the two stay.
 */
export interface Cuts {
  readonly turn: number;
  readonly step: number;
}

/** The index of the first unit that is not edited. */
export function frontierUnit(cuts: Cuts): number {
  return Math.max(cuts.turn, cuts.step);
}

/** How many turns begin before a unit. */
export function turnsBefore({ turns }: Pick<History, 'turns'>, unit: number): number {
  return mostFitting(turns.length, (count) => elementAt(turns, count - 1) < unit);
}

/** The limits of both cuts at a request point. */
export interface TailCuts extends Cuts {
  /** The step cut where the view would exceed its budget otherwise: at least `step`. */
  readonly tight: number;
}

/** Steps in the tail that don't count, since there is little to read in them. */
interface SmallSteps {
  /** Their results have together fewer tokens. */
  readonly under: number;
  /** Steps in a tail that has some. */
  readonly most: number;
}

/** The rule that a strategy sets for its replay. */
export interface ReplayRule {
  readonly frontier: 'jump' | 'slide';
  /** Turns in the tail. */
  readonly keepTurns: number;
  /** Steps to which the tail may shrink under a token trigger; undefined if it must not. */
  readonly keepSteps: number | undefined;
  /** Absent: all steps count. */
  readonly smallSteps?: SmallSteps | undefined;
  /** Turns from which the turn trigger is met. */
  readonly turnsDue: number | undefined;
  /** Turns from which that trigger also allows lossy edits. */
  readonly turnsLossy?: number | undefined;
  /** Steps since the last move of this trigger from which it is met. */
  readonly stepsDue?: number | undefined;
  /** Messages in the view from which their trigger is met. It also allows lossy edits. */
  readonly messagesDue?: number | undefined;
  /** Budgets in tokens. */
  readonly hard: number | undefined;
  readonly soft: number | undefined;
  /** Over this, all of a request costs more; undefined if it does not, or is not to count. */
  readonly step?: number | undefined;
  /** Tokens of a view over which moves are made at any cost. Absent: over the window alone. */
  readonly limit?: number | undefined;
  /** Where a jump stops, as a share of the budget; 0 means at the tail. */
  readonly watermark: number;
  /** Minimum of freed tokens for a jump, unless the view would not fit the window. */
  readonly minReclaim: number;
  /** Whether moves wait until they pay off, and so until `OVERDUE` at the latest. */
  readonly waits?: boolean | undefined;
  readonly window: number;
  /** Whether the window was learned from an upstream's refusal. */
  readonly learned: boolean;
  /** Tokens reserved for the answer. They only count at the last request point. */
  readonly answer: number;
  /** Whether the turn cut may be inside a turn. */
  readonly stops: 'unit' | 'turn';
  /** Whether the whole array is put away, with an answer that it ends with. Absent: that stays. */
  readonly whole?: true;
  /** Whether triggers count as met at the last request point. */
  readonly force: boolean;
  /** Thinking that leaves with each move. The sums of the replay are without it. */
  readonly thinking?: ThinkingRule | undefined;
  /** Whether nothing moves at the last request point, but for the window. */
  readonly still?: boolean;
  /** See `PlanRequest`. */
  readonly cold?: ReadonlySet<number> | undefined;
}

/** A trigger that is met, and the goals of its move. */
export interface Due {
  readonly trigger: Trigger;
  /** Tokens of the view over which a summary may replace messages; infinite if none may. */
  readonly lossyOver: number;
  /** Tokens of the view over which messages may be trimmed; infinite if none may. */
  readonly trimOver: number;
  /** Whether to move however little it frees. */
  readonly unconditional: boolean;
  /** Tokens to free that are worth a move whatever it costs. Absent: its costs decide. */
  readonly overdue?: number | undefined;
  /** The step of the price, in tokens, if the view exceeds it; to get below it always pays. */
  readonly step?: number | undefined;
  /** Tokens at which the move stops; 0 means at the tail. */
  readonly target: number;
  /**
   * Tokens over which small steps count as all others. Over the target, or over this where the
   * target is the tail, the tail shrinks to steps. Undefined if it must not.
   */
  readonly tightOver?: number | undefined;
  /** What the move costs beside what is read anew, in tokens of fresh input. Absent: nothing. */
  readonly loss?: number;
  /** Whether the upstream's cache has nothing of the conversation, so that all is read anew. */
  readonly isCold?: boolean;
}

/** Where a move stops, as a share of the budget, for rules whose watermark is 0. */
const FILLED_UP_TO = 0.6;

/**
 * The most tokens of a view that contents may be put back into: where the move stops, or, if that
 * is the tail, a share of the budget.
 */
export function filledUpTo({ target, trimOver }: Due, watermark: number): number {
  return target > 0 ? target : trimOver * (watermark || FILLED_UP_TO);
}
