/** What a caller of the deployer's account may spend (docs/operating.md#budgets-and-limits). */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { name } from '../shapes.ts';

export type CallerLimits = Immutable<z.output<typeof callerLimitsSchema>>;

/** The fields that something is counted for. */
export const COUNTED_LIMITS = [
  'usd_per_day',
  'usd_per_month',
  'tokens_per_minute',
  'requests_per_minute',
] as const satisfies readonly (keyof CallerLimits)[];

export type CountedLimit = (typeof COUNTED_LIMITS)[number];

export function counts(limits: CallerLimits): boolean {
  return COUNTED_LIMITS.some((limit) => limits[limit] !== undefined);
}

/** Whether there is a budget in dollars. */
export function hasBudget({ usd_per_day, usd_per_month }: CallerLimits): boolean {
  return usd_per_day !== undefined || usd_per_month !== undefined;
}

/** What separates several names in one: LiteLLM's proxy asks each of them. */
const SEPARATOR = ',';

/** Whether a model may be asked. Names are compared without regard to case. */
export function allowsModel({ models }: CallerLimits, model: string): boolean {
  if (models === undefined) return true;
  const patterns = models.map((allowed) => allowed.toLowerCase());
  const names = model.toLowerCase().split(SEPARATOR);
  return names.every((each) => {
    const name = each.trim();
    return patterns.some((pattern) =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    );
  });
}

/**
 * Why a model may not be asked: it is not one of the caller's, or has no known price, without which
 * a dollar can't be counted. Undefined if it may be.
 */
export function modelFault(
  limits: CallerLimits,
  model: string,
  hasPrice: boolean,
): 'model' | 'price' | undefined {
  if (!allowsModel(limits, model)) return 'model';
  return hasPrice || !hasBudget(limits) || limits.unpriced_models === 'allow' ? undefined : 'price';
}

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
