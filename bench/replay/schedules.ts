/** How vendors bill their prompt caches, for plans and bills of a replay. */
import {
  bindsThinking,
  type ReasoningTerms,
  reasoningTermsOf,
} from '../../src/memory/models/past-reasoning.ts';
import { type RelativePrices, relativePricesOf } from '../../src/memory/models/schedules.ts';
import { type ModelTerms, termsOf } from '../../src/memory/models/terms.ts';

/** A model of each schedule. Its window is not used, so that budgets are comparable. */
const MODELS = {
  'prefix-128': undefined,
  'gpt-5.6': 'gpt-5.6-sol',
  'anthropic-5m': 'claude-opus-5',
  'gpt-6': 'gpt-6.2-sol',
  'fable-5': 'claude-fable-5.2',
} as const;

export type ScheduleName = keyof typeof MODELS;

export const SCHEDULES = Object.keys(MODELS) as ScheduleName[];

/** Those whose models bind reasoning. */
export const BOUND = SCHEDULES.filter((name) => bindsThinking(reasoningTermsOf(MODELS[name])));

/** @throws if there is no such schedule */
export function readSchedule(name: string): ScheduleName {
  const found = SCHEDULES.find((schedule) => schedule === name);
  if (found === undefined) throw new Error(`--schedule must be one of ${SCHEDULES.join(', ')}`);
  return found;
}

/** @param text of a price relative to fresh input. @throws if it is none */
export function readCached(text: string | undefined): { cached?: number } {
  if (text === undefined) return {};
  const cached = Number(text);
  if (!(cached > 0 && cached <= 1)) throw new Error('--cached must be a number over 0, and 1 at most');
  return { cached };
}

export function termsOfSchedule(name: ScheduleName): ModelTerms {
  return termsWith(relativePricesOf(MODELS[name]));
}

/** What the API of the schedule's model does with reasoning of earlier turns. */
export function reasoningOfSchedule(name: ScheduleName): ReasoningTerms {
  return reasoningTermsOf(MODELS[name]);
}

/** The terms of a model with these prices. */
export function termsWith(prices: RelativePrices): ModelTerms {
  return { ...termsOf(undefined), prices, marks: prices.boundaries === 'ours' };
}
