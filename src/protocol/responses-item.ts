/**
 * Items of `input` (https://platform.openai.com/docs/api-reference/responses/create) as the core's messages.
 *
 * What a model has said in one go is several items: reasoning, a message, calls. Together they are one assistant message, so a reasoning item
 * goes with what follows it, whole or not at all. Items of kinds that Precis does not know stay with what stands before them, and are never
 * edited.
 */
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
import { answerIdentity } from './chat-message.ts';
import type { WireMessage } from './model-request.ts';
import { fieldOf, type JsonSpan, jsonOf, levels, textOf, within } from './spans.ts';
import { withoutWhiteSpace } from './white-space.ts';

/** Flat prices in tokens, as for chat (see `chat-message.ts`). */
const IMAGE = 765;
const IMAGE_LOW_DETAIL = 85;
const AUDIO = 765;
const FILE = 1500;

/** Of what is encrypted, so many characters are taken for a token: nobody can count it. */
const ENCRYPTED_CHARACTERS = 4;

/** All fields of an item that are ever read; whatever else it has is carried through. */
export const READ_FIELDS: readonly string[] = [
  'type',
  'role',
  'content',
  'name',
  'arguments',
  'input',
  'call_id',
  'output',
  'encrypted_content',
];

const MESSAGE_ROLES: ReadonlyMap<string, Role> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
]);

const EDITABLE_OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output']);
const EDITABLE_CALLS = new Set(['function_call', 'custom_tool_call']);

/** Hosted tools whose items hold a picture. */
const PICTURES = new Set(['image_generation_call', 'computer_call_output']);

/** What stands for a conversation's beginning, or tells the upstream something: never edited, never dropped. */
const STANDING = new Set(['compaction', 'compaction_trigger', 'context_compaction', 'additional_tools']);

/** One item in the caller's bytes. */
export class Item {
  readonly span: JsonSpan;
  readonly type: string;
  private readonly body: Uint8Array;

  constructor(body: Uint8Array, span: JsonSpan) {
    this.body = body;
    this.span = span;
    const role = this.string('role');
    this.type = this.string('type') ?? (role === undefined ? '' : 'message');
  }

  /** Who speaks; undefined for what belongs to whoever spoke before. */
  get role(): Role | undefined {
    if (this.type === 'message') return MESSAGE_ROLES.get(this.string('role') ?? '') ?? 'preamble';
    if (STANDING.has(this.type)) return 'preamble';
    if (this.type.endsWith('_output')) return 'tool';
    return this.type === 'reasoning' || this.type.endsWith('_call') ? 'assistant' : undefined;
  }

  /** The call that this item makes; undefined where it makes none that a result answers. */
  get call(): ToolCall | undefined {
    if (!this.type.endsWith('_call')) return undefined;
    const id = this.string('call_id');
    if (id === undefined) return undefined;
    const name = this.string('name') ?? this.type;
    return { id, name, input: EDITABLE_CALLS.has(this.type) ? (this.inputText() ?? '') : '' };
  }

  get isEditableOutput(): boolean {
    return EDITABLE_OUTPUTS.has(this.type);
  }

  /** Where the arguments of a call stand. */
  inputSpan(): JsonSpan | undefined {
    const span = fieldOf(this.span, this.type === 'custom_tool_call' ? 'input' : 'arguments')?.value;
    return span?.kind === 'string' ? span : undefined;
  }

  /** Where the text or the parts stand: of a message, of an output. */
  contentSpan(): JsonSpan | undefined {
    return fieldOf(this.span, this.type.endsWith('_output') ? 'output' : 'content')?.value;
  }

  content(): Content {
    const span = this.contentSpan();
    if (this.type.endsWith('_output') && !this.isEditableOutput) return opaque(this.weight());
    const value = span ? jsonOf(this.body, span) : '';
    if (typeof value === 'string') return plain(value);
    if (!span || !Array.isArray(value)) return opaque(this.weight());
    const only = value.length === 1 ? partText(value[0]) : undefined;
    if (only !== undefined) return plain(only);
    const text = textOf(this.body, span);
    const room = (): number => Buffer.byteLength(text) - TEXT_PART_BYTES;
    return { text, type: 'application/json', weight: weightOfParts(value, text), room };
  }

  media(): readonly InlineMedia[] {
    const span = this.contentSpan();
    if (this.type !== 'message' || span?.kind !== 'array') return [];
    const parts = within(this.body, span, levels(1)).items ?? [];
    return (jsonOf(this.body, span) as unknown[]).flatMap((value, part) => {
      const kind = inlineKind(value);
      const at = parts[part];
      if (!kind || !at) return [];
      const json = textOf(this.body, at);
      return [
        { kind, part, tokens: flatPrice(value), json, room: Buffer.byteLength(json) - TEXT_PART_BYTES },
      ];
    });
  }

  /** What the model reads of an item that is neither a message nor an output. */
  weight(): Weight {
    const { call } = this;
    if (call && EDITABLE_CALLS.has(this.type)) return { texts: [call.name, call.input], flat: 0 };
    if (PICTURES.has(this.type)) return { texts: [], flat: IMAGE };
    const text = textOf(this.body, this.span);
    const encrypted = this.string('encrypted_content') ?? '';
    // What is encrypted stands once in the item's JSON.
    return {
      texts: [encrypted === '' ? text : text.replace(encrypted, () => '')],
      flat: Math.ceil(encrypted.length / ENCRYPTED_CHARACTERS),
    };
  }

  string(key: string): string | undefined {
    const value = fieldOf(this.span, key)?.value;
    return value?.kind === 'string' ? (jsonOf(this.body, value) as string) : undefined;
  }

