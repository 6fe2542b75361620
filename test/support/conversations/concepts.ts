/**
 * A deterministic model of meaning: words of one concept have the same vector. Texts of different
 * concepts have nothing in common.
 */
import { createHash } from 'node:crypto';

const CONCEPTS = [
  ['whale', 'whales', 'cetacean', 'humpback'],
  ['refund', 'money', 'reimbursed', 'repay'],
  ['car', 'vehicle', 'automobile'],
  ['doctor', 'physician', 'clinic'],
  ['rain', 'weather', 'storm'],
];

/** Dimensions for texts without any concept, by their digest. */
const OTHERS = 32;

/** The vector of a text, of no particular length. */
export function meaningOf(text: string): number[] {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const counts = CONCEPTS.map((concept) => words.filter((word) => concept.includes(word)).length);
  const others = Array<number>(OTHERS).fill(0);
  if (counts.every((count) => count === 0))
    others[(createHash('sha256').update(text).digest()[0] ?? 0) % OTHERS] = 1;
  return [...counts, ...others];
}

/** The answer of `POST /embeddings`. @param body its JSON */
export function embeddingsAnswer({ model, input }: { model: string; input: readonly string[] }): object {
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: meaningOf(text) }));
  return { object: 'list', data, model, usage: { prompt_tokens: 1, total_tokens: 1 } };
}
