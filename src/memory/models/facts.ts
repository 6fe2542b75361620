/**
 * Facts about models by name: context window, most input, longest answer, and how their tokens are
 * counted.
 */
import * as specs from 'gpt-tokenizer/models';
import { asObject } from '../../lib/json.ts';
import {
  bareName,
  baseName,
  type FamilyRow,
  rowOf,
  rowOfModel,
  rows,
  spelling,
  vendorSpelling,
} from './families.ts';

/**
 * Base of the percentages for an unknown model (docs/strategy-reference.md,
 * `context_window_tokens`).
 */
export const DEFAULT_WINDOW = 400_000;

/**
 * In tokens: the window that Ollama gives a model on a machine with little memory, whatever the
 * model can do (https://docs.ollama.com/context-length, 2026-11-26).
 */
export const SMALLEST_WINDOW = 4_096;

/** What is known of a family of models, in tokens. */
interface FamilyFacts {
  readonly window?: number;
  /** The most input, where the vendor states it apart from the window. */
  readonly input?: number;
  /** The longest answer. */
  readonly output?: number;
  /** Tokens per token of o200k: a mean, since tokenizers differ by language and kind of text. */
  readonly factor: number;
}

const K = 1_000;
const M = 1_000 * K;

/**
 * Families that are missing in gpt-tokenizer's table, which has OpenAI's older models.
 *
 * Windows without a source are from the dataset @pydantic/genai-prices 0.1.8
 * (https://github.com/pydantic/genai-prices).
 *
 * Where a source gives characters per token of English text, the factor is GPT-4o's (4.657) divided
 * by the family's, rounded up to two digits:
 * https://github.com/shisa-ai/shisa-v2/blob/main/eval/tokenizer-efficiency/tokenizer-eval-en.md
 */
const FAMILIES: readonly (FamilyFacts & FamilyRow)[] = [
  // https://developers.openai.com/api/docs/models/gpt-6.2-sol (2026-11-17), and likewise for the
  // others.
  ...rows(['gpt-6', 'gpt-5.6'], { window: 1_050_000, input: 922 * K, output: 128 * K, factor: 1 }),
  // Names that gpt-tokenizer's table lacks, such as `gpt-3.5-turbo-16k`, by those that it has.
  ...rows(['gpt-3.5-turbo'], { window: 16_385, output: 4_096, factor: 1 }),
  ...rows(['gpt-3.5-turbo-instruct'], { window: 4_096, output: 4_096, factor: 1 }),
  ...rows(['gpt-4-32k'], { window: 32_768, output: 8_192, factor: 1 }),
  ...rows(['gpt-oss'], { window: 131_072, factor: 1 }),
  // https://platform.claude.com/docs/en/models/haiku-5-5/overview (2026-10-07): the windows, and a
  // tokenizer since 4.7 with about 30 % more tokens than before.
  ...rows(
    [
      'claude-opus-4.7',
      'claude-opus-4.8',
      'claude-opus-5',
      'claude-sonnet-5',
      'claude-haiku-5',
      'claude-fable',
      'claude-mythos',
    ],
    { window: M, output: 128 * K, factor: 1.63 },
  ),
  // GPT-4o's tokens and 16 % more for English, 21 % for mathematics, 30 % for Python (here 25 %):
  // https://news.quarkybyte.com/understanding-tokenizer-differences-impacting-ai-model-costs-and-efficiency-2025-05-01
  ...rows(['claude-opus-4.6', 'claude-sonnet-4.6'], { window: M, output: 64 * K, factor: 1.25 }),
  ...rows(['claude'], { window: 200 * K, output: 64 * K, factor: 1.25 }),
  // https://platform.claude.com/docs/en/about-claude/models/overview: an answer that may be longer
  // than its model's is refused.
  ...rows(['claude-opus-4'], { window: 200 * K, output: 32 * K, factor: 1.25 }),
  ...rows(['claude-opus-4.5', 'claude-3.7', 'claude-sonnet-3.7'], {
    window: 200 * K,
    output: 64 * K,
    factor: 1.25,
  }),
  ...rows(['claude-3.5', 'claude-haiku-3.5', 'claude-sonnet-3.5'], {
    window: 200 * K,
    output: 8_192,
    factor: 1.25,
  }),
  ...rows(['claude-3', 'claude-haiku-3', 'claude-sonnet-3', 'claude-opus-3'], {
    window: 200 * K,
    output: 4_096,
    factor: 1.25,
  }),
  // Windows: https://ai.google.dev/gemini-api/docs/models. Gemma 3, which has Gemini's tokenizer
  // (Gemma 3 Technical Report, section 2): 4.451.
  ...rows(['gemini'], { window: 1_048_576, output: 65_536, factor: 1.05 }),
  // One limit for input and output together, and answers as long as it
  // (https://ai.google.dev/gemini-api/docs/generate-content/latest-model, 2026-11).
  ...rows(['gemini-4-argon', 'gemini-4-carbon'], { window: 1_048_576, output: 1_048_576, factor: 1.05 }),
  ...rows(['grok-4-fast', 'grok-4.1-fast'], { window: 2 * M, factor: 1 }),
  ...rows(['grok-4.20', 'grok-4.3'], { window: M, factor: 1 }),
  // Of 4.7: https://docs.venice.ai/models/grok-4-7 (2026-11, second hand).
  ...rows(['grok-4.5', 'grok-4.6', 'grok-4.7'], { window: 500 * K, factor: 1 }),
  ...rows(['grok-4', 'grok-build', 'grok-code'], { window: 256 * K, factor: 1 }),
  ...rows(['grok-3'], { window: 131_072, factor: 1 }),
  ...rows(['kimi-k3'], { window: 1_048_576, factor: 1 }),
  ...rows(['kimi-k2'], { window: 262_144, factor: 1 }),
  ...rows(['glm-5.2', 'glm-5.3'], { window: M, factor: 1 }),
  ...rows(['glm-5', 'glm-4.7'], { window: 200 * K, factor: 1 }),
  ...rows(['minimax-m3'], { window: M, factor: 1 }),
  ...rows(['minimax-m2'], { window: 204_800, factor: 1 }),
  ...rows(['mistral-large-2512', 'mistral-medium-3.5', 'devstral-2512'], { window: 262_144, factor: 1 }),
  // Llama 3: 4.587.
  ...rows(['llama', 'meta-llama'], { factor: 1.02 }),
  // Qwen 2 and 3: 4.468.
  ...rows(['qwen'], { factor: 1.05 }),
  // DeepSeek V3: 4.566. Windows and answers: https://api-docs.deepseek.com/quick_start/pricing.
  ...rows(['deepseek-v4', 'deepseek-flash'], { window: M, output: 384 * K, factor: 1.02 }),
  ...rows(['deepseek-v3'], { window: 128 * K, factor: 1.02 }),
  ...rows(['deepseek'], { factor: 1.02 }),
];

