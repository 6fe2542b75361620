/**
 * Contents that are a string or an array of parts: their token weight and their media, in either
 * protocol.
 */

import { Buffer } from 'node:buffer';
import { onlyOf } from '../lib/elements.ts';
import { asObject, asObjects, asString } from '../lib/json.ts';
import {
  type Attachment,
  type Content,
  type InlineMedia,
  jsonBytes,
  type Weight,
} from '../memory/conversation/message.ts';
import type { JsonSpan } from './json/outline.ts';
import { elementsOf, jsonOf, textOf } from './json/spans.ts';
import { unmarked, unmarkedPart } from './unmarked.ts';

/**
 * Flat prices in tokens. Images: base and four tiles of GPT-4o's high detail at 1024 × 1024, and
 * its low detail (https://platform.openai.com/docs/guides/images-vision#calculating-costs). Audio
 * and files have no published flat price; the point is not to count their base64 as text.
 */
export const IMAGE = 765;
const IMAGE_LOW_DETAIL = 85;
export const AUDIO = 765;
export const FILE = 1500;

/** Characters of encrypted content per token. A guess, since nobody can count it. */
export const ENCRYPTED_CHARACTERS = 4;

/** @param detail as the caller has asked for it */
export function imagePrice(detail: unknown): number {
  return detail === 'low' ? IMAGE_LOW_DETAIL : IMAGE;
}

/** The type of a text part: `text` in chat, `input_text` in the Responses API. */
export type TextType = 'text' | 'input_text';

/** How a protocol writes parts. */
export interface PartFormat {
  /** The type of text parts that we write. */
  readonly text: TextType;
  /** The text of a text part; undefined for other parts. */
  textOf(part: unknown): string | undefined;
  /** The flat price of a part that is not counted as text; 0 for other parts. */
  priceOf(part: unknown): number;
  /** The kind of inline data in a part; undefined for text and for references. */
  inlineKind(part: unknown): InlineMedia['kind'] | undefined;
  /** The weight of a part that is neither text nor media. Absent, or undefined: as its JSON. */
  weightOf?(part: unknown): Weight | undefined;
}

/** Text parts of chat and of Messages. */
export const TEXT_PARTS: Pick<PartFormat, 'text' | 'textOf'> = {
  text: 'text',
  textOf(part) {
    const { type, text } = asObject(part);
    return type === 'text' && typeof text === 'string' ? text : undefined;
  },
};

export function plain(text: string): Content {
  return {
    text,
    type: 'text/plain; charset=utf-8',
    weight: { texts: [text], flat: 0 },
    room: () => jsonBytes(text),
  };
}

export const EMPTY: Content = { ...plain(''), weight: { texts: [], flat: 0 } };

/** A content that is never edited: it has no room for a placeholder. */
export function opaque(weight: Weight): Content {
  return { text: weight.texts.join(''), type: 'application/json', weight, room: () => 0 };
}

export function sumOfWeights(weights: readonly Weight[]): Weight {
  return {
    texts: weights.flatMap(({ texts }) => texts),
    flat: weights.reduce((sum, { flat }) => sum + flat, 0),
    encrypted: weights.reduce((sum, { encrypted = 0 }) => sum + encrypted, 0),
  };
}

/** A content, and the thinking beside it that is encrypted. */
export function withEncrypted(content: Content, thoughts: Weight | undefined): Content {
  if (!thoughts || thoughts.flat === 0) return content;
  const { weight } = content;
  const { flat, encrypted = 0 } = thoughts;
  return { ...content, weight: { ...weight, flat: weight.flat + flat, encrypted } };
}

/** A content of parts. A single text part counts as a string. @param span of the array */
export function contentOfParts(body: Uint8Array, span: JsonSpan, format: PartFormat): Content {
  return contentOfList(partsIn(body, span), () => textOf(body, span), format);
}

