/** Prefix sums of an array's tokens, so that any part of it is one subtraction. */
import type { History } from '../conversation/history.ts';
import { ANSWER_OVERHEAD, type TokenCounter } from './tokens.ts';

/**
 * `sums[i]`: tokens of the messages before index i, with tools and overhead. One element more than
 * the array.
 */
export type TokenSums = Float64Array;

export function tokenSums({ messages }: History, toolTokens: number, counter: TokenCounter): TokenSums {
  const sums = new Float64Array(messages.length + 1);
  let sum = toolTokens + ANSWER_OVERHEAD;
  sums[0] = sum;
  for (const [index, message] of messages.entries()) {
    sum += counter.message(message);
    sums[index + 1] = sum;
  }
  return sums;
}

/**
 * Tokens of the messages before an index, with tools and overhead.
 *
 * @throws RangeError if there is no such index
 */
export function tokensBefore(sums: TokenSums, index: number): number {
  const sum = sums[index];
  if (sum === undefined)
    throw new RangeError(`no sum of tokens before message ${index} of ${sums.length - 1}`);
  return sum;
}

/** Tokens of the whole array, with tools and overhead. */
export function tokensOfAll(sums: TokenSums): number {
  return tokensBefore(sums, sums.length - 1);
}

/**
 * Tokens of the messages from one index to another, or of a single message.
 *
 * @throws RangeError if there is no such index
 */
export function tokensIn(sums: TokenSums, from: number, to = from + 1): number {
  return tokensBefore(sums, to) - tokensBefore(sums, from);
}
