/** The interface of a mode: its fields, and the answers that the plan and the other rooms need. */
import type { z } from 'zod';
import type { RoundsInView } from '../replay/kept-rounds.ts';
import type { ReplayRule } from '../replay/rule.ts';
import type { StrategyFault } from '../strategy/fields.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { Budgets, PlanContext, Planned, PlanRequest } from './planned.ts';

/** @typeParam Acting the strategies that may act for this one */
export interface MemoryMode<Strategy, Acting = unknown> {
  /** Strict: unknown fields are refused. */
  readonly schema: z.ZodObject;
  /** Whether requests are forwarded unchanged, whatever the upstream. */
  readonly passesThrough?: true;
  /** Finds fields that contradict each other. */
  contradiction?(strategy: Strategy): StrategyFault | undefined;
  actsAs?(strategy: Strategy, upstreamCompacts: boolean): Acting;
  /** The compaction to ask the upstream for. */
  upstreamCompaction?(strategy: Strategy): { readonly threshold: number | undefined };
  /** Whether removed content is stored. Absent: it is not. */
  keepsContents?(strategy: Strategy): boolean;
  /**
   * Whether the model gets a tool to fetch removed content.
   *
   * @param hasTools whether the request has tools
   */
  retrieves?(strategy: Strategy, hasTools: boolean): boolean;
  /** Whether contents may leave the view together with their refs. */
  readonly hidesRefs?: true;
  /**
   * Present if a model writes summaries: settings that change their text, beside those that all
   * such modes share.
   */
  summaryFacts?(strategy: Strategy): readonly unknown[];
  /** The newest turns that no summary ever covers. Absent: every uncovered turn is recent. */
  verbatimTurns?(strategy: Strategy): number;
  /** Present if the view is found by replaying the array. */
  readonly replayed?: ReplayedMode<Strategy>;
  /** Present where the view is planned around a memory, which is recalled before. */
  readonly recalled?: RecalledMode<Strategy>;
}

/** A mode whose frontier is found by replaying the array. */
export interface ReplayedMode<Strategy> {
  /** Whether the frontier slides by default. Absent: it jumps. */
  slides?(strategy: Strategy): boolean;
  /** The triggers that count. */
  triggers(strategy: Strategy): CountTriggers;
  tail(strategy: Strategy): Tail;
  /**
   * Whether it loses nothing if contents can be stored. Only then does it act on a soft budget.
   * Absent: it loses something.
   */
  isReversible?(strategy: Strategy): boolean;
  /** Whether it moves only where that pays, so the model's goal is a soft budget for it. */
  readonly paysOff?: true;
  /** Whether it may remove something before a trigger is met. Must not count tokens. */
  mayActEarly?(strategy: Strategy, request: PlanRequest, window: number): boolean;
  plan(strategy: Strategy, request: ReplayRequest, context: PlanContext): Planned;
}

/** See `ReplayRule`. */
type CountTriggers = Pick<ReplayRule, 'turnsDue' | 'turnsLossy' | 'stepsDue' | 'messagesDue'>;

/** The recent units that no edit touches. */
export type Tail = Pick<ReplayRule, 'keepTurns' | 'keepSteps' | 'smallSteps' | 'stops' | 'whole'>;

interface CountedRequest extends PlanRequest {
  readonly sums: TokenSums;
  /** Precis's rounds before the first request point. */
  readonly inView: RoundsInView;
}

export interface ReplayRequest extends CountedRequest {
  readonly rule: ReplayRule;
}

/**
 * A mode that needs storage before it can plan: its boundary is the memory that is ready. All else
 * is a function of the array and of that memory.
 */
interface RecalledMode<Strategy> {
  /** Tokens that the view is never larger than, without the preamble and the tools. */
  most(strategy: Strategy): number;
  plan(strategy: Strategy, request: RecallRequest, context: PlanContext): RecalledPlan;
}

/** A request whose `memory` is known: without one, none is ready. */
export interface RecallRequest extends CountedRequest {
  /** The strategy's, as they are without the limit that an upstream has stated. */
  readonly budgets: Budgets;
}

/** A plan within the budgets that hold for memory and verbatim messages. */
export interface RecalledPlan extends Planned {
  readonly budgets: Budgets;
}
