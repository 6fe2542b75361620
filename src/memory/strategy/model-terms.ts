/** All that a plan knows of the model that a request names. */
import type { DeployerPrice } from '../prices/schedule.ts';
import { type InputPrices, inputPricesOf, UNKNOWN_PRICES } from '../prices/schedules.ts';
import { DEFAULT_WINDOW, longestAnswerOf, type ModelWindow, windowOf } from './models.ts';

export interface ModelTerms {
  /** In tokens. */
  readonly window: number;
  /** The longest answer in tokens; undefined if it is not known. */
  readonly answer: number | undefined;
  readonly prices: InputPrices;
}

/** Of a model that nobody knows. */
export const UNKNOWN_TERMS: ModelTerms = {
  window: DEFAULT_WINDOW,
  answer: undefined,
  prices: UNKNOWN_PRICES,
};

/** A deployer's knowledge of models; it comes before the built-in tables. */
export interface ModelTables {
  readonly modelPrices: readonly DeployerPrice[];
  readonly modelWindows: readonly ModelWindow[];
}

const NO_TABLES: ModelTables = { modelPrices: [], modelWindows: [] };

/** The terms of a model by its name. */
export function termsOf(
  model: string | undefined,
  { modelPrices, modelWindows }: ModelTables = NO_TABLES,
): ModelTerms {
  return {
    window: windowOf(model, modelWindows),
    answer: longestAnswerOf(model, modelWindows),
    prices: inputPricesOf(model, modelPrices),
  };
}