/** The same for parts that are no whole array. @param json of a list of them */
export function contentOfList(parts: Iterable<ReadPart>, json: () => string, format: PartFormat): Content {
  const only = onlyOf(parts);
  const onlyText = only && format.textOf(only.value);
  if (onlyText !== undefined) return { ...plain(onlyText), isList: true };
  const text = unmarked(json());
  return {
    text,
    type: 'application/json',
    isList: true,
    weight: weightOf(parts, text, format),
    room: () => roomIn(text, format),
    attached: () => [...parts].flatMap(({ value }) => (format.priceOf(value) > 0 ? attachmentIn(value) : [])),
  };
}

/** The inline media in a content of parts. @param span of the array */
export function mediaOfParts(body: Uint8Array, span: JsonSpan, format: PartFormat): InlineMedia[] {
  return mediaOfList(body, partsIn(body, span), format);
}

/** The same for parts that are no whole array. */
export function mediaOfList(
  body: Uint8Array,
  parts: Iterable<ReadPart & { readonly at: JsonSpan }>,
  format: PartFormat,
): InlineMedia[] {
  const media: InlineMedia[] = [];
  let part = 0;
  for (const { value, at } of parts) {
    const kind = format.inlineKind(value);
    if (kind) {
      const json = unmarkedPart(textOf(body, at));
      media.push({ kind, part, tokens: format.priceOf(value), json, room: roomIn(json, format) });
    }
    part++;
  }
  return media;
}

/**
 * The text at the beginning of a content: the whole string, or the first part's text; empty if that
 * part is not text.
 */
export function openingIn(body: Uint8Array, span: JsonSpan | undefined, format: PartFormat): string {
  if (span?.kind === 'string') return asString(jsonOf(body, span));
  if (span?.kind !== 'array') return '';
  for (const { value } of partsIn(body, span)) return format.textOf(value) ?? '';
  return '';
}

interface ReadPart {
  readonly value: unknown;
}

/**
 * The parts of an array, decoded one by one on each iteration, since there may be a hundred
 * thousand.
 */
function partsIn(body: Uint8Array, span: JsonSpan): Iterable<ReadPart & { readonly at: JsonSpan }> {
  return readParts(body, { [Symbol.iterator]: () => elementsOf(body, span) });
}

/** Parts at these places, decoded one by one likewise. */
export function readParts(
  body: Uint8Array,
  spans: Iterable<JsonSpan>,
): Iterable<ReadPart & { readonly at: JsonSpan }> {
  return {
    *[Symbol.iterator]() {
      for (const at of spans) yield { value: jsonOf(body, at), at };
    },
  };
}

/** Bytes around the text of a single text part: `[{"type":"text","text":}]`. */
function aroundText({ text }: PartFormat): number {
  return 22 + text.length;
}

/** See `Content.room`. @param json of the parts, without the marks that a single text part keeps */
function roomIn(json: string, format: PartFormat): number {
  return Buffer.byteLength(json) - aroundText(format);
}

/** @param whole the text of all parts, counted for unknown ones: rather too much than too little */
function weightOf(parts: Iterable<ReadPart>, whole: string, format: PartFormat): Weight {
  const texts: string[] = [];
  let flat = 0;
  let hasUnknown = false;
  for (const { value } of parts) {
    const known = knownWeightOf(value, format);
    const own = known === undefined ? format.weightOf?.(value) : undefined;
    if (typeof known === 'string') texts.push(known);
    else if (own) {
      texts.push(...own.texts);
      flat += own.flat;
    } else if (known === undefined) hasUnknown = true;
    else flat += known;
  }
  if (!hasUnknown) return { texts, flat };
  // With media among them, that text would be mostly base64.
  if (flat === 0 && !mayHoldMedia(whole)) return { texts: [whole], flat };
  for (const { value } of parts) {
    if (knownWeightOf(value, format) !== undefined || format.weightOf?.(value)) continue;
    const other = weightOfJson(value);
    texts.push(...other.texts);
    flat += other.flat;
  }
  return { texts, flat };
}

