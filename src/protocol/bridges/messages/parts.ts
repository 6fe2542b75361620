/**
 * Parts of a chat content as blocks (https://platform.claude.com/docs/en/api/messages/create). A
 * type that chat does not have is taken for a block, as gateways take it.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { wordsOf } from '../../../lib/elements.ts';
import { asObject, asObjects, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { inputText } from '../../call-input.ts';
import { isThinking } from '../../chat/reasoning.ts';
import { dataHeadOf } from '../../held-media.ts';
import { MARK_FIELD } from '../../messages/block.ts';
import { hasOthers, says } from '../chat-fields.ts';

/** The blocks of a content. Texts that say nothing are refused by the API, and left out. */
export function blocksOf(content: unknown): JsonObject[] {
  if (!Array.isArray(content)) return textBlocks(inputText(content));
  return asObjects(content).flatMap((part) => {
    return blocksOfPart(part).map((block) => ({ ...block, ...marked(part[MARK_FIELD]) }));
  });
}

function textBlocks(text: string): JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function blocksOfPart(part: JsonObject): JsonObject[] {
  const { type } = part;
  if (type === 'text' || type === 'refusal') return textBlocks(asString(part[type]));
  if (type === 'image_url') return [imageOf(part.image_url)];
  if (type === 'file') return [documentOf(asObject(part.file))];
  return [part];
}

/** @param image an object with the URL, or the URL as older clients send it */
function imageOf(image: unknown): JsonObject {
  return { type: 'image', source: sourceOf(asString(isObject(image) ? image.url : image)) };
}

/** The data that a URL holds, or the URL. */
function sourceOf(url: string): JsonObject {
  const head = dataHeadOf(url);
  if (!head) return { type: 'url', url };
  const data = url.slice(head.length);
  return { type: 'base64', media_type: typeOf(head.mediaType.toLowerCase(), data), data };
}

/** How images begin, in base64. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
};

/** The API refuses an image whose bytes are of another type, which OpenAI takes. */
function typeOf(stated: string, data: string): string {
  if (!stated.startsWith('image/')) return stated;
  const found = Object.keys(BEGINNINGS).find((type) => data.startsWith(BEGINNINGS[type] ?? ''));
  return found ?? (stated === 'image/jpg' ? 'image/jpeg' : stated);
}

const PLAIN = 'text/plain';
/** Types of files that are text: the API takes all of them as plain text. */
const TEXTS = /^(?:text\/|application\/(?:json|xml|(?:x-)?yaml)$)/;

/** Data without a head is a PDF, the kind of file that chat takes. */
function documentOf({ file_id, file_data, filename }: JsonObject): JsonObject {
  const said = asString(file_data);
  const title = typeof filename === 'string' ? { title: filename } : {};
  if (said === '') return { type: 'document', source: { type: 'file', file_id }, ...title };
  const isUrl = /^(?:data|https?):/i.test(said);
  const source = sourceOf(isUrl ? said : `data:application/pdf;base64,${said}`);
  if (!TEXTS.test(asString(source.media_type))) return { type: 'document', source, ...title };
  const data = wordsIn(Buffer.from(asString(source.data), 'base64'));
  return { type: 'document', source: { type: 'text', media_type: PLAIN, data }, ...title };
}

/** The text of a file: in UTF-8, in UTF-16 with its mark, or as spreadsheets write it. */
function wordsIn(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isWide ? 'utf-16le' : 'windows-1252').decode(bytes);
}

/** Types of the parts of chat, each with a member of its name. Others are sent as they are. */
const TYPES = wordsOf('text refusal image_url file');
const OF_PARTS = wordsOf('type cache_control prompt_cache_breakpoint');

/** Notes what a block has no place for. */
export function noteParts(content: unknown, notices: Set<string>): void {
  for (const part of asObjects(content)) {
    const type = asString(part.type);
    const { [type]: _, ...others } = part;
    const { detail = 'auto' } = asObject(part.image_url);
    if (detail !== 'auto') notices.add('image_detail_dropped');
    if (says(part.prompt_cache_breakpoint)) notices.add('cache_marks_dropped');
    if (TYPES.has(type) && hasOthers(others, OF_PARTS)) notices.add('part_fields_dropped');
  }
}

/** The member of a mark of the prompt cache; none if there is none. */
export function marked(mark: unknown): JsonObject {
  return isObject(mark) ? { [MARK_FIELD]: mark } : {};
}

/** Blocks with a mark after the last one that can bear it. */
export function withMark(blocks: readonly JsonObject[], mark: unknown): JsonObject[] {
  const at = blocks.findLastIndex((block) => !isThinking(block));
  return blocks.map((block, index) => (index === at ? { ...block, ...marked(mark) } : block));
}
