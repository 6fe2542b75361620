/** How long the prompt cache of a vendor keeps an unused prefix at most, as the vendor says. */
import { rowOfModel } from './families.ts';
import { PUBLISHED_PRICES } from './published-prices.ts';

const MINUTE_MS = 60_000;

/** No vendor states a shorter one. */
export const SHORTEST_LIFETIME_MS = 5 * MINUTE_MS;

/**
 * OpenAI's `prompt_cache_retention`, for which a write costs the same
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
const RETENTIONS: Readonly<Record<string, number>> = {
  in_memory: 0,
  'in-memory': 0,
  '24h': 24 * 60 * MINUTE_MS,
};

/**
 * The longest time, in milliseconds. Undefined where the vendor does not say.
 *
 * @param names the lifetimes that a request names
 */
export function statedLifetimeOf(
  model: string | undefined,
  names: readonly string[] = [],
): number | undefined {
  const row = rowOfModel(model, PUBLISHED_PRICES);
  if (!row?.isLifetimeStated) return undefined;
  const named = names.flatMap((name) => row.lifetimes?.[name]?.lifetimeMs ?? RETENTIONS[name] ?? []);
  // One that is not known may be longer.
  return named.length < names.length ? undefined : Math.max(row.lifetimeMs, ...named);
}
