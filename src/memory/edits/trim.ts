/** Trimming: the oldest turns leave the view; where the tail had to shrink, the oldest steps of the turns that stay. */
import type { Cuts } from '../frontier.ts';
import { type History, messagesOf } from '../history.ts';

/** The messages that the cuts drop, ascending. Preamble messages stay wherever they stand. */
export function trimmedMessages(history: History, cuts: Cuts): number[] {
  const dropped: number[] = [];
  for (const [index, unit] of history.units.entries()) {
    if (index < cuts.turn || (index < cuts.step && unit.step)) dropped.push(...messagesOf(history, unit));
  }
  return dropped;
}
