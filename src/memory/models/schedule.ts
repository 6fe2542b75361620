/**
 * How a vendor bills a model (docs/money.md#prices): prices, the step for long prompts, and the
 * rule of the prompt cache.
 */

/** Dollars per million tokens. 0 ≤ `cached` ≤ `fresh`. */
export interface Rates {
  readonly fresh: number;
  /** Input that is read from the vendor's prompt cache. */
  readonly cached: number;
  /** Input that is written to it. Equal to `fresh` where writing is free. */
  readonly written: number;
  readonly output: number;
}

/** A request with more input than `above` costs a multiple, all of it. */
export interface PriceStep {
  /** In input tokens. */
  readonly above: number;
  /** Factors, at least 1: on all three prices of input, and on the price of output. */
  readonly input: number;
  readonly output: number;
}

/**
 * Where a vendor's prompt cache can hit. `prefix-128`: the longest common prefix, from 1,024 tokens
 * on, in steps of 128. `prefix`: the same in single tokens. `breakpoints-20`: at the newest message
 * end and up to 20 earlier ones. `marks`: at marks that the caller sets, else nowhere.
 */
export const HIT_RULES = ['prefix-128', 'prefix', 'breakpoints-20', 'marks'] as const;
export type HitRule = (typeof HIT_RULES)[number];

/** How a vendor bills a model. */
export interface Schedule extends Rates {
  readonly family: string;
  readonly step?: PriceStep | undefined;
  readonly hits: HitRule;
  /** The longest time that the cache keeps an unused prefix by default, in milliseconds. */
  readonly lifetimeMs: number;
}

/** A price of a deployer. Without one for output, its models have no bill. */
export interface DeployerPrice extends Pick<Rates, 'fresh' | 'cached'> {
  /** How models' names begin, without a vendor's prefix. */
  readonly family: string;
  /** Absent: the price of fresh input. */
  readonly written?: number | undefined;
  readonly output?: number | undefined;
  readonly step?: PriceStep | undefined;
  /** Absent: `prefix-128`. */
  readonly hits?: HitRule | undefined;
}

/**
 * In tokens. Shorter prefixes are not cached
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
export const LEAST_PREFIX = 1_024;
const STEP = 128;

/**
 * The tokens that are read from the cache at best, of a prefix that it has seen
 * (docs/money.md#would-have-been).
 */
export function hitsOf(rule: HitRule, prefix: number): number {
  if (prefix < LEAST_PREFIX) return 0;
  return rule === 'prefix-128' ? prefix - (prefix % STEP) : prefix;
}
