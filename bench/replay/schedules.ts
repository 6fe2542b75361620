/** How vendors bill their prompt caches, for plans and bills of a replay. */
import { inputPricesOf } from '../../src/memory/prices/schedules.ts';
import { type ModelTerms, UNKNOWN_TERMS } from '../../src/memory/strategy/model-terms.ts';

/** A model of each schedule. Its window is not used, so that budgets are comparable. */
const MODELS: Readonly<Record<string, string | undefined>> = {
  'prefix-128': undefined,
  'gpt-5.6': 'gpt-5.6-sol',
  'anthropic-5m': 'claude-opus-5',
};

/** @throws if there is no such schedule */
export function termsOfSchedule(name: string): ModelTerms {
  if (!Object.hasOwn(MODELS, name))
    throw new Error(`--schedule must be one of ${Object.keys(MODELS).join(', ')}`);
  const prices = inputPricesOf(MODELS[name]);
  return { ...UNKNOWN_TERMS, prices, marks: prices.boundaries === 'ours' };
}
