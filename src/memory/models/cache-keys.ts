/** Which vendors' prompt caches take a key that distinguishes conversations. */
import { baseName, rowOf } from './families.ts';

/**
 * - openai: the cache works by itself, and a key keeps a conversation where it is cached.
 * - xai: there is no cache without a key.
 */
type KeyedCache = 'openai' | 'xai';

interface KeyedRow {
  readonly family: string;
  /** Null: the family's names begin as others do, but its servers know no key. */
  readonly cache: KeyedCache | null;
}

const ROWS: readonly KeyedRow[] = [
  // https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11).
  ...rows(['gpt', 'chatgpt', 'codex', 'o1', 'o3', 'o4'], 'openai'),
  // Open weights, which others serve.
  ...rows(['gpt-oss'], null),
  // https://docs.x.ai/developers/grok-4-6 (2026-11): by `prompt_cache_key` (Responses) or
  // `x-grok-conv-id` (chat), else at full price.
  ...rows(['grok'], 'xai'),
];

function rows(families: readonly string[], cache: KeyedCache | null): KeyedRow[] {
  return families.map((family) => ({ family, cache }));
}

/** The cache of a model by its name; undefined if it takes no key, or if nobody knows. */
export function keyedCacheOf(model: string | undefined): KeyedCache | undefined {
  return (model === undefined ? undefined : rowOf(baseName(model), ROWS)?.cache) ?? undefined;
}
