/** The vector of a search's words. */
import type { Log } from '../../log.ts';
import type { Embedder, EmbedderFault } from './embedder.ts';
import { unitOf } from './vectors.ts';

/** Whether a search goes by meaning too. */
export type Near =
  /** `off`: there are no vectors, or none of the model. `failed`: the model has not answered. */
  | { readonly meaning: 'off' | 'failed' }
  | {
      readonly meaning: 'used';
      /** See `unitOf`. */
      readonly vector: Float32Array;
    };

/** A search by words alone, as it is asked for. */
export const BY_WORDS: Near = { meaning: 'off' };

/** What was made of the words of a search that goes over several archives. */
export interface MadeNear {
  /** The embeddings' model. */
  readonly model: string;
  readonly near: Near;
}

/** The vector of some words, or `failed`. Never rejects. @param limitMs how long it may take */
export async function nearOf(words: string, embedder: Embedder, limitMs: number, log: Log): Promise<Near> {
  const { text } = beginningOf(words.toWellFormed().trim(), embedder.longestText);
  const made = await embedder.embed([text], limitMs);
  if (!made.ok) logFault(log, 'a search could not go by meaning', made.reason);
  const vector = made.ok && made.value[0] ? unitOf(made.value[0]) : undefined;
  return vector ? { meaning: 'used', vector } : { meaning: 'failed' };
}

/** Logs why there are no vectors. */
export function logFault(log: Log, message: string, { code, cause = 'none' }: EmbedderFault): void {
  log('warn', message, { code: 'embeddings_failed', fault: code, error: cause });
}

const encoder = new TextEncoder();

/** The beginning of a text, cut between characters. @param most in bytes of UTF-8 */
export function beginningOf(text: string, most: number): { readonly text: string; readonly bytes: number } {
  const { read, written } = encoder.encodeInto(text, new Uint8Array(most));
  return { text: text.slice(0, read), bytes: written };
}
