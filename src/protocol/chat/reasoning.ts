/**
 * The reasoning of a chat message. OpenAI has no field for it; other servers send it back in one of
 * these.
 */
import { asObject, asString } from '../../lib/json.ts';
import type { Weight } from '../../memory/conversation/message.ts';
import { ENCRYPTED_CHARACTERS } from '../parts.ts';

/** Text, by DeepSeek, vLLM and others. */
export const REASONING_TEXTS: readonly string[] = ['reasoning_content', 'reasoning'];

/** OpenRouter's list (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
export const REASONING_DETAILS = 'reasoning_details';

const FIELDS = new Set([...REASONING_TEXTS, REASONING_DETAILS]);

/** Whether a field of an assistant message holds reasoning. */
export function isReasoning(field: string): boolean {
  return FIELDS.has(field);
}

/** What the model reads of `reasoning_details`: texts, and encrypted data at a flat price. */
export function weightOfDetails(details: unknown): Weight {
  const parts = Array.isArray(details) ? details.map(asObject) : [];
  const texts = parts.flatMap(({ text, summary }) => [asString(text), asString(summary)]).filter(Boolean);
  const encrypted = parts.reduce(
    (sum, { data }) => sum + Math.ceil(asString(data).length / ENCRYPTED_CHARACTERS),
    0,
  );
  return { texts, flat: encrypted, encrypted };
}
