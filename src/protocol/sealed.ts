/**
 * Compaction items of ours in a caller's body, and what stands there when they are opened. The
 * upstream's own are not touched.
 */
import { Buffer } from 'node:buffer';
import { asObject, asString, parseJson } from '../lib/json.ts';
import { fieldOf, type JsonSpan, jsonOf, type Splice, scanObject, splice } from './json/spans.ts';
import type { ModelRequest } from './model-request.ts';

/** A message or an item that holds an opaque text of ours. */
export interface Sealed {
  readonly span: JsonSpan;
  readonly text: string;
  /** Where the text stands, for an error. */
  readonly param: string;
  /** What else the message says: a client may have made one message of two. */
  readonly beside: readonly object[];
}

/** Kinds of items that hold what was compacted; clients of more than one generation write them. */
export const COMPACTIONS: ReadonlySet<string> = new Set([
  'compaction',
  'compaction_summary',
  'context_compaction',
]);

/** How opaque texts of ours are known. */
export interface SealedForm {
  /** What they begin with. */
  readonly prefix: string;
  /**
   * Whether a text is one of ours, whose ever it is. A user's text that only begins like one is
   * prose.
   */
  isWhole(text: string): boolean;
}

/**
 * What holds an opaque text in a body; nothing where it can't be read, which is told elsewhere.
 *
 * @param most elements of a list that is looked into
 */
export function sealedIn(
  bytes: Uint8Array,
  field: ModelRequest['conversationField'],
  form: SealedForm,
  most: number,
): Sealed[] {
  const { prefix } = form;
  // Almost no body has any.
  if (!includes(bytes, prefix)) return [];
  return itemsOf(bytes, field, most).flatMap((span, index) => {
    if (!includes(bytes.subarray(span.start, span.end), prefix)) return [];
    const found = readSealed(asObject(jsonOf(bytes, span)), form);
    return found ? [{ span, ...found, param: `${field}[${index}].${found.param}` }] : [];
  });
}

/**
 * The body with other messages or items in the place of those.
 *
 * @param contents in their order: JSON, separated by commas
 */
export function openedBody(
  bytes: Uint8Array,
  sealed: readonly Sealed[],
  contents: readonly string[],
): Uint8Array {
  const splices = sealed.map(({ span, beside }, index): Splice => {
    const opened = [contents[index] ?? '', ...beside.map((message) => JSON.stringify(message))];
    return { start: span.start, end: span.end, with: opened.join(',') };
  });
  return splice(bytes, { start: 0, end: bytes.length }, splices);
}

/** What only chat has in a message, and the kinds of parts of its contents. */
const CHAT_FIELDS = ['tool_calls', 'function_call', 'tool_call_id'];
const CHAT_ROLES: ReadonlySet<string> = new Set(['tool', 'function']);
const CHAT_PARTS: ReadonlySet<string> = new Set(['text', 'image_url', 'file']);
const ITEM_PARTS = /^(?:input_(?:text|image|file)|output_text)$/;

/**
 * Whether opened messages or items are of the other protocol: tool calls, results and parts have
 * another form there. Plain messages are the same in both.
 *
 * @param content JSON, separated by commas
 */
export function isOfOtherProtocol(content: string, field: ModelRequest['conversationField']): boolean {
  const elements = parseJson(`[${content}]`);
  if (!Array.isArray(elements)) return false;
  return elements.map(asObject).some((element) => {
    const parts: unknown[] = Array.isArray(element.content) ? element.content : [];
    const kinds = parts.map((part) => asString(asObject(part).type));
    if (field === 'messages')
      return (element.type ?? null) !== null || kinds.some((kind) => ITEM_PARTS.test(kind));
    const hasFields = CHAT_FIELDS.some((key) => (element[key] ?? null) !== null);
    return hasFields || CHAT_ROLES.has(asString(element.role)) || kinds.some((kind) => CHAT_PARTS.has(kind));
  });
}

/**
 * The message of a chat that holds an opaque text: as a string, which every client carries as it
 * is.
 */
export function sealedMessage(text: string): object {
  return { role: 'user', content: sealedText(text) };
}

/** The item of the Responses API that holds one. */
export function sealedItem(id: string, text: string): object {
  return { type: 'compaction', id, encrypted_content: text };
}

function readSealed(item: Record<string, unknown>, form: SealedForm): Omit<Sealed, 'span'> | undefined {
  const { type, role, encrypted_content, content } = item;
  if (COMPACTIONS.has(asString(type)) && asString(encrypted_content).startsWith(form.prefix))
    return { text: asString(encrypted_content), param: 'encrypted_content', beside: [] };
  if (role !== 'user') return undefined;
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => textIn(part, form));
  const at = texts.findIndex((text) => text !== undefined);
  const text = texts[at];
  if (text === undefined) return undefined;
  const others = parts.filter((_, index) => index !== at);
  return { text, param: 'content', beside: others.length > 0 ? [{ ...item, content: others }] : [] };
}

/**
 * The opaque text in a content, or in a part of one: the very bytes of `sealedText`, or that as an
 * object.
 */
function textIn(content: unknown, { prefix, isWhole }: SealedForm): string | undefined {
  const text = typeof content === 'string' ? content : (asObject(content).text ?? JSON.stringify(content));
  if (typeof text !== 'string' || !text.includes(prefix)) return undefined;
  const held = asString(asObject(parseJson(text)).content);
  return text === sealedText(held) && isWhole(held) ? held : undefined;
}

function sealedText(content: string): string {
  return JSON.stringify({ type: 'compaction', content });
}

function itemsOf(
  bytes: Uint8Array,
  field: ModelRequest['conversationField'],
  most: number,
): readonly JsonSpan[] {
  const root = scanObject(bytes, { fields: new Map([[field, { items: {}, most }]]) });
  return (root && fieldOf(root, field)?.value.items) ?? [];
}

function includes(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(text);
}
