/** Facts about models by name: context window and encoding. */
import * as specs from 'gpt-tokenizer/models';
import { asObject } from '../../lib/json.ts';

/**
 * Base of the percentages for an unknown model (docs/design.md#the-strategy,
 * `context_window_tokens`).
 */
const DEFAULT_WINDOW = 400_000;

/** What is known of a model, in tokens. */
interface ModelFacts {
  readonly window: number;
  /** The longest answer. */
  readonly output: number;
}

/** Families that are missing in gpt-tokenizer's table, which has OpenAI's models. */
const OTHER_FAMILIES: readonly (readonly [prefix: string, facts: ModelFacts])[] = [
  // https://docs.anthropic.com/en/docs/about-claude/models/overview
  ['claude-', { window: 200_000, output: 64_000 }],
  // https://ai.google.dev/gemini-api/docs/models
  ['gemini-', { window: 1_048_576, output: 65_536 }],
];

/** The bundled encodings. */
export type EncodingName = 'o200k_base' | 'cl100k_base';

/** The model's context window in tokens, or `DEFAULT_WINDOW`. */
export function windowOf(model: string | undefined): number {
  return factOf(model, 'context_window') ?? familyOf(model)?.window ?? DEFAULT_WINDOW;
}

/** The model's longest answer in tokens; undefined if it is not known. */
export function longestAnswerOf(model: string | undefined): number | undefined {
  return factOf(model, 'max_output_tokens') ?? familyOf(model)?.output;
}

/** A positive number in gpt-tokenizer's table. A vendor's prefix (`openai/`) is ignored. */
function factOf(model: string | undefined, fact: 'context_window' | 'max_output_tokens'): number | undefined {
  if (model === undefined) return undefined;
  const value = asObject((specs as Record<string, unknown>)[bareName(model)])[fact];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function familyOf(model: string | undefined): ModelFacts | undefined {
  if (model === undefined) return undefined;
  const name = bareName(model);
  return OTHER_FAMILIES.find(([prefix]) => name.startsWith(prefix))?.[1];
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
