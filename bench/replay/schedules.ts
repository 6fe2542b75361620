/** How vendors bill their prompt caches, for plans and bills of a replay. */
import { utcTimeOf } from '../../src/lib/utc-time.ts';
import { inputPricesOf, scheduleOf } from '../../src/memory/models/schedules.ts';
import { type ModelTerms, UNKNOWN_TERMS } from '../../src/memory/models/terms.ts';
import type { ReplayPrices } from './prices.ts';

/** A model of each schedule. Its window is not used, so that budgets are comparable. */
const MODELS = {
  'prefix-128': undefined,
  'gpt-5.6': 'gpt-5.6-sol',
  'anthropic-5m': 'claude-opus-5',
} as const;

export type ScheduleName = keyof typeof MODELS;

export const SCHEDULES = Object.keys(MODELS) as ScheduleName[];

/** The day whose published prices are used, so that figures don't change with the calendar. */
const PRICED_ON = '2026-11-20';

/**
 * The price of output relative to fresh input where no model is named: $8 to $2 for gpt-4.1
 * (https://platform.openai.com/docs/pricing).
 */
const OUTPUT_PRICE = 4;

/** A model's terms, with the price of its output. */
export interface ReplayTerms extends ModelTerms {
  readonly prices: ReplayPrices;
}

/** @throws if there is no such schedule */
export function readSchedule(name: string): ScheduleName {
  const found = SCHEDULES.find((schedule) => schedule === name);
  if (found === undefined) throw new Error(`--schedule must be one of ${SCHEDULES.join(', ')}`);
  return found;
}

export function termsOfSchedule(name: ScheduleName): ReplayTerms {
  const model = MODELS[name];
  return termsWith({ ...inputPricesOf(model), output: outputPriceOf(model) });
}

/** The terms of a model with these prices. */
export function termsWith(prices: ReplayPrices): ReplayTerms {
  return { ...UNKNOWN_TERMS, prices, marks: prices.boundaries === 'ours' };
}

function outputPriceOf(model: string | undefined): number {
  const schedule = scheduleOf(model, utcTimeOf(new Date(PRICED_ON)));
  return schedule ? schedule.output / schedule.fresh : OUTPUT_PRICE;
}
