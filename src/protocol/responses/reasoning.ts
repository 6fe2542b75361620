/**
 * Encrypted reasoning, the only form for an upstream that stores nothing
 * (https://platform.openai.com/docs/guides/reasoning, "Encrypted reasoning items").
 *
 * If the upstream stores nothing, clients send whole items back. So a mark at the end of streamed
 * reasoning says that it led to our call, and `request/open-sealed.ts` cuts marked items out again.
 * Where the encrypted form is missing, reasoning and the id of its call are dropped.
 */
import { asObject } from '../../lib/json.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

/**
 * Replaces the `encrypted_content` of reasoning that was shown and led only to one of Precis's
 * calls. The caller never sees that call, and upstreams refuse reasoning without the item that
 * follows it. So an item with this mark is removed from a request before it is sent.
 */
export const REASONING_MARK = 'precis1_reasoning';

/** The item as the caller gets it. */
export function withMark(item: object): Record<string, unknown> {
  return { ...item, encrypted_content: REASONING_MARK };
}

/**
 * Items that may be without the reasoning before them, but not with its id. Items of hosted tools
 * are known by ids, which need it.
 */
export const FREE: ReadonlySet<unknown> = new Set(['message', 'function_call', 'custom_tool_call']);

/**
 * A model's request for approval before the upstream calls an MCP tool. The response refers to it
 * by id.
 */
export const APPROVAL = 'mcp_approval_request';

export function isCallType(type: string): boolean {
  return type === 'program' || type === APPROVAL || type.endsWith('_call');
}

/** Whether an item of the model's is one that the API may know by its id, with its reasoning. */
export function needsReasoning(type: string): boolean {
  return type !== 'reasoning' && !type.endsWith('_output') && !FREE.has(type);
}

export function isMarked(item: unknown): boolean {
  const { type, encrypted_content } = asObject(item);
  return type === 'reasoning' && encrypted_content === REASONING_MARK;
}

/**
 * A request's `include` with encrypted reasoning added, as JSON. Undefined if the caller already
 * asks for it, or if the field is not a list.
 */
export function includeWith(include: unknown): string | undefined {
  const listed = include ?? [];
  if (!Array.isArray(listed) || listed.includes(ENCRYPTED)) return undefined;
  return JSON.stringify([...listed, ENCRYPTED]);
}

/** Whether an item is encrypted reasoning. */
export function isEncrypted(item: unknown): boolean {
  const { type, encrypted_content } = asObject(item);
  return type === 'reasoning' && encrypted_content !== undefined;
}

/** The item as a caller gets it that did not ask for encrypted reasoning. */
export function withoutEncrypted<Item>(item: Item): Item {
  if (!isEncrypted(item)) return item;
  const { encrypted_content: _, ...rest } = asObject(item);
  return rest as Item;
}

const OF_INCLUDE = /\binclude\b|encrypted[ _.]?(?:reasoning|content)/i;

/** Whether an error refuses encrypted reasoning, as OpenAI's does for models that don't reason. */
export function refusesEncrypted(body: string): boolean {
  return OF_INCLUDE.test(body);
}