/** Members of a part that name what is attached, in every protocol: the plainest first. */
const NAMES = ['filename', 'title', 'file_id', 'url', 'image_url', 'file_url', 'uri'] as const;
/** Members that hold them, for which a part has no other name. */
const HOLDERS = ['file', 'image_url', 'source'] as const;
/** In characters. A signed address has a few hundred. */
const LONGEST_NAME = 2_048;

/** @param part of an image, audio or file */
function attachmentIn(part: unknown): Attachment {
  const fields = asObject(part);
  const type = asString(fields.type);
  const holders = [fields, ...HOLDERS.map((holder) => asObject(fields[holder]))];
  const found = NAMES.flatMap((name) => holders.map((holder) => asString(holder[name]).trim()));
  const names = found.filter((name) => name !== '' && name.length <= LONGEST_NAME && !/^data:/i.test(name));
  const kind = type.includes('image') ? 'image' : type.includes('audio') ? 'audio' : 'file';
  return { kind, names: [...new Set(names)] };
}

/** The text of a thinking part: a string, or Mistral's or Databricks' list of text parts. */
export function thoughtIn(thinking: unknown): string {
  const parts = Array.isArray(thinking) ? asObjects(thinking).map(({ text }) => asString(text)) : [];
  return asString(thinking) || parts.join('');
}

/** The text of a part, or its flat price; undefined for an unknown part. */
function knownWeightOf(part: unknown, format: PartFormat): string | number | undefined {
  const text = format.textOf(part);
  if (text !== undefined) return text;
  const price = format.priceOf(part);
  if (price > 0) return price;
  const { type, refusal, thinking, summary, text: words, data } = asObject(part);
  if (type === 'thinking') return thoughtIn(thinking);
  if (type === 'reasoning') return thoughtIn(summary ?? words);
  // Nobody can read it, so it is counted as other encrypted content.
  if (type === 'redacted_thinking') return Math.ceil(asString(data).length / ENCRYPTED_CHARACTERS);
  return type === 'refusal' ? asString(refusal) : undefined;
}

/**
 * Members that refer to media or hold them, in any kind of item. Inside other strings, base64
 * counts as text.
 */
const MEDIA_KEY = /^(?:\w+_)?(?:url|data|uri)$/;
const DATA_URL = /^data:([a-z]*)\/?[^,]{0,200},/i;
const AUDIO_FORMATS = new Set(['wav', 'mp3', 'flac', 'opus', 'aac', 'pcm16']);
const IMAGES = new Set(['image', 'image_url', 'input_image', 'output_image', 'computer_screenshot']);

/** Whether a JSON text may hold media. If false, it holds none. */
export function mayHoldMedia(json: string): boolean {
  return /"(?:\w+_)?(?:url|data|uri)"/.test(json);
}

/**
 * The weight of a value of unknown form: its JSON as text, with inline data and images at the flat
 * price.
 */
export function weightOfJson(value: unknown): Weight {
  let flat = 0;
  const text = JSON.stringify(value, function (this: unknown, key: string, member: unknown) {
    const price = typeof member === 'string' && MEDIA_KEY.test(key) ? mediaPrice(asObject(this), member) : 0;
    flat += price;
    return price > 0 ? '' : member;
  });
  return { texts: [text ?? ''], flat };
}

/** @param holder the object that has the member @returns 0 for text */
function mediaPrice(holder: Record<string, unknown>, member: string): number {
  const { type, detail, mimeType, mime_type, media_type, format } = holder;
  // Anthropic's sources have a media type, also the sources of plain text.
  const mime = mimeType ?? mime_type ?? (type === 'base64' ? media_type : undefined);
  const [, inline] = DATA_URL.exec(member.slice(0, 256)) ?? [];
  if (IMAGES.has(asString(type)) || inline === 'image') return imagePrice(detail);
  const kind = inline ?? asString(mime).split('/')[0];
  if (kind === 'image') return imagePrice(detail);
  if (kind === 'audio' || type === 'audio' || AUDIO_FORMATS.has(asString(format))) return AUDIO;
  return inline === undefined && kind === '' ? 0 : FILE;
}