/** The bundled encodings, and the estimate of four characters per token. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'chars/4';

/** How tokens are counted: by an encoding, and times a factor if that is not 1. */
export type TokenMeasure = EncodingName | `${EncodingName}*${number}`;

/** The measures that a strategy may name. */
export const TOKEN_ESTIMATORS = ['o200k', 'cl100k', 'chars/4'] as const;
type TokenEstimator = (typeof TOKEN_ESTIMATORS)[number];

const ENCODING_OF: { readonly [Name in TokenEstimator]: EncodingName } = {
  o200k: 'o200k_base',
  cl100k: 'cl100k_base',
  'chars/4': 'chars/4',
};

/** The tokens of a family of models, relative to o200k. */
export interface TokenFactor extends FamilyRow {
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
  const factor = ownRowOf(model, factors)?.factor ?? familyOf(model)?.factor ?? 1;
  const encoding = encodingOf(model);
  return factor === 1 ? encoding : `${encoding}*${factor}`;
}

/** The encoding of a measure, and its factor. */
export function partsOf(measure: TokenMeasure): { readonly encoding: EncodingName; readonly factor: number } {
  const [encoding, factor = '1'] = measure.split('*');
  return { encoding: encoding as EncodingName, factor: Number(factor) };
}

/** The deployer's row of a model, or of the one that it is a variant of. */
function ownRowOf<Row extends FamilyRow>(model: string | undefined, rows: readonly Row[]): Row | undefined {
  if (model === undefined) return undefined;
  return rowOf(bareName(model), rows) ?? rowOf(baseName(model), rows);
}

/** A deployer's window of a family of models, in tokens. */
export interface ModelWindow extends FamilyRow {
  readonly window: number;
  /** The longest answer. Absent: the model's, if it is known. */
  readonly output?: number | undefined;
}

/**
 * The model's context window in tokens, or `DEFAULT_WINDOW`.
 *
 * @param windows the deployer's. The longest family that fits comes before the built-in ones
 */
export function windowOf(model: string | undefined, windows?: readonly ModelWindow[]): number {
  return knownWindowOf(model, windows) ?? DEFAULT_WINDOW;
}

/**
 * The model's context window in tokens; undefined if it is not known.
 *
 * @param windows see `windowOf`
 */
export function knownWindowOf(
  model: string | undefined,
  windows: readonly ModelWindow[] = [],
): number | undefined {
  return ownRowOf(model, windows)?.window ?? factOf(model, 'context_window') ?? familyOf(model)?.window;
}

/**
 * The model's longest answer in tokens; undefined if it is not known.
 *
 * @param windows see `windowOf`
 */
export function longestAnswerOf(
  model: string | undefined,
  windows: readonly ModelWindow[] = [],
): number | undefined {
  return ownRowOf(model, windows)?.output ?? factOf(model, 'max_output_tokens') ?? familyOf(model)?.output;
}

/**
 * The most input of a model in tokens, where its vendor states that apart from the window. A
 * deployer's window replaces both.
 *
 * @param windows see `windowOf`
 */
export function largestInputOf(
  model: string | undefined,
  windows: readonly ModelWindow[] = [],
): number | undefined {
  return ownRowOf(model, windows) ? undefined : familyOf(model)?.input;
}

/** A positive number in gpt-tokenizer's table. */
function factOf(model: string | undefined, fact: 'context_window' | 'max_output_tokens'): number | undefined {
  if (model === undefined) return undefined;
  const value = asObject(specOf(vendorSpelling(baseName(model))))[fact];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

/** That table, read when the first model is looked up. */
let specsBySpelling: ReadonlyMap<string, unknown> | undefined;

function specOf(spelled: string): unknown {
  specsBySpelling ??= new Map(Object.entries(specs).map(([name, spec]) => [spelling(name), spec]));
  return specsBySpelling.get(spelled);
}

function familyOf(model: string | undefined): FamilyFacts | undefined {
  return rowOfModel(model, FAMILIES);
}

/** GPT-4, with its dated versions, and GPT-3.5. */
const OF_CL100K = /^gpt-(?:4(?![o\d]|-\d{1,2}(?![\dk]))|3-5)/;

/** These use cl100k; later and unknown models use o200k (tiktoken's model.py). */
function encodingOf(model: string | undefined): 'o200k_base' | 'cl100k_base' {
  return model !== undefined && OF_CL100K.test(vendorSpelling(baseName(model)))
    ? 'cl100k_base'
    : 'o200k_base';
}
