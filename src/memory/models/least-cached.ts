/**
 * The shortest prompt that a model's cache keeps, where callers mark what is kept
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations, second
 * hand, 2026-10-08). A mark after a shorter one is no error; it replaces another one.
 */
import { baseName, type FamilyRow, rowOf } from './families.ts';

interface LeastRow extends FamilyRow {
  /** In tokens. */
  readonly least: number;
}

const ROWS: readonly LeastRow[] = [
  ...rows(['fable-5', 'mythos-5', 'opus-5', 'sonnet-5.5', 'haiku-5.5'], 512),
  ...rows(['opus-4.8', 'sonnet-5', 'sonnet-4.6', 'sonnet-4.5', 'opus-4.1', 'opus-4', 'sonnet-4'], 1_024),
  ...rows(['mythos-preview', 'opus-4.7', 'haiku-3.5'], 2_048),
  ...rows(['opus-4.6', 'opus-4.5', 'haiku-4.5'], 4_096),
];

/** Of an unknown model: the longest that is known of any. */
const MOST = 4_096;

function rows(models: readonly string[], least: number): LeastRow[] {
  return models.map((model) => ({ family: `claude-${model}`, least }));
}

/** In tokens. @param model its name, as it is sent */
export function leastCachedPrompt(model: string | undefined): number {
  return (model === undefined ? undefined : rowOf(baseName(model), ROWS)?.least) ?? MOST;
}
