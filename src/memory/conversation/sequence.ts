/**
 * Rounds and sequence numbers (docs/modes.md#rolling_summary). Round r has two numbers: 2(r−1) for
 * its user message and 2(r−1)+1 for the assistant message that closes it. Tool steps have none;
 * they belong to their round.
 */
import { elementAt } from '../../lib/elements.ts';
import type { History } from './history.ts';

export interface Round {
  /**
   * Its messages: `[first, end)`. Messages before the first user message belong to the first round.
   */
  readonly first: number;
  readonly end: number;
  /** The message that closes it, once the assistant has answered. */
  readonly answer: number | undefined;
}

/** The rounds of a conversation, oldest first. */
export function roundsOf(history: History): readonly Round[] {
  const { messages, turns, units } = history;
  const starts = turns.map((unit) => elementAt(units, unit).first);
  return starts.map((start, round) => {
    const end = starts[round + 1] ?? messages.length;
    return { first: round === 0 ? 0 : start, end, answer: answerIn(history, start, end) };
  });
}

/** `numbers[i]`: the last sequence number among the messages before `i`; -1 without one. */
export function sequenceNumbers(history: History, rounds: readonly Round[]): Int32Array {
  const numbers = new Int32Array(history.messages.length + 1).fill(-1);
  for (const [index, unit] of history.turns.entries()) {
    const asked = elementAt(history.units, unit).first;
    const { end, answer } = elementAt(rounds, index);
    numbers.fill(2 * index, asked + 1, end + 1);
    // A round with another one after it is over, answered or not.
    if (answer !== undefined) numbers.fill(2 * index + 1, answer + 1, end + 1);
    else if (index < rounds.length - 1) numbers.fill(2 * index + 1, end, end + 1);
  }
  return numbers;
}

/** The start of a rolling window that ends at number `end`; always a user message. */
export function windowStart(end: number, size: number): number {
  const start = Math.max(0, end - size + 1);
  return start % 2 === 1 ? start + 1 : start;
}

/** The closing message: the last one, if it is an assistant message without calls. */
function answerIn(history: History, first: number, end: number): number | undefined {
  for (let index = end - 1; index >= first; index--) {
    const message = history.messages[index];
    if (message?.role === 'preamble') continue;
    return message?.role === 'assistant' && message.calls.length === 0 ? index : undefined;
  }
  return undefined;
}
