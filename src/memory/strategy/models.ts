/** Facts about models by name: context window, longest answer, and how their tokens are counted. */
import * as specs from 'gpt-tokenizer/models';
import { asObject } from '../../lib/json.ts';

/**
 * Base of the percentages for an unknown model (docs/design.md#the-strategy,
 * `context_window_tokens`).
 */
const DEFAULT_WINDOW = 400_000;

/** What is known of a model, in tokens. */
interface ModelFacts {
  readonly window?: number;
  /** The longest answer. */
  readonly output?: number;
  /** Tokens per token of o200k: a mean, since tokenizers differ by language and kind of text. */
  readonly factor: number;
}

// https://docs.anthropic.com/en/docs/about-claude/models/overview
const CLAUDE = { window: 200_000, output: 64_000 };

/**
 * Families that are missing in gpt-tokenizer's table, which has OpenAI's models. The first one that
 * fits applies.
 *
 * Where a source gives characters per token of English text, the factor is that of GPT-4o (4.657)
 * divided by the family's, rounded up to two digits:
 * https://github.com/shisa-ai/shisa-v2/blob/main/eval/tokenizer-efficiency/tokenizer-eval-en.md
 */
const OTHER_FAMILIES: readonly (readonly [prefix: string, facts: ModelFacts])[] = [
  // Up to 1.35 times the tokens of earlier models (here 1.175, the middle):
  // https://www.nxcode.io/zh/resources/news/claude-opus-4-7-developer-guide-api-claude-code-migration-2026
  ['claude-opus-4-7', { ...CLAUDE, factor: 1.47 }],
  // The same tokenizer: https://github.com/swack-tools/Tokenoscope
  ['claude-opus-4-8', { ...CLAUDE, factor: 1.47 }],
  // GPT-4o's tokens and 16 % more for English, 21 % for mathematics, 30 % for Python (here 25 %):
  // https://news.quarkybyte.com/understanding-tokenizer-differences-impacting-ai-model-costs-and-efficiency-2025-05-01
  ['claude-', { ...CLAUDE, factor: 1.25 }],
  // Windows: https://ai.google.dev/gemini-api/docs/models. Gemma 3, which has Gemini's tokenizer
  // (Gemma 3 Technical Report, section 2): 4.451.
  ['gemini-', { window: 1_048_576, output: 65_536, factor: 1.05 }],
  // Llama 3: 4.587.
  ['llama', { factor: 1.02 }],
  ['meta-llama', { factor: 1.02 }],
  // Qwen 2 and 3: 4.468.
  ['qwen', { factor: 1.05 }],
  // DeepSeek V3: 4.566.
  ['deepseek', { factor: 1.02 }],
];

/** The bundled encodings, and the estimate of four characters per token. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'chars/4';

/** How tokens are counted: by an encoding, and times a factor if that is not 1. */
export type TokenMeasure = EncodingName | `${EncodingName}*${number}`;

/** The measures that a strategy may name. */
export const TOKEN_ESTIMATORS = ['o200k', 'cl100k', 'chars/4'] as const;
export type TokenEstimator = (typeof TOKEN_ESTIMATORS)[number];

const ENCODING_OF: { readonly [Name in TokenEstimator]: EncodingName } = {
  o200k: 'o200k_base',
  cl100k: 'cl100k_base',
  'chars/4': 'chars/4',
};

/** The tokens of a family of models, relative to o200k. */
export interface TokenFactor {
  /** Prefix of the models' bare names; case is ignored. */
  readonly family: string;
  /** In [`SMALLEST_FACTOR`, `LARGEST_FACTOR`]. */
  readonly factor: number;
}

export const SMALLEST_FACTOR = 0.25;
export const LARGEST_FACTOR = 4;

/**
 * How a model's tokens are counted.
 *
 * @param estimator the strategy's; it counts as it is, without a factor
 * @param factors the deployer's. The longest family that fits comes before the built-in ones
 */
export function measureOf(
  model: string | undefined,
  estimator?: TokenEstimator,
  factors: readonly TokenFactor[] = [],
): TokenMeasure {
  if (estimator !== undefined) return ENCODING_OF[estimator];
  const factor = factorIn(model, factors) ?? familyOf(model)?.factor ?? 1;
  const encoding = encodingOf(model);
  return factor === 1 ? encoding : `${encoding}*${factor}`;
}

/** The encoding of a measure, and its factor. */
export function partsOf(measure: TokenMeasure): { readonly encoding: EncodingName; readonly factor: number } {
  const [encoding, factor = '1'] = measure.split('*');
  return { encoding: encoding as EncodingName, factor: Number(factor) };
}

function factorIn(model: string | undefined, factors: readonly TokenFactor[]): number | undefined {
  if (model === undefined) return undefined;
  const name = bareName(model).toLowerCase();
  let longest: TokenFactor | undefined;
  for (const candidate of factors)
    if (
      candidate.family.length > (longest?.family.length ?? 0) &&
      name.startsWith(candidate.family.toLowerCase())
    )
      longest = candidate;
  return longest?.factor;
}

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
  const name = bareName(model).toLowerCase();
  return OTHER_FAMILIES.find(([prefix]) => name.startsWith(prefix))?.[1];
}

/** GPT-4 and GPT-3.5 use cl100k; later and unknown models use o200k (tiktoken's model.py). */
function encodingOf(model: string | undefined): 'o200k_base' | 'cl100k_base' {
  return model !== undefined && /^(gpt-4(?![.o\d])|gpt-3\.5)/.test(bareName(model))
    ? 'cl100k_base'
    : 'o200k_base';
}

export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
