/** What the phases of `auto` work with: their settings, and how far they have come. */
import type { PrefixSums } from '../../lib/prefix-sums.ts';
import type { OldReasoning } from '../edits/old-reasoning.ts';
import { type Rehydrated, tokensOf } from '../edits/rehydrate.ts';
import type { Removal } from '../edits/removal.ts';
import { type PrefixSettings, rehydratedWith, type SummarizedPrefix } from '../edits/summarize.ts';
import type { FreshBudgets, Shorten } from './fresh-outputs.ts';
import type { Journal } from './journal.ts';
import type { RoundsInView } from './kept-rounds.ts';
import type { Reach } from './mover.ts';
import type { Refills } from './prefix-cursor.ts';
import type { EarlyLeaving } from './seen-outputs.ts';

export interface PhaseSettings extends PrefixSettings {
  /** Whether the tail may shrink to steps. */
  readonly shrinks: boolean;
  /** The caller's minimum of freed tokens per move, if set. */
  readonly minReclaim: number | undefined;
  /** The price of a token of a summary, relative to fresh input. */
  readonly outputPrice: number;
  /** The budgets for outputs that the model has not seen. Absent if all of them stay whole. */
  readonly fresh?: FreshBudgets | undefined;
  /** See `PlanRequest`. */
  readonly closed?: ReadonlySet<number>;
  /** Absent if large outputs only leave when a trigger is met. */
  readonly early?: EarlyLeaving | undefined;
  /** Absent if no outputs follow a summary. */
  readonly refills?: Refills | undefined;
  /**
   * Whether the cache is only read at boundaries, and whether the view has marks there. Absent: it
   * is read up to the first byte that changes.
   */
  readonly boundaries?: 'marked' | 'unmarked' | undefined;
  /** Per unit, the tokens counted for digests at sight that may not come. */
  readonly unsure?: PrefixSums | undefined;
}

/** The possible removals of a unit. */
export interface PhaseEdits {
  /** Of outputs that are large, or repeated among the messages before `until`. */
  light(unit: number, until: number): readonly Removal[];
  /** Of everything else that `light` has not removed. */
  heavy(unit: number, light: readonly Removal[]): readonly Removal[];
  /** Of a user message that stays as long as its turn does. */
  media(unit: number): readonly Removal[];
  /** Absent if all outputs that the model has not seen stay whole. */
  readonly shortened?: Shorten | undefined;
  /** Absent if all reasoning stays. */
  readonly old?: OldReasoning | undefined;
}

/** How far all phases have come. */
export interface PhaseStanding extends Reach {
  readonly passed: Passed;
  /** Whether the last move was one that clears old reasoning. */
  readonly clears: boolean;
  /** How far compaction had come at the last move. */
  readonly frontier: number;
  /** The prefix that a summary replaces. */
  readonly prefix: SummarizedPrefix | undefined;
  /** For each trimming move since that prefix, the first unit that stays. */
  readonly trims: readonly number[];
  /** Tokens saved by messages that left the view. */
  readonly leftOut: number;
  readonly moves: number;
  /** The journal's length after each change: a move, or outputs that were shortened at sight. */
  readonly ends: readonly number[];
  /**
   * The part of the view before the first byte that the last move changed, and the cost of its
   * summary.
   */
  readonly kept: number;
  readonly spent: number;
}

/** Before the first move. */
export const NOWHERE: PhaseStanding = {
  cuts: { turn: 0, step: 0 },
  freed: 0,
  passed: { light: 0, heavy: 0, media: 0, reasoning: 0 },
  clears: false,
  frontier: 0,
  prefix: undefined,
  trims: [],
  leftOut: 0,
  moves: 0,
  ends: [],
  kept: 0,
  spent: 0,
};

/**
 * The unit before which no later move of the same kind changes anything. The media of a request
 * that is still being answered leave later, and so does reasoning of turns that are not old, unless
 * moves as the last one leave all reasoning in the view.
 */
export function settledBefore({ frontier, passed, clears }: PhaseStanding, edits: PhaseEdits): number {
  const old = clears ? edits.old : undefined;
  const from = Math.min(passed.media, old ? passed.reasoning : frontier);
  for (let unit = from; unit < frontier; unit++) {
    if (unit >= passed.media && edits.media(unit).length > 0) return unit;
    if (old && unit >= passed.reasoning && old.in(unit).length > 0) return unit;
  }
  return frontier;
}

/** A position with other outputs after its summary; the same one without a summary. */
export function withRehydrated(standing: PhaseStanding, rehydrated: Rehydrated | undefined): PhaseStanding {
  const { prefix } = standing;
  const more = tokensOf(rehydrated) - tokensOf(prefix?.rehydrated);
  if (!prefix || more === 0) return standing;
  const { freed, leftOut } = standing;
  return {
    ...standing,
    prefix: rehydratedWith(prefix, rehydrated),
    freed: freed - more,
    leftOut: leftOut - more,
  };
}

/** Tokens of a summarizer's prompt, without its input. */
const PROMPT_TOKENS = 600;

/**
 * What a summary costs, in tokens of fresh input.
 *
 * @param limit the most tokens of its text
 * @param price of a token of output
 */
export function summarizerCost(read: number, limit: number, price: number): number {
  return PROMPT_TOKENS + read + price * limit;
}

/** The first unit that each phase has not passed. */
export interface Passed {
  readonly light: number;
  readonly heavy: number;
  readonly media: number;
  readonly reasoning: number;
}

/** The same, where no phase passes the units before one that may still hold these. */
export function passedBefore(unit: number, passed: Passed): Passed {
  const { media, reasoning } = passed;
  return { ...passed, media: Math.max(unit, media), reasoning: Math.max(unit, reasoning) };
}

/** One pass of the phases over the units, until it has freed enough. */
export class Pass {
  passed: Passed;
  /** The first unit that it has changed. */
  first: number | undefined;
  /** Number of units that the phases have looked at. */
  tried = 0;
  private readonly journal: Journal;
  private readonly rounds: RoundsInView;
  private readonly before: number;
  private readonly goal: (first: number) => number;

  /** @param rounds those in the view, which leave where the phase `heavy` passes */
  constructor(journal: Journal, rounds: RoundsInView, passed: Passed, goal: (first: number) => number) {
    this.journal = journal;
    this.rounds = rounds;
    this.before = journal.freed - rounds.tokens(passed.heavy);
    this.passed = passed;
    this.goal = goal;
  }

  run(phase: keyof Passed, limit: number, removals: (unit: number) => readonly Removal[]): void {
    const passesRounds = phase === 'heavy';
    let unit = this.passed[phase];
    for (; unit < limit && !this.isEnough(passesRounds ? unit : this.passed.heavy); unit++) {
      const { length } = this.journal;
      this.journal.add(unit, removals(unit));
      const leaves = passesRounds && this.rounds.tokens(unit, unit + 1) > 0;
      if (leaves || this.journal.length > length) this.first = Math.min(unit, this.first ?? unit);
    }
    this.tried += Math.max(0, unit - this.passed[phase]);
    this.passed = { ...this.passed, [phase]: Math.max(unit, this.passed[phase]) };
  }

  private isEnough(heavy: number): boolean {
    if (this.first === undefined) return false;
    const freed = this.journal.freed - this.rounds.tokens(heavy);
    return freed - this.before >= this.goal(this.first);
  }
}
