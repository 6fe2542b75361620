/** One element of `messages` (https://platform.openai.com/docs/api-reference/chat/create), as the core sees it. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import {
  type Content,
  type InlineMedia,
  jsonBytes,
  type Role,
  type ToolCall,
  type Weight,
} from '../memory/message.ts';
import type { WireMessage } from './model-request.ts';
import { fieldOf, type JsonSpan, jsonOf, levels, textOf, within } from './spans.ts';
import { withoutWhiteSpace } from './white-space.ts';

/**
 * Flat prices in tokens. Images: the base and four tiles of GPT-4o's high detail at 1024 × 1024, and its low detail
 * (https://platform.openai.com/docs/guides/images-vision#calculating-costs). Audio and files have no published flat price;
 * what counts is that their base64 is never read as text.
 */
const IMAGE = 765;
const IMAGE_LOW_DETAIL = 85;
const AUDIO = 765;
const FILE = 1500;

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/** Fields of a message that hold text which the model reads, beside `content`. */
const TEXT_FIELDS = ['name', 'refusal', 'reasoning_content', 'reasoning'];

/** The mark on messages that `/v1/compact` changed (design §4). */
export const COMPACTED_MARK = 'compacted';

/** All fields of a message that are ever read; whatever else it has is carried through. */
export const READ_FIELDS: readonly string[] = [
  'role',
  'content',
  'tool_calls',
  'function_call',
  'tool_call_id',
  COMPACTED_MARK,
  ...TEXT_FIELDS,
];

const EMPTY: Content = { ...plain(''), weight: { texts: [], flat: 0 } };

/** A message in the caller's bytes. Nothing is decoded, and nothing digested, before it is asked for. */
export class ChatMessage implements WireMessage {
  readonly span: JsonSpan;
  readonly wireRole: string | undefined;
  private readonly body: Uint8Array;
  private readonly known: {
    digest?: string;
    identity?: string;
    calls?: readonly ToolCall[];
    content?: Content;
  } = {};

  constructor(body: Uint8Array, span: JsonSpan) {
    this.body = body;
    this.span = span;
    this.wireRole = this.stringField('role');
  }

  get role(): Role {
    return (this.wireRole !== undefined && ROLES.get(this.wireRole)) || 'preamble';
  }

  get json(): Uint8Array {
    return this.body.subarray(this.span.start, this.span.end);
  }

  get bytes(): number {
    return this.span.end - this.span.start;
  }

  get digest(): string {
    this.known.digest ??= createHash('sha256').update(this.json).digest('base64url');
    return this.known.digest;
  }

  get identity(): string {
    this.known.identity ??= this.readIdentity();
    return this.known.identity;
  }

  get calls(): readonly ToolCall[] {
    this.known.calls ??= this.role === 'assistant' ? this.readCalls() : [];
    return this.known.calls;
  }

  get answers(): string | undefined {
    if (this.wireRole === 'tool') return this.stringField('tool_call_id') ?? '';
    if (this.wireRole === 'function') return functionCallId(this.stringField('name') ?? '');
    return undefined;
  }

  get flatTokens(): number {
    return this.contentSpan()?.kind === 'array' ? this.content().weight.flat : 0;
  }

  content(): Content {
    this.known.content ??= this.readContent();
    return this.known.content;
  }

  media(): readonly InlineMedia[] {
    const span = this.contentSpan();
    if (span?.kind !== 'array') return [];
    const parts = within(this.body, span, levels(1)).items ?? [];
    return (jsonOf(this.body, span) as unknown[]).flatMap((value, part) => {
      const kind = inlineKind(value);
      const at = parts[part];
      if (!kind || !at) return [];
      const json = textOf(this.body, at);
      const room = Buffer.byteLength(json) - TEXT_PART_BYTES - cacheControlBytes([value]);
      return [{ kind, part, tokens: flatPrice(value), json, room }];
    });
  }

  opening(): string {
    const span = this.contentSpan();
    const value = span?.kind === 'array' || span?.kind === 'string' ? jsonOf(this.body, span) : '';
    return Array.isArray(value) ? (textPart(value[0]) ?? '') : asString(value);
  }

  beside(): readonly string[] {
    const fields = TEXT_FIELDS.flatMap((field) => this.stringField(field) ?? []);
    return [...fields, ...this.calls.flatMap(({ name, input }) => [name, input])];
  }

  /** The span of `content`, if the message has one. */
  contentSpan(): JsonSpan | undefined {
    return fieldOf(this.span, 'content')?.value;
  }

