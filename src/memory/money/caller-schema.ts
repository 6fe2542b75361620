/** The shapes of a caller's limits, and its states (docs/operating.md#budgets-and-limits). */
import * as z from 'zod';
import { name } from '../shapes.ts';

export const CALLER_STATES = ['active', 'disabled', 'deleted'] as const;
export type CallerState = (typeof CALLER_STATES)[number];

/** In dollars. Sums of amounts stay exact far beyond it. */
const HIGHEST_BUDGET = 1_000_000;
const MOST_A_MINUTE = 1_000_000_000;
const MOST_MODELS = 100;

const budget = z.number().nonnegative().max(HIGHEST_BUDGET);
const aMinute = z.int().nonnegative().max(MOST_A_MINUTE);

export const callerLimitsSchema = z.strictObject({
  usd_per_day: budget.exactOptional().describe('In dollars, in a day of UTC.'),
  usd_per_month: budget.exactOptional().describe('In dollars, in a month of UTC.'),
  tokens_per_minute: aMinute.exactOptional().describe('Input and output, in any 60 seconds.'),
  requests_per_minute: aMinute.exactOptional().describe('In any 60 seconds.'),
  models: z
    .array(z.string().min(1).max(200))
    .max(MOST_MODELS)
    .exactOptional()
    .describe(
      'The models that may be used; one that ends with `*` means all names that begin with the rest.',
    ),
  unpriced_models: z
    .enum(['refuse', 'allow'])
    .exactOptional()
    .describe(
      'With a budget in dollars: whether a model without a known price may be used. Default: `refuse`.',
    ),
});
name(callerLimitsSchema, 'CallerLimits');
