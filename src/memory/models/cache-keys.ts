/** Which vendors' prompt caches take a key that distinguishes conversations. */
import { rowOfModel, rows } from './families.ts';

/**
 * - openai: the cache works by itself, and a key keeps a conversation where it is cached.
 * - xai: there is no cache without a key.
 */
type KeyedCache = 'openai' | 'xai';

const ROWS = [
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
  return rowOfModel(model, ROWS)?.cache;
}
