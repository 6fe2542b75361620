/** What a caller of the deployer's account may spend (docs/operating.md#budgets-and-limits). */
import type { z } from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import type { Nanodollars } from './amounts.ts';
import type { callerLimitsSchema } from './caller-schema.ts';

export type CallerLimits = Immutable<z.output<typeof callerLimitsSchema>>;

/** The fields that something is counted for. */
export const COUNTED_LIMITS = [
  'usd_per_day',
  'usd_per_month',
  'tokens_per_minute',
  'requests_per_minute',
] as const satisfies readonly (keyof CallerLimits)[];

export type CountedLimit = (typeof COUNTED_LIMITS)[number];

/** Whether there is anything to count. */
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

const NANO_IN_DOLLAR = 1_000_000_000;

export function nanodollarsOf(dollars: number): Nanodollars {
  return Math.round(dollars * NANO_IN_DOLLAR);
}

export function dollarsOf(amount: Nanodollars): number {
  return amount / NANO_IN_DOLLAR;
}
