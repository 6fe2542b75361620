/**
 * Which outputs are shortened before the model first sees them: only those without which the view
 * fits its budget, or the window, when nothing older is left that could leave. The largest first,
 * and no more than needed. An output of at most half of the budget stays whole.
 */
import type { History, Output, RequestPoint } from '../conversation/history.ts';
import type { Removal } from '../edits/removal.ts';
import type { TokenSums } from '../tokens/sums.ts';

/** In tokens. */
export interface FreshBudgets {
  readonly budget: number;
  readonly window: number;
}

/** The removal of an output that the model has not seen; undefined if it stays whole. */
export type Shorten = (output: Output) => Removal | undefined;

/** The largest output that is whole within any budget, as a share of it. */
const WHOLE_SHARE = 0.5;

interface PlacedOutput {
  readonly unit: number;
  readonly output: Output;
}

/** The outputs of a request's array from a message on. */
export function outputsSince({ units }: History, since: number, point: RequestPoint): PlacedOutput[] {
  const found: PlacedOutput[] = [];
  for (let unit = point.units - 1; (units[unit]?.last ?? -1) >= since; unit--)
    for (const output of units[unit]?.outputs ?? [])
      if (output.message >= since && output.message < point.messages) found.push({ unit, output });
  return found;
}

/**
 * The removals of those that are shortened.
 *
 * @param outputs that the model has not seen
 * @param least tokens of the view with all of them, if everything older left it that may
 * @param sums tokens of the messages
 */
export function shortenedOutputs(
  outputs: readonly PlacedOutput[],
  least: number,
  { budget, window }: FreshBudgets,
  sums: TokenSums,
  shortened: Shorten,
): { readonly unit: number; readonly removal: Removal }[] {
  const largestFirst = outputs.toSorted((a, b) => sums.at(b.output.message) - sums.at(a.output.message));
  const made: { readonly unit: number; readonly removal: Removal }[] = [];
  let view = least;
  for (const { unit, output } of largestFirst) {
    // A message has some more tokens than its output.
    if (view <= (sums.at(output.message) > WHOLE_SHARE * budget ? budget : window)) break;
    const removal = shortened(output);
    if (!removal || (removal.tokens <= WHOLE_SHARE * budget && view <= window)) continue;
    made.push({ unit, removal });
    view -= removal.freed;
  }
  return made;
}
