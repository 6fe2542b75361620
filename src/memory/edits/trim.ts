/**
 * Trimming: the oldest turns leave the view; where the tail had to shrink, the oldest steps of the
 * turns that stay.
 */
import { heldMessages } from '../conversation/bonds.ts';
import { type History, messagesOf, type Unit } from '../conversation/history.ts';
import { type Cuts, frontierUnit } from '../replay/rule.ts';
import type { SummarizedPrefix } from './summarize.ts';

/** Tokens of the line that stands for trimmed messages, at the most. */
export const TRIM_LINE_TOKENS = 64;

/**
 * What `auto` trims: the messages between those that a summary stands for and the first unit that
 * stays.
 */
export interface TrimmedSpan {
  /** The first message, and where each segment ends: every move that trims adds one. */
  readonly from: number;
  readonly ends: readonly number[];
  /** The user message that stays first, and opens with the line that stands for them. */
  readonly opens: number;
  /** All that leaves the view, with what the summary stands for, ascending. */
  readonly dropped: readonly number[];
  /** The prefix of the summary, its form as the first unit that stays asks for it. */
  readonly prefix: SummarizedPrefix | undefined;
  /** Tokens that the view has less, without what the summary takes out. */
  readonly freed: number;
}

/** Whether a unit goes with the steps of a turn that stays. */
export function goesWithSteps({ step, kind }: Unit): boolean {
  return step || kind === 'late';
}

/**
 * The messages that the cuts drop, ascending. Preamble messages stay wherever they stand, and so
 * does whatever a bond holds.
 */
export function trimmedMessages(history: History, cuts: Cuts): number[] {
  const dropped: number[] = [];
  for (const [index, unit] of history.units.entries()) {
    if (index < cuts.turn || (index < cuts.step && goesWithSteps(unit)))
      dropped.push(...messagesOf(history, unit));
  }
  const held = heldMessages(history, frontierUnit(cuts));
  return held.size === 0 ? dropped : dropped.filter((message) => !held.has(message));
}
