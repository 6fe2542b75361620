/** One call of a deployer's embeddings: any server with OpenAI's `POST /embeddings`. */
import { type Env, readConfig } from '../config.ts';
import { oncePer } from '../lib/once.ts';
import type { Result } from '../lib/result.ts';
import { askModel, type ModelFault, type ModelServer } from './model-client.ts';

/** The model, its URL and its key. Never stored or logged. */
interface EmbeddingsTarget extends ModelServer {
  readonly model: string;
}

/** Why there are no vectors. `malformed`: the answer is not a vector for each text. */
type EmbeddingsFault = Omit<ModelFault, 'code'> & {
  readonly code: ModelFault['code'] | 'malformed';
};

/** The vectors of texts, in their order. */
type Vectors = readonly (readonly number[])[];

/** More than any model has. */
const MOST_DIMENSIONS = 4_096;

/** In bytes: 64 vectors of the most dimensions with 30 characters for each number. */
const LONGEST_ANSWER = 8 * 1024 * 1024;

/** The embeddings of a deployment; undefined if it has none. @throws ConfigError */
export const embeddingsOf = oncePer((env: Env) => {
  const { embeddings } = env.EMBEDDINGS_MODEL === undefined ? {} : readConfig(env);
  if (!embeddings) return undefined;
  const { model, baseUrl, apiKey, windowTokens } = embeddings;
  const target = { model, baseUrl, apiKey, headers: {} };
  const embed = (texts: readonly string[], timeoutMs: number) => embedTexts(target, texts, timeoutMs);
  // `longestText` is in bytes of UTF-8: a token has one at least.
  return { model, longestText: windowTokens, embed };
});

/**
 * @param texts none of them blank, which OpenAI refuses
 *   (https://platform.openai.com/docs/api-reference/embeddings/create)
 */
export async function embedTexts(
  target: EmbeddingsTarget,
  texts: readonly string[],
  timeoutMs: number,
): Promise<Result<Vectors, EmbeddingsFault>> {
  const limits = { timeoutMs, longestAnswer: LONGEST_ANSWER };
  const asked = await askModel(target, limits, 'free', (client, signal) =>
    // Not every server knows base64, which the package would ask for.
    client.embeddings.create(
      { model: target.model, input: [...texts], encoding_format: 'float' },
      { signal },
    ),
  );
  if (!asked.ok) return asked;
  const vectors = readVectors(asked.value, texts.length);
  if (vectors) return { ok: true, value: vectors };
  return { ok: false, reason: { code: 'malformed', again: false, isOfInput: true } };
}

/**
 * The vectors in an answer, in the order of its indices. Undefined unless there are exactly `count`
 * of them, all with as many dimensions, of finite numbers that are not all 0.
 */
function readVectors(answer: unknown, count: number): Vectors | undefined {
  const { data } = Object(answer) as { data?: unknown };
  if (!Array.isArray(data) || data.length !== count) return undefined;
  const vectors: (readonly number[])[] = [];
  for (const [position, item] of data.entries()) {
    // Some servers leave the index out, and keep the order.
    const { index = position, embedding } = Object(item) as { index?: unknown; embedding?: unknown };
    if (!isIndex(index, count) || vectors[index] || !isVector(embedding)) return undefined;
    vectors[index] = embedding;
  }
  const [first] = vectors;
  return vectors.every(({ length }) => length === first?.length) ? vectors : undefined;
}

function isIndex(index: unknown, count: number): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < count;
}

function isVector(embedding: unknown): embedding is number[] {
  if (!Array.isArray(embedding) || embedding.length > MOST_DIMENSIONS) return false;
  return embedding.every(Number.isFinite) && embedding.some((value) => value !== 0);
}
