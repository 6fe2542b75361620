/** Prompt caches of vendors: how long they keep what, and which take a key. */
import { claude, rowOfModel, rows } from './families.ts';
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
 * The longest time that a vendor's cache keeps an unused prefix, in milliseconds. Undefined where
 * the vendor does not say.
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

/**
 * In tokens: the shortest prompt that a model's cache keeps, where callers mark what is kept
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations, second
 * hand, 2026-10-08). A mark after a shorter one is no error; it replaces another one.
 */
const LEAST = [
  ...rows(claude(['fable-5', 'mythos-5', 'opus-5', 'sonnet-5.5', 'haiku-5.5']), { least: 512 }),
  ...rows(claude(['opus-4.8', 'sonnet-5', 'sonnet-4.6', 'sonnet-4.5', 'opus-4.1', 'opus-4', 'sonnet-4']), {
    least: 1_024,
  }),
  ...rows(claude(['mythos-preview', 'opus-4.7', 'haiku-3.5']), { least: 2_048 }),
  ...rows(claude(['opus-4.6', 'opus-4.5', 'haiku-4.5']), { least: 4_096 }),
];

/** Of an unknown model: the longest that is known of any. */
const MOST = 4_096;

/** In tokens. @param model its name, as it is sent */
export function leastCachedPrompt(model: string | undefined): number {
  return rowOfModel(model, LEAST)?.least ?? MOST;
}

/**
 * Vendors whose prompt caches take a key that distinguishes conversations.
 *
 * - openai: the cache works by itself, and a key keeps a conversation where it is cached.
 * - xai: there is no cache without a key.
 */
type KeyedCache = 'openai' | 'xai';

const KEYED = [
  // https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11).
  ...rows(['gpt', 'chatgpt', 'codex', 'o1', 'o3', 'o4'], { cache: 'openai' }),
  // Open weights, which others serve, whose servers know no key.
  ...rows(['gpt-oss'], { cache: undefined }),
  // https://docs.x.ai/developers/grok-4-6 (2026-11): by `prompt_cache_key` (Responses) or
  // `x-grok-conv-id` (chat), else at full price.
  ...rows(['grok'], { cache: 'xai' }),
];

/** The cache of a model by its name; undefined if it takes no key, or if nobody knows. */
export function keyedCacheOf(model: string | undefined): KeyedCache | undefined {
  return rowOfModel(model, KEYED)?.cache;
}
