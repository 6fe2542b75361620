/** Contents that are a text, or an array of parts: what they weigh, and what they hold, in whichever protocol. */
import { Buffer } from 'node:buffer';
import { asObject, asString } from '../lib/json.ts';
import { type Content, type InlineMedia, jsonBytes, type Weight } from '../memory/conversation/message.ts';
import type { TextType } from './edits.ts';
import { type JsonSpan, jsonOf, levels, textOf, within } from './json/spans.ts';

/**
 * Flat prices in tokens. Images: the base and four tiles of GPT-4o's high detail at 1024 × 1024, and its low detail
 * (https://platform.openai.com/docs/guides/images-vision#calculating-costs). Audio and files have no published flat price;
 * what counts is that their base64 is never read as text.
 */
export const IMAGE = 765;
const IMAGE_LOW_DETAIL = 85;
export const AUDIO = 765;
export const FILE = 1500;

/** @param detail as the caller has asked for it */
export function imagePrice(detail: unknown): number {
  return detail === 'low' ? IMAGE_LOW_DETAIL : IMAGE;
}

/** Fields of a part that say where the upstream's cache may end: Anthropic's, which gateways take in chat too, and OpenAI's. */
export const BREAKPOINTS = ['cache_control', 'prompt_cache_breakpoint'] as const;

/** How a protocol names its parts. */
export interface PartFormat {
  /** What a part of text is called that is written. */
  readonly text: TextType;
  /** The text of a part of text; undefined for every other. */
  textOf(part: unknown): string | undefined;
  /** The price of a part that is not counted as text; 0 for every other. */
  priceOf(part: unknown): number;
  /** What a part holds inline; undefined for text, and for what it only names. */
  inlineKind(part: unknown): InlineMedia['kind'] | undefined;
}

/** A content that is a text. */
export function plain(text: string): Content {
  return {
    text,
    type: 'text/plain; charset=utf-8',
    weight: { texts: [text], flat: 0 },
    room: () => jsonBytes(text),
  };
}

/** A content of parts; one part of text alone is a text. @param span of the array */
export function contentOfParts(body: Uint8Array, span: JsonSpan, format: PartFormat): Content {
  const parts = jsonOf(body, span) as unknown[];
  const only = parts.length === 1 ? format.textOf(parts[0]) : undefined;
  if (only !== undefined) return plain(only);
  const text = textOf(body, span);
  return {
    text,
    type: 'application/json',
    weight: weightOf(parts, text, format),
    room: () => roomIn(text, parts, format),
  };
}

/** What a content of parts holds inline. @param span of the array */
export function mediaOfParts(body: Uint8Array, span: JsonSpan, format: PartFormat): InlineMedia[] {
  const spans = within(body, span, levels(1)).items ?? [];
  return (jsonOf(body, span) as unknown[]).flatMap((value, part) => {
    const kind = format.inlineKind(value);
    const at = spans[part];
    if (!kind || !at) return [];
    const json = textOf(body, at);
    return [{ kind, part, tokens: format.priceOf(value), json, room: roomIn(json, [value], format) }];
  });
}

/** The text that a content begins with: of a string all of it, of parts the first one's; empty when that is none. */
export function openingIn(body: Uint8Array, span: JsonSpan | undefined, format: PartFormat): string {
  const value = span?.kind === 'array' || span?.kind === 'string' ? jsonOf(body, span) : '';
  return Array.isArray(value) ? (format.textOf(value[0]) ?? '') : asString(value);
}

/** Around the text of the one part that takes the place of several: `[{"type":"text","text":}]`. */
function aroundText({ text }: PartFormat): number {
  return 22 + text.length;
}

/** See `Content.room`. @param json of the parts */
function roomIn(json: string, parts: readonly unknown[], format: PartFormat): number {
  return Buffer.byteLength(json) - aroundText(format) - breakpointBytes(parts);
}

/** A cache breakpoint of any part stays, on the one part. */
function breakpointBytes(parts: readonly unknown[]): number {
  return BREAKPOINTS.reduce((sum, key) => {
    const part = parts.findLast((part) => asObject(part)[key] !== undefined);
    return sum + (part === undefined ? 0 : jsonBytes({ [key]: asObject(part)[key] }));
  }, 0);
}

/** @param whole the text of all parts, which stands for those that nobody knows: too much rather than too little */
function weightOf(parts: readonly unknown[], whole: string, format: PartFormat): Weight {
  const texts: string[] = [];
  const unknown: unknown[] = [];
  let flat = 0;
  for (const part of parts) {
    const { type, refusal } = asObject(part);
    const text = format.textOf(part);
    const price = format.priceOf(part);
    if (text !== undefined) texts.push(text);
    else if (price > 0) flat += price;
    else if (type === 'refusal') texts.push(asString(refusal));
    else unknown.push(part);
  }
  if (unknown.length === 0) return { texts, flat };
  // Beside media the text of all parts would be mostly theirs.
  if (flat === 0 && !mayHoldMedia(whole)) return { texts: [whole], flat };
  const others = unknown.map(weightOfJson);
  return {
    texts: [...texts, ...others.flatMap((other) => other.texts)],
    flat: others.reduce((sum, other) => sum + other.flat, flat),
  };
}

/** Members that name or hold what is not text, in whichever kind of item. What stands in a text is text, base64 or not. */
const MEDIA_KEY = /^(?:image_|file_|audio_)?(?:url|data|uri)$/;
const DATA_URL = /^data:([a-z]*)\/?[^,]{0,200},/i;
const AUDIO_FORMATS = new Set(['wav', 'mp3', 'flac', 'opus', 'aac', 'pcm16']);
const IMAGES = new Set(['image', 'image_url', 'input_image', 'output_image', 'computer_screenshot']);

/** Whether a JSON text may hold media: false is certain. */
export function mayHoldMedia(json: string): boolean {
  return /"(?:image_|file_|audio_)?(?:url|data|uri)"/.test(json);
}

/** A value of a form that nobody knows: its JSON as text, what it holds inline or shows as an image at the flat price. */
export function weightOfJson(value: unknown): Weight {
  let flat = 0;
  const text = JSON.stringify(value, function (this: unknown, key: string, member: unknown) {
    const price = typeof member === 'string' && MEDIA_KEY.test(key) ? mediaPrice(asObject(this), member) : 0;
    flat += price;
    return price > 0 ? '' : member;
  });
  return { texts: [text ?? ''], flat };
}

/** @param holder the object in which it stands @returns 0 for what is text */
function mediaPrice(holder: Record<string, unknown>, member: string): number {
  const { type, detail, mimeType, mime_type, format } = holder;
  const [, inline] = DATA_URL.exec(member.slice(0, 256)) ?? [];
  if (IMAGES.has(asString(type)) || inline === 'image') return imagePrice(detail);
  const kind = inline ?? asString(mimeType ?? mime_type).split('/')[0];
  if (kind === 'image') return imagePrice(detail);
  if (kind === 'audio' || type === 'audio' || AUDIO_FORMATS.has(asString(format))) return AUDIO;
  return inline === undefined && kind === '' ? 0 : FILE;
}
