/**
 * Our items in a caller's body: compaction items, which are replaced by their contents, and marked
 * reasoning, which is removed. The upstream's own items are left alone.
 */

import { bufferOf } from '../lib/bytes.ts';
import { asObject, asObjects, asString, type JsonObject, parseJson } from '../lib/json.ts';
import type { JsonSpan } from './json/outline.ts';
import { cutMembers, jsonOf, type Splice, spliceAll, topField } from './json/spans.ts';
import type { ModelRequest } from './model-request.ts';
import type { Protocol } from './protocol.ts';
import { isMarked } from './responses/reasoning.ts';

/** A message or item with an opaque text by Precis. */
export interface Sealed {
  readonly span: JsonSpan;
  readonly text: string;
  /** The path of the text, for errors. */
  readonly param: string;
  /** The rest of the message: some clients merge two messages into one. */
  readonly rest: readonly object[];
}

/** Our items in a body. */
interface OwnItems {
  readonly sealed: readonly Sealed[];
  /** Remove the marked reasoning. */
  readonly cuts: readonly Splice[];
}

/** Types of compaction items, over several generations of clients. */
export const COMPACTIONS: ReadonlySet<string> = new Set([
  'compaction',
  'compaction_summary',
  'context_compaction',
]);

/** How to recognize our opaque texts. */
interface SealedForm {
  /** Their prefix, which the mark of reasoning has too. */
  readonly prefix: string;
  /**
   * Whether a text is one of Precis's, of any owner. A user's text may happen to begin with the
   * prefix.
   */
  isWhole(text: string): boolean;
}

/**
 * Our items in a body; empty if the body can't be read, which is reported elsewhere.
 *
 * @param most longest list that is searched
 * @param from where to begin; no item before it is Precis's
 */
export function ownItemsIn(
  bytes: Uint8Array,
  field: ModelRequest['conversationField'],
  form: SealedForm,
  most: number,
  from = 0,
): OwnItems {
  const { prefix } = form;
  // Almost no body has one.
  if (!includes(bytes.subarray(from), prefix)) return { sealed: [], cuts: [] };
  const marked = new Set<number>();
  const items = topField(bytes, field, { items: {}, most })?.items ?? [];
  const sealed = items.flatMap((span, index) => {
    if (!includes(bytes.subarray(span.start, span.end), prefix)) return [];
    const item = asObject(jsonOf(bytes, span));
    if (isMarked(item)) marked.add(index);
    const found = readSealed(item, form);
    return found ? [{ span, ...found, param: `${field}[${index}].${found.param}` }] : [];
  });
  return { sealed, cuts: cutMembers(items, (index) => marked.has(index)) };
}

/**
 * The body with sealed messages and items replaced, and marked reasoning removed.
 *
 * @param contents in the same order: JSON, separated by commas
 */
export function openedBody(
  bytes: Uint8Array,
  { sealed, cuts }: OwnItems,
  contents: readonly string[],
): Uint8Array {
  const opened = sealed.map(({ span, rest }, index): Splice => {
    const messages = [contents[index] ?? '', ...rest.map((message) => JSON.stringify(message))];
    return { start: span.start, end: span.end, with: messages.join(',') };
  });
  return spliceAll(bytes, [...opened, ...cuts]);
}

/** Fields, roles and part types that only chat messages have. */
const CHAT_FIELDS = ['tool_calls', 'function_call', 'tool_call_id'];
const CHAT_ROLES: ReadonlySet<string> = new Set(['tool', 'function']);
const CHAT_MEDIA: ReadonlySet<string> = new Set(['image_url', 'file']);
const CHAT_PARTS: ReadonlySet<string> = new Set(['text', ...CHAT_MEDIA]);
const ITEM_PARTS = /^(?:input_(?:text|image|file)|output_text)$/;
/** Parts that only Anthropic's Messages have. A `text` is the same in chat. */
const BLOCKS = /^(?:image|document|search_result|thinking|redacted_thinking|\w*tool_use|\w*tool_result)$/;

/**
 * Another protocol that opened messages or items belong to, where tool calls, results and parts
 * have another form. Plain messages are the same in all.
 *
 * @param content JSON, separated by commas
 * @returns undefined if they can be in this one
 */
export function otherProtocolOf(content: string, protocol: Protocol): Protocol | undefined {
  const elements = parseJson(`[${content}]`);
  if (!Array.isArray(elements)) return undefined;
  const found = elements.map((element) => makerOf(asObject(element), protocol));
  return found.find((maker) => maker !== undefined);
}

/** The protocol of an element, if it can't be in this one. */
function makerOf(element: JsonObject, protocol: Protocol): Protocol | undefined {
  const kinds = asObjects(element.content).map(({ type }) => asString(type));
  const isItem = (element.type ?? null) !== null || kinds.some((kind) => ITEM_PARTS.test(kind));
  const hasBlocks = kinds.some((kind) => BLOCKS.test(kind));
  if (protocol === 'chat') return isItem ? 'responses' : hasBlocks ? 'messages' : undefined;
  const hasFields = CHAT_FIELDS.some((key) => (element[key] ?? null) !== null);
  if (hasFields || CHAT_ROLES.has(asString(element.role))) return 'chat';
  if (protocol === 'messages' && isItem) return 'responses';
  if (protocol === 'responses' && hasBlocks) return 'messages';
  const ofChat = protocol === 'messages' ? CHAT_MEDIA : CHAT_PARTS;
  return kinds.some((kind) => ofChat.has(kind)) ? 'chat' : undefined;
}

/**
 * A chat message with an opaque text. The text is a string, which every client passes on unchanged.
 */
export function sealedMessage(text: string): object {
  return { role: 'user', content: sealedText(text) };
}

/** A Responses item with an opaque text. */
export function sealedItem(id: string, text: string): object {
  return { type: 'compaction', id, encrypted_content: text };
}

function readSealed(item: Record<string, unknown>, form: SealedForm): Omit<Sealed, 'span'> | undefined {
  const { type, role, encrypted_content, content } = item;
  if (COMPACTIONS.has(asString(type)) && asString(encrypted_content).startsWith(form.prefix))
    return { text: asString(encrypted_content), param: 'encrypted_content', rest: [] };
  if (role !== 'user') return undefined;
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => textIn(part, form));
  const at = texts.findIndex((text) => text !== undefined);
  const text = texts[at];
  if (text === undefined) return undefined;
  const others = parts.filter((_, index) => index !== at);
  return { text, param: 'content', rest: others.length > 0 ? [{ ...item, content: others }] : [] };
}

/** The opaque text in a content or a part: exactly `sealedText`, as a string or as an object. */
function textIn(content: unknown, { prefix, isWhole }: SealedForm): string | undefined {
  const text = typeof content === 'string' ? content : (asObject(content).text ?? JSON.stringify(content));
  if (typeof text !== 'string' || !text.includes(prefix)) return undefined;
  const opaque = asString(asObject(parseJson(text)).content);
  return text === sealedText(opaque) && isWhole(opaque) ? opaque : undefined;
}

function sealedText(content: string): string {
  return JSON.stringify({ type: 'compaction', content });
}

function includes(bytes: Uint8Array, text: string): boolean {
  return bufferOf(bytes).includes(text);
}
