/**
 * One block of a content (https://platform.claude.com/docs/en/api/messages/create), in the caller's
 * bytes. Blocks of kinds that are not named here are passed through.
 */
import { asObject, asString, isObject, type JsonObject } from '../../lib/json.ts';
import type { Weight } from '../../memory/conversation/message.ts';
import { isThinkingPart } from '../chat/reasoning.ts';
import { type CacheMarks, CLAUDE_MARKS } from '../edits.ts';
import type { JsonSpan } from '../json/outline.ts';
import { fieldOf, jsonOf, stringIn, textOf } from '../json/spans.ts';
import {
  ENCRYPTED_CHARACTERS,
  FILE,
  imagePrice,
  type PartFormat,
  TEXT_PARTS,
  weightOfJson,
} from '../parts.ts';

/** The fields of a block that are ever read. */
export const BLOCK_FIELDS: readonly string[] = [
  'type',
  'text',
  'id',
  'name',
  'input',
  'tool_use_id',
  'content',
  'is_error',
  'signature',
  'data',
  'cache_control',
];

export const MARK_FIELD = 'cache_control';

/** The API names every block by its place in a content, so `content` in an error says nothing. */
export const MESSAGES_MARKS: CacheMarks = { ...CLAUDE_MARKS, refusal: /cache_control/ };

/** Sources of an image or a document that are billed at a flat price, not as their text. */
const MEDIA_SOURCES: ReadonlySet<unknown> = new Set(['base64', 'url', 'file']);

/** Members that only the API can read. */
const ENCRYPTED: ReadonlySet<string> = new Set([
  ...['encrypted_content', 'encrypted_index', 'encrypted_stdout'],
  'signature',
]);

export const PARTS: PartFormat = {
  ...TEXT_PARTS,
  priceOf(part) {
    const { type, source } = asObject(part);
    if (type === 'image') return imagePrice(undefined);
    return type === 'document' && MEDIA_SOURCES.has(asObject(source).type) ? FILE : 0;
  },
  inlineKind(part) {
    const { type, source } = asObject(part);
    if (asObject(source).type !== 'base64') return undefined;
    if (type === 'image') return 'image';
    return type === 'document' ? 'file' : undefined;
  },
  weightOf(part) {
    return Object.keys(asObject(part)).length > 0 && holdsEncrypted(part)
      ? withoutEncrypted(part)
      : undefined;
  },
};

export class Block {
  readonly span: JsonSpan;
  private readonly body: Uint8Array;
  private kind: string | undefined;

  constructor(body: Uint8Array, span: JsonSpan) {
    this.body = body;
    this.span = span;
  }

  get type(): string {
    this.kind ??= this.string('type') ?? '';
    return this.kind;
  }

  get isThinking(): boolean {
    return isThinkingPart(this.type);
  }

  /** The mark of the prompt cache, as its JSON; undefined without one. */
  get mark(): string | undefined {
    const span = this.field(MARK_FIELD);
    const json = span && textOf(this.body, span);
    return json === 'null' ? undefined : json;
  }

  /** Whether a mark can be put after it. */
  get takesMark(): boolean {
    return this.mark === undefined && canFollow(this.type, this.string('text'));
  }

  field(key: string): JsonSpan | undefined {
    return fieldOf(this.span, key);
  }

  string(key: string): string | undefined {
    return stringIn(this.body, this.span, key);
  }

  /** The JSON of a field; empty without one. */
  json(key: string): string {
    const value = this.field(key);
    return value ? textOf(this.body, value) : '';
  }

  value(): unknown {
    return jsonOf(this.body, this.span);
  }
}

/** Whether a string is white space alone, which upstreams refuse as the text of a block. */
export function isBlankString(body: Uint8Array, value: JsonSpan): boolean {
  return (jsonOf(body, value) as string).trim() === '';
}

/** https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "What can be cached" */
const MARKABLE: ReadonlySet<unknown> = new Set([
  ...['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result'],
]);

/** Whether a mark can follow a block, by its type and its text. */
export function canFollow(type: unknown, text: unknown): boolean {
  return MARKABLE.has(type) && (type !== 'text' || asString(text).trim() !== '');
}

function holdsEncrypted(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsEncrypted);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, member]) => ENCRYPTED.has(key) || holdsEncrypted(member));
}

/** A block as the model reads it: its JSON, with what is encrypted at a flat price. */
function withoutEncrypted(value: unknown): Weight {
  let encrypted = 0;
  const rest = JSON.parse(
    JSON.stringify(value, (key, member) => {
      if (!ENCRYPTED.has(key)) return member;
      encrypted += Math.ceil(asString(member).length / ENCRYPTED_CHARACTERS);
      return undefined;
    }),
  );
  const { texts, flat } = weightOfJson(rest);
  return { texts, flat: flat + encrypted };
}

/** Blocks without their marks, and without the marks of the blocks inside them. */
export function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const { [MARK_FIELD]: _, ...rest } = value as JsonObject;
  // A call's input is the model's own.
  if (rest.type === 'tool_use') return rest;
  return Array.isArray(rest.content) ? { ...rest, content: withoutMarks(rest.content) } : rest;
}
