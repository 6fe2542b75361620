/**
 * What a mode says of itself: its fields, and what is asked of it by the plan and by the rooms
 * above.
 */
import type { z } from 'zod';
import type { Budgets, PlanContext, Planned, PlanRequest } from '../plan/planned.ts';
import type { ReplayRule } from '../replay/rule.ts';
import type { StrategyFault } from '../strategy/fields.ts';
import type { TokenSums } from '../tokens/sums.ts';

/** @typeParam Acting what the strategy may stand for */
export interface MemoryMode<Strategy, Acting = unknown> {
  /** Strict: a field that it does not name is refused. */
  readonly schema: z.ZodObject;
  /** Whether a view is edited. Such a mode has the fields `editing`. */
  readonly edits: boolean;
  /** Whether requests go up as they came, whatever the upstream is. */
  readonly passesThrough?: true;
  /** Fields that contradict each other. */
  contradiction?(strategy: Strategy): StrategyFault | undefined;
  /** The strategy that acts in the place of this one. */
  actsAs?(strategy: Strategy, upstreamCompacts: boolean): Acting;
  /** The compaction that the upstream is asked for. */
  upstreamCompaction?(strategy: Strategy): { readonly threshold: number | undefined };
  /** Whether what leaves the view is kept. Absent: it is not. */
  keepsContents?(strategy: Strategy): boolean;
  /**
   * Whether the model is given a tool to fetch what was removed.
   *
   * @param hasTools whether the request has tools
   */
  retrieves?(strategy: Strategy, hasTools: boolean): boolean;
  /**
   * Present where a model writes summaries: what makes two of the same messages differ, beside the
   * fields of all such modes.
   */
  summaryFacts?(strategy: Strategy): readonly unknown[];
  /** The newest turns that no summary ever covers. Absent: what is not covered is recent. */
  verbatimTurns?(strategy: Strategy): number;
  /** Present where the view is found by replaying the array. */
  readonly replayed?: ReplayedMode<Strategy>;
  /** Present where the view is planned around a memory, which is recalled before. */
  readonly recalled?: RecalledMode<Strategy>;
}

/** A mode whose frontier is found by replaying the array. */
export interface ReplayedMode<Strategy> {
  /** Whether the frontier slides where the strategy does not say how it moves. Absent: it jumps. */
  slides?(strategy: Strategy): boolean;
  /** See `ReplayRule`. */
  turnsDue(strategy: Strategy): number | undefined;
  /** See `ReplayRule`. */
  turnsLossy?(strategy: Strategy): number | undefined;
  tail(strategy: Strategy): Tail;
  /**
   * Whether it loses nothing where contents can be kept; only then it acts on a soft budget.
   * Absent: it does lose something.
   */
  isReversible?(strategy: Strategy): boolean;
  /** Whether it may remove something before any trigger is met. It counts no tokens. */
  mayActEarly?(strategy: Strategy, request: PlanRequest): boolean;
  plan(strategy: Strategy, request: ReplayRequest, context: PlanContext): Planned;
}

/** The recent units that no edit reaches. */
export type Tail = Pick<ReplayRule, 'keepTurns' | 'keepSteps' | 'stops'>;

/** A request that is about to be replayed. */
export interface ReplayRequest extends PlanRequest {
  readonly rule: ReplayRule;
  readonly sums: TokenSums;
}

/**
 * A mode that needs storage before it can plan: its boundary is the memory that is ready. All else
 * is a function of the array and of that memory.
 */
export interface RecalledMode<Strategy> {
  plan(strategy: Strategy, request: RecallRequest, context: PlanContext): RecalledPlan;
}

/** A request whose `memory` is known: without one, none is ready. */
export interface RecallRequest extends PlanRequest {
  /** The strategy's, as they are without the limit that an upstream has stated. */
  readonly budgets: Budgets;
  readonly sums: TokenSums;
}

/** A plan within the budgets that hold for memory and verbatim messages. */
export interface RecalledPlan extends Planned {
  readonly budgets: Budgets;
}
