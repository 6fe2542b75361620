/**
 * Reasoning in encrypted form: an upstream that stores nothing knows no other
 * (https://platform.openai.com/docs/guides/reasoning, "Encrypted reasoning items").
 */
import { asObject } from '../../lib/json.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * The JSON of a request's `include` with the wish for it. Undefined where the caller has the wish,
 * or where the field is no list.
 */
export function includeWith(include: unknown): string | undefined {
  const listed = include ?? [];
  if (!Array.isArray(listed) || listed.includes(ENCRYPTED)) return undefined;
  return JSON.stringify([...listed, ENCRYPTED]);
}

/** Whether an item holds it. */
export function isEncrypted(item: unknown): boolean {
  const { type, encrypted_content } = asObject(item);
  return type === 'reasoning' && encrypted_content !== undefined;
}

/** An item as the upstream gives it to those who don't ask for it. */
export function withoutEncrypted<Item>(item: Item): Item {
  if (!isEncrypted(item)) return item;
  const { encrypted_content: _, ...rest } = asObject(item);
  return rest as Item;
}

const OF_INCLUDE = /\binclude\b|encrypted[ _.]?(?:reasoning|content)/i;

/**
 * Whether an error is about that wish: OpenAI refuses it for models that do not reason.
 *
 * @param body of the error
 */
export function refusesEncrypted(body: string): boolean {
  return OF_INCLUDE.test(body);
}