  private inputText(): string | undefined {
    const span = this.inputSpan();
    return span && (jsonOf(this.body, span) as string);
  }
}

/** What one speaker has said in one go: one item, or what a model has said before it waited for results. */
export class ItemGroup implements WireMessage {
  readonly items: readonly Item[];
  readonly role: Role;
  private readonly body: Uint8Array;
  private readonly known: {
    digest?: string;
    identity?: string;
    calls?: readonly ToolCall[];
    content?: Content;
  } = {};

  /** @param items at least one */
  constructor(body: Uint8Array, items: readonly Item[]) {
    this.body = body;
    this.items = items;
    this.role = items[0]?.role ?? 'preamble';
  }

  get wireRole(): string | undefined {
    return this.first.string('role') ?? this.first.type;
  }

  get json(): Uint8Array {
    return this.body.subarray(this.first.span.start, this.items.at(-1)?.span.end);
  }

  get bytes(): number {
    return this.json.length;
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
    this.known.calls ??= this.callItems.flatMap(({ call }) => call ?? []);
    return this.known.calls;
  }

  /** The items that make the calls, in their order. */
  get callItems(): readonly Item[] {
    return this.role === 'assistant' ? this.items.filter(({ call }) => call !== undefined) : [];
  }

  get answers(): string | undefined {
    return this.role === 'tool' ? (this.first.string('call_id') ?? '') : undefined;
  }

  get flatTokens(): number {
    const isText = this.spoken?.contentSpan()?.kind === 'string' && this.items.length === 1;
    return isText ? 0 : this.content().weight.flat;
  }

  /** Whether it names an item that the upstream has. */
  get refersToItems(): boolean {
    return this.items.some(({ type }) => type === 'item_reference');
  }

  /** The item that holds the text: a message, an output. */
  get spoken(): Item | undefined {
    return this.role === 'tool' ? this.first : this.items.find(({ type }) => type === 'message');
  }

  content(): Content {
    this.known.content ??= this.readContent();
    return this.known.content;
  }

  media(): readonly InlineMedia[] {
    return this.spoken?.media() ?? [];
  }

  opening(): string {
    const span = this.spoken?.contentSpan();
    if (span?.kind !== 'array' && span?.kind !== 'string') return '';
    const value = jsonOf(this.body, span);
    return Array.isArray(value) ? (partText(value[0]) ?? '') : asString(value);
  }

  beside(): readonly string[] {
    return this.others.flatMap((item) => item.weight().texts);
  }

  private get first(): Item {
    const [first] = this.items;
    if (!first) throw new Error('a group without items was read');
    return first;
  }

  private get others(): readonly Item[] {
    return this.items.filter((item) => item !== this.spoken);
  }

  private readContent(): Content {
    const content = this.spoken?.content() ?? plain('');
    const flat = this.others.reduce((sum, item) => sum + item.weight().flat, 0);
    return flat === 0
      ? content
      : { ...content, weight: { ...content.weight, flat: content.weight.flat + flat } };
  }

  private readIdentity(): string {
    const isAnswer = this.others.every(({ type }) => type === 'reasoning');
    if (this.role === 'assistant' && isAnswer) {
      const { text, type } = this.content();
      if (text !== '' && type !== 'application/json') return answerIdentity(text);
    }
    return createHash('sha256').update(withoutWhiteSpace(this.json)).digest('base64url');
  }
}

/** Items by who has said them in one go. Linear in their number. */
export function groupItems(body: Uint8Array, spans: readonly JsonSpan[]): ItemGroup[] {
  const groups: Item[][] = [];
  for (const span of spans) {
    const item = new Item(body, span);
    const group = groups.at(-1);
    if (group && goesWith(item, group)) group.push(item);
    else groups.push([item]);
  }
  return groups.map((items) => new ItemGroup(body, items));
}

function goesWith(item: Item, group: readonly Item[]): boolean {
  const { role } = item;
  if (role === undefined) return true;
  if (role !== 'assistant' || group[0]?.role !== 'assistant') return false;
  // A message, or reasoning, behind what was said is said anew; a call is not.
  const opens = item.type === 'message' || item.type === 'reasoning';
  return !opens || !group.some(({ type, call }) => type === 'message' || call !== undefined);
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

/** What is never edited: nothing has room in its place. */
function opaque(weight: Weight): Content {
  return { text: weight.texts.join(''), type: 'application/json', weight, room: () => 0 };
}

/** Around the text of the one part that takes the place of several: `[{"type":"input_text","text":}]`. */
const TEXT_PART_BYTES = 32;

/** @param whole the text of all parts, which stands for those that nobody knows: too much rather than too little */
function weightOfParts(parts: readonly unknown[], whole: string): Weight {
  const texts: string[] = [];
  let flat = 0;
  let unknown = false;
  for (const part of parts) {
    const { type, refusal } = asObject(part);
    const text = partText(part);
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
  const { type, detail } = asObject(part);
  if (type === 'input_image') return detail === 'low' ? IMAGE_LOW_DETAIL : IMAGE;
  if (type === 'input_audio') return AUDIO;
  return type === 'input_file' ? FILE : 0;
}

/** What a part holds inline; undefined for text, and for what it only names. */
function inlineKind(part: unknown): InlineMedia['kind'] | undefined {
  const { type, image_url, file_data } = asObject(part);
  if (type === 'input_image') return asString(image_url).startsWith('data:') ? 'image' : undefined;
  return type === 'input_file' && asString(file_data) !== '' ? 'file' : undefined;
}

/** The text of a part of text, of a caller's or of a model's. */
function partText(part: unknown): string | undefined {
  const { type, text } = asObject(part);
  const isText = type === 'input_text' || type === 'output_text' || type === 'text';
  return isText && typeof text === 'string' ? text : undefined;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
