/**
 * The shortest prompt that a model's cache keeps, where callers mark what is kept
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations, second
 * hand, 2026-10-08). A mark after a shorter one is no error; it replaces another one.
 */
import { claude, rowOfModel, rows } from './families.ts';

/** In tokens. */
const ROWS = [
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
  return rowOfModel(model, ROWS)?.least ?? MOST;
}
