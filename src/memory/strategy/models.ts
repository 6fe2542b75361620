/** Facts about models by name: context window and encoding. */
import * as specs from 'gpt-tokenizer/models';
import { asObject } from '../../lib/json.ts';

/**
 * Base of the percentages for an unknown model (docs/design.md#the-strategy,
 * `context_window_tokens`).
 */
const DEFAULT_WINDOW = 400_000;

/** Families that are missing in gpt-tokenizer's table, which has OpenAI's models. */
const OTHER_WINDOWS: readonly (readonly [prefix: string, tokens: number])[] = [
  ['claude-', 200_000], // https://docs.anthropic.com/en/docs/about-claude/models/overview
  ['gemini-', 1_048_576], // https://ai.google.dev/gemini-api/docs/models
];

/** The bundled encodings. */
export type EncodingName = 'o200k_base' | 'cl100k_base';

/**
 * The model's context window in tokens, or `DEFAULT_WINDOW`. A vendor's prefix (`openai/`) is
 * ignored.
 */
export function windowOf(model: string | undefined): number {
  if (model === undefined) return DEFAULT_WINDOW;
  const name = bareName(model);
  const { context_window } = asObject((specs as Record<string, unknown>)[name]);
  if (typeof context_window === 'number' && context_window > 0) return context_window;
  return OTHER_WINDOWS.find(([prefix]) => name.startsWith(prefix))?.[1] ?? DEFAULT_WINDOW;
}

/** GPT-4 and GPT-3.5 use cl100k; later and unknown models use o200k (tiktoken's model.py). */
export function encodingOf(model: string | undefined): EncodingName {
  return model !== undefined && /^(gpt-4(?![.o\d])|gpt-3\.5)/.test(bareName(model))
    ? 'cl100k_base'
    : 'o200k_base';
}

export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
