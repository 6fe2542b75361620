/**
 * What it costs to fetch refs. A replay can't know what a model would fetch, but it knows which
 * values the agent needed again. Where the view does not show one and a ref in it leads to it, a
 * model needs one more round: it asks for the ref, and reads the result after the same prompt.
 */
import type { RelativePrices } from '../../src/memory/models/schedules.ts';

/** Tokens of a call that fetches a ref. */
export const CALL_TOKENS = 40;
/** Tokens of a ref's result: the part that holds the value, not the whole content. */
export const RESULT_TOKENS = 500;

/**
 * The rounds that fetch refs at once. A text may link to an earlier one, which is only known, and
 * so fetched, in the next round.
 *
 * @param depths by ref: how many texts have to be fetched, one after the other
 * @returns the number of refs in each round
 */
export function roundsOf(depths: ReadonlyMap<string, number>): number[] {
  const all = [...depths.values()];
  const rounds = Math.max(0, ...all);
  return Array.from({ length: rounds }, (_, round) => all.filter((depth) => depth > round).length);
}

/**
 * The cost of rounds in tokens of fresh input. The prompt was sent just before, so all of it is
 * cached.
 *
 * @param rounds the number of refs of each
 * @param prompt tokens of the request
 * @param factor on the prices of input, for a long prompt
 */
export function costOfRounds(
  rounds: readonly number[],
  prompt: number,
  factor: number,
  { cached, written, output }: RelativePrices,
): number {
  return rounds.reduce(
    (sum, refs) =>
      sum + factor * (cached * prompt + written * RESULT_TOKENS * refs) + output * CALL_TOKENS * refs,
    0,
  );
}
