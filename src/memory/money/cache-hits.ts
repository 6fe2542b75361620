/** How much of a prompt a vendor's cache can hold (docs/money.md#would-have-been). */
import type { HitRule } from '../models/schedule.ts';

/**
 * In tokens. Shorter prefixes are not cached
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
export const LEAST_PREFIX = 1_024;
const STEP = 128;

/** The tokens that are read from the cache at best, of a prefix that it has seen. */
export function hitsOf(rule: HitRule, prefix: number): number {
  if (prefix < LEAST_PREFIX) return 0;
  return rule === 'prefix-128' ? prefix - (prefix % STEP) : prefix;
}
