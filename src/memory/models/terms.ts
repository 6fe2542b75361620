/** All that a plan knows of the model that a request names. */

import { DEFAULT_WINDOW, knownWindowOf, largestInputOf, longestAnswerOf, type ModelWindow } from './facts.ts';
import { type ReasoningTerms, reasoningTermsOf } from './past-reasoning.ts';
import type { DeployerPrice } from './schedule.ts';
import { priceGoal, type RelativePrices, relativePricesOf, USUAL_PRICES } from './schedules.ts';

export interface ModelTerms {
  /** In tokens. */
  readonly window: number;
  /** Whether that is `DEFAULT_WINDOW`, since nobody has stated the model's. */
  readonly windowAssumed?: true;
  /** The most input in tokens, where it is less than the window. */
  readonly input?: number | undefined;
  /** The longest answer in tokens; undefined if it is not known. */
  readonly answer: number | undefined;
  readonly prices: RelativePrices;
  /**
   * Over this, what loses nothing may leave without a budget, in tokens. Absent where the price has
   * a step, or is not known.
   */
  readonly goal?: number;
  /** Whether views get Precis's marks, where the prompt cache is read at them or at boundaries. */
  readonly marks: boolean;
  /** What the API does with the reasoning of earlier turns. */
  readonly reasoning: ReasoningTerms;
}

/** A deployer's knowledge of models; it comes before the built-in tables. */
export interface ModelTables {
  readonly modelPrices: readonly DeployerPrice[];
  readonly modelWindows: readonly ModelWindow[];
  /** Whether the upstream may be sent the fields of OpenAI's prompt cache. */
  readonly promptCache: boolean;
  /**
   * Whether a model without a price is the deployer's own. Many models of vendors have none here,
   * so the name alone does not say it.
   */
  readonly ownModels: boolean;
}

const NO_TABLES: ModelTables = { modelPrices: [], modelWindows: [], promptCache: true, ownModels: false };

/** Who marks what the prompt cache keeps, where it is read at marks or at boundaries alone. */
export interface Marking {
  /** Whether views get Precis's marks, by where the cache is read. */
  readonly atBoundaries: boolean;
  readonly atMarks: boolean;
  /**
   * Whether the caller marks its messages, and not only tools and instructions. Absent if that is
   * not known.
   */
  marksMessages?(): boolean;
}

/** Of a request of which only the model is known. */
const UNKNOWN_MARKING: Marking = { atBoundaries: true, atMarks: false };

/** What is never read from a cache has the price of fresh input, and no edit can lose it. */
const NO_CACHE = { cached: 1, written: 1 };

export function termsOf(
  model: string | undefined,
  { modelPrices, modelWindows, promptCache, ownModels }: ModelTables = NO_TABLES,
  marking = UNKNOWN_MARKING,
): ModelTerms {
  const prices = relativePricesOf(model, modelPrices, ownModels);
  const { boundaries, ...vendors } = prices;
  const isAtMarks = boundaries === 'callers' || prices === USUAL_PRICES;
  const marks = promptCache && (boundaries === 'ours' ? marking.atBoundaries : isAtMarks && marking.atMarks);
  const isUncached = boundaries === 'callers' && !marks && marking.marksMessages?.() === false;
  const input = largestInputOf(model, modelWindows);
  const window = knownWindowOf(model, modelWindows);
  const goal = priceGoal(prices);
  return {
    ...(window === undefined ? { window: DEFAULT_WINDOW, windowAssumed: true } : { window }),
    // Absent rather than undefined: a receipt has a hash of the terms.
    ...(input === undefined ? {} : { input }),
    answer: longestAnswerOf(model, modelWindows),
    prices: { ...vendors, ...(isUncached ? NO_CACHE : boundaries && { boundaries }) },
    ...(goal === undefined ? {} : { goal }),
    marks,
    reasoning: reasoningTermsOf(model),
  };
}