  private readIdentity(): string {
    if (this.role === 'assistant' && this.calls.length === 0) {
      const { text, type } = this.content();
      if (text !== '' && type !== 'application/json') return answerIdentity(text);
    }
    return createHash('sha256').update(withoutWhiteSpace(this.json)).digest('base64url');
  }

  private readContent(): Content {
    const span = this.contentSpan();
    if (!span) return EMPTY;
    const value = jsonOf(this.body, span);
    if (value === null) return EMPTY;
    if (typeof value === 'string') return plain(value);
    if (!Array.isArray(value)) {
      const text = textOf(this.body, span);
      return {
        text,
        type: 'application/json',
        weight: { texts: [text], flat: 0 },
        room: () => jsonBytes(text),
      };
    }
    const only = value.length === 1 ? textPart(value[0]) : undefined;
    if (only !== undefined) return plain(only);
    const text = textOf(this.body, span);
    const room = (): number => Buffer.byteLength(text) - TEXT_PART_BYTES - cacheControlBytes(value);
    return { text, type: 'application/json', weight: weightOfParts(value, text), room };
  }

  private readCalls(): ToolCall[] {
    const span = fieldOf(this.span, 'tool_calls')?.value;
    const calls = span?.kind === 'array' ? (jsonOf(this.body, span) as unknown[]) : [];
    const legacy = fieldOf(this.span, 'function_call')?.value;
    return [
      ...calls.map(readCall),
      ...(legacy?.kind === 'object' ? [readLegacyCall(jsonOf(this.body, legacy))] : []),
    ];
  }

  private stringField(key: string): string | undefined {
    const value = fieldOf(this.span, key)?.value;
    return value?.kind === 'string' ? (jsonOf(this.body, value) as string) : undefined;
  }
}

/** The identity of an assistant message that says this, and calls nothing. */
export function answerIdentity(text: string): string {
  return createHash('sha256').update(`assistant\n${text}`).digest('base64url');
}

function readCall(call: unknown): ToolCall {
  const { id, function: called, custom } = asObject(call);
  const { name, arguments: input } = asObject(called);
  const { name: customName, input: customInput } = asObject(custom);
  return { id: asString(id), name: asString(name ?? customName), input: asString(input ?? customInput) };
}

/** The deprecated `function_call` has no id; the function's name stands for it, and results pair by position anyway. */
function readLegacyCall(call: unknown): ToolCall {
  const { name, arguments: input } = asObject(call);
  return { id: functionCallId(asString(name)), name: asString(name), input: asString(input) };
}

function functionCallId(name: string): string {
  return `function:${name}`;
}

function plain(text: string): Content {
  return {
    text,
    type: 'text/plain; charset=utf-8',
    weight: { texts: [text], flat: 0 },
    room: () => jsonBytes(text),
  };
}

/** Around the text of the one part that takes the place of several: `[{"type":"text","text":}]`. */
const TEXT_PART_BYTES = 26;

/** A cache breakpoint of any part stays, on the one part. */
function cacheControlBytes(parts: readonly unknown[]): number {
  const control = parts.findLast((part) => asObject(part).cache_control !== undefined);
  return control === undefined ? 0 : jsonBytes({ cache_control: asObject(control).cache_control });
}

/** @param whole the text of all parts, which stands for those that nobody knows: too much rather than too little */
function weightOfParts(parts: readonly unknown[], whole: string): Weight {
  const texts: string[] = [];
  let flat = 0;
  let unknown = false;
  for (const part of parts) {
    const { type, refusal } = asObject(part);
    const text = textPart(part);
    const price = flatPrice(part);
    if (text !== undefined) texts.push(text);
    else if (price > 0) flat += price;
    else if (type === 'refusal') texts.push(asString(refusal));
    else unknown = true;
  }
  return { texts: unknown ? [whole] : texts, flat };
}

/** The price of a part that is not counted as text; 0 for every other. */
function flatPrice(part: unknown): number {
  const { type, image_url } = asObject(part);
  if (type === 'image_url') return asObject(image_url).detail === 'low' ? IMAGE_LOW_DETAIL : IMAGE;
  if (type === 'input_audio') return AUDIO;
  return type === 'file' ? FILE : 0;
}

/** What a part holds inline; undefined for text, and for what it only names. */
function inlineKind(part: unknown): InlineMedia['kind'] | undefined {
  const { type, image_url, file } = asObject(part);
  if (type === 'image_url')
    return asString(asObject(image_url).url).startsWith('data:') ? 'image' : undefined;
  return type === 'file' && asString(asObject(file).file_data) !== '' ? 'file' : undefined;
}

function textPart(part: unknown): string | undefined {
  const { type, text } = asObject(part);
  return type === 'text' && typeof text === 'string' ? text : undefined;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
