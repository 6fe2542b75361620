/** Tokens of an array of messages as prefix sums. */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import { type History, messagesOf } from '../conversation/history.ts';
import { ANSWER_OVERHEAD, type TokenCounter } from './tokens.ts';

/** One value per message; the start holds the tools and the answer's overhead. */
export type TokenSums = PrefixSums;

/** @param beside tokens that a message has in the view, and not in the array */
export function tokenSums(
  { messages }: History,
  toolTokens: number,
  counter: TokenCounter,
  beside: (message: number) => number = () => 0,
): TokenSums {
  return new PrefixSums(
    messages.map((message, index) => counter.message(message) + beside(index)),
    toolTokens + ANSWER_OVERHEAD,
  );
}

/** The same without a part of each message. @param part its tokens */
export function sumsWithout(sums: TokenSums, part: (message: number) => number): TokenSums {
  const rest = new PrefixSums([], sums.before(0));
  for (let at = 0; at < sums.length; at++) rest.push(sums.at(at) - part(at));
  return rest;
}

/** Tokens of the units, without the preamble. */
export function unitSums(history: History, sums: TokenSums): PrefixSums {
  return new PrefixSums(
    history.units.map((unit) =>
      messagesOf(history, unit).reduce((sum, message) => sum + sums.at(message), 0),
    ),
  );
}
