/**
 * Images and files that are inline in a stored content: the parts of a message, or one of them, as
 * a caller of any protocol has sent them. A model that fetches the content reads words instead of
 * the base64, and gets the media themselves where a result can carry them.
 */
import { Buffer } from 'node:buffer';
import { asObject, asString, parseJson } from '../lib/json.ts';

/** Inline data of a part. */
export interface Media {
  readonly kind: 'image' | 'audio' | 'file';
  /** Empty if nobody has said it. */
  readonly mediaType: string;
  readonly base64: string;
  readonly name?: string;
}

/** A content as a model may read it. */
interface ReadableContent {
  /** The texts of the parts, with a line for each of the media. */
  readonly text: string;
  /** The parts as JSON, with that line instead of the data. */
  readonly json: string;
  readonly media: readonly Media[];
}

/**
 * Undefined for a content without inline media.
 *
 * @param json of parts
 * @param lineOf what is said of a medium
 */
export function readHeldMedia(json: string, lineOf: (media: Media) => string): ReadableContent | undefined {
  const value = parseJson(json);
  const parts = Array.isArray(value) ? value : [value];
  const found = parts.map(mediaIn);
  const media = found.filter((one) => one !== undefined);
  if (media.length === 0) return undefined;
  const lines = found.map((one) => one && lineOf(one));
  const redacted = parts.map((part, index) => {
    const { base64 } = found[index] ?? {};
    return base64 === undefined ? part : withoutData(part, base64, lines[index] ?? '');
  });
  const texts = parts.map((part, index) => lines[index] ?? textIn(part));
  return {
    text: texts.join('\n'),
    json: JSON.stringify(Array.isArray(value) ? redacted : redacted[0]),
    media,
  };
}

function textIn(part: unknown): string {
  const { text } = asObject(part);
  return typeof text === 'string' ? text : JSON.stringify(part);
}

function mediaIn(part: unknown): Media | undefined {
  const { type, image_url, file_data, filename, file, source, input_audio, title } = asObject(part);
  const { media_type, data, type: sourceType } = asObject(source);
  if (sourceType === 'base64')
    return mediaOf(type, asString(media_type), asString(data), asString(title) || undefined);
  const { data: sound, format } = asObject(input_audio);
  if (typeof sound === 'string') return mediaOf('audio', `audio/${asString(format)}`, sound);
  const url = asString(image_url) || asString(asObject(image_url).url);
  const held = asObject(file);
  const data64 = url || asString(file_data) || asString(held.file_data);
  const head = dataHeadOf(data64);
  if (!head && (data64 === '' || url !== '')) return undefined;
  const name = asString(filename) || asString(held.filename) || undefined;
  return mediaOf(type, head?.mediaType ?? '', data64.slice(head?.length ?? 0), name);
}

function mediaOf(type: unknown, mediaType: string, base64: string, name?: string): Media | undefined {
  if (base64 === '') return undefined;
  const family = mediaType.split('/')[0] || asString(type);
  const kind = family.includes('image') ? 'image' : family.includes('audio') ? 'audio' : 'file';
  return { kind, mediaType: mediaType.toLowerCase(), base64, ...(name === undefined ? {} : { name }) };
}

function withoutData(part: unknown, base64: string, line: string): unknown {
  const redact = (_: string, value: unknown): unknown =>
    typeof value === 'string' && value.endsWith(base64) ? line : value;
  return JSON.parse(JSON.stringify(part, redact));
}

/** In words: what it is, how large it is, and where that is known at a glance its dimensions. */
export function describeMedia({ kind, mediaType, base64, name }: Media): string {
  const bytes = Math.floor((base64.replace(/={1,2}$/, '').length * 3) / 4);
  const pixels = kind === 'image' ? dimensionsOf(base64) : undefined;
  return [
    [kind, name && JSON.stringify(name)].filter(Boolean).join(' '),
    ...(mediaType === '' ? [] : [mediaType]),
    `${bytes} bytes`,
    ...(pixels ? [`${pixels.width} × ${pixels.height} pixels`] : []),
  ].join(', ');
}

/** Of a PNG or a GIF, whose first bytes have them. */
function dimensionsOf(base64: string): { readonly width: number; readonly height: number } | undefined {
  const head = Buffer.from(base64.slice(0, 64), 'base64');
  if (head.length < 24) return undefined;
  if (head.toString('latin1', 1, 4) === 'PNG')
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  if (head.toString('latin1', 0, 4) === 'GIF8')
    return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  return undefined;
}

/** What OpenAI and Anthropic take as an image, and as a file, in a result. */
const CARRIED: ReadonlySet<string> = new Set([
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  'application/pdf',
]);

/** Whether the results of a protocol that carries media can carry these. */
export function isCarried({ mediaType }: Media): boolean {
  return CARRIED.has(mediaType);
}

/** What precedes the data of a URL with base64 (RFC 2397). */
interface DataHead {
  /** Characters before the data. */
  readonly length: number;
  /** Empty if the URL does not state it. */
  readonly mediaType: string;
}

const SCHEME = /^data:/i;
const ENCODED = ';base64,';

/** Undefined for a URL of another kind. One pass: a single expression for it backtracks far. */
export function dataHeadOf(url: string): DataHead | undefined {
  if (!SCHEME.test(url)) return undefined;
  const head = url.slice(0, url.indexOf(',') + 1);
  if (!head.toLowerCase().endsWith(ENCODED)) return undefined;
  const [mediaType = ''] = head.slice('data:'.length).split(';', 1);
  return { length: head.length, mediaType };
}
