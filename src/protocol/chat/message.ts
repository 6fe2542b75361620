/**
 * One element of `messages` (https://platform.openai.com/docs/api-reference/chat/create) as a
 * `Message`.
 */

import { asObject, asString } from '../../lib/json.ts';
import {
  type Content,
  type InlineMedia,
  jsonBytes,
  type MessageFacts,
  type Reasoning,
  type Role,
  type Thinking,
  type ToolCall,
  type Weight,
} from '../../memory/conversation/message.ts';
import { besideIn, besideText } from '../beside.ts';
import { inputField, inputIn } from '../call-input.ts';
import { markSplices } from '../edits.ts';
import { type JsonSpan, levels } from '../json/outline.ts';
import { bytesOf, elementsOf, fieldOf, jsonOf, stringIn, textOf, within } from '../json/spans.ts';
import { KeptContents } from '../kept-contents.ts';
import { NamedMessage } from '../message-names.ts';
import type { WireMessage } from '../model-request.ts';
import {
  AUDIO,
  contentOfParts,
  EMPTY,
  FILE,
  imagePrice,
  mediaOfParts,
  openingIn,
  type PartFormat,
  plain,
  sumOfWeights,
  TEXT_PARTS,
  withEncrypted,
} from '../parts.ts';
import { saidIn } from '../said.ts';
import {
  isThinking,
  PROVIDER_FIELDS,
  REASONING_TEXTS,
  SEALED_TEXTS,
  THINKING_BLOCKS,
  THINKING_LISTS,
  THOUGHT_FIELDS,
  weightOfThinking,
} from './reasoning.ts';
import { textIn, textsIn } from './words.ts';

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/** What an answer may have instead of a content, beside calls. */
const SPOKEN = ['refusal', 'audio'];

/** Text fields of a message that the model reads, beside `content` and its reasoning. */
const TEXT_FIELDS = ['name', 'refusal'];

/** Marks messages that `/v1/compact` changed (docs/refs-and-retrieval.md#post-v1compact). */
export const COMPACTED_MARK = 'compacted';

/** The fields that a message's texts, calls and thinking are read from, or that say nothing. */
const SHOWN_FIELDS: readonly string[] = [
  'role',
  'content',
  'tool_calls',
  'function_call',
  'tool_call_id',
  COMPACTED_MARK,
  ...TEXT_FIELDS,
  ...THOUGHT_FIELDS,
  ...THINKING_LISTS,
];

/** The fields of a message that are ever read. All others are passed through. */
export const READ_FIELDS: readonly string[] = [...SHOWN_FIELDS, 'audio', PROVIDER_FIELDS];

/** Where gateways put what only the vendor of a call's model reads, such as Gemini's signatures. */
const EXTRA_CONTENT = 'extra_content';

/** What `beside` leaves out. */
const SHOWN: ReadonlySet<string> = new Set([...SHOWN_FIELDS, PROVIDER_FIELDS]);
const SHOWN_OF_CALLS: ReadonlySet<string> = new Set([
  ...['id', 'type', 'function', 'custom', 'index'],
  ...[PROVIDER_FIELDS, EXTRA_CONTENT],
]);

export const PARTS: PartFormat = {
  ...TEXT_PARTS,
  priceOf(part) {
    const { type, image_url } = asObject(part);
    if (type === 'image_url') return imagePrice(asObject(image_url).detail);
    if (type === 'input_audio') return AUDIO;
    return type === 'file' ? FILE : 0;
  },
  inlineKind(part) {
    const { type, image_url, file } = asObject(part);
    if (type === 'image_url')
      return asString(asObject(image_url).url).startsWith('data:') ? 'image' : undefined;
    return type === 'file' && asString(asObject(file).file_data) !== '' ? 'file' : undefined;
  },
};

export interface ChatFacts extends MessageFacts {
  /** Null if it is not a string. */
  wireRole?: string | null;
  answers?: string | null;
  /** Whether it has `COMPACTED_MARK`. */
  isMarked?: boolean;
  /** Where the arguments of its calls are, in bytes from its own start; null without any. */
  inputs?: readonly ({ readonly start: number; readonly end: number } | null)[];
}

/** A message in the caller's bytes. It is decoded and hashed on demand. */
export class ChatMessage extends NamedMessage<ChatFacts> implements WireMessage {
  readonly span: JsonSpan;
  readonly wireRole: string | undefined;
  private readonly body: Uint8Array;
  private readonly kept: KeptContents;
  readonly role: Role;

  /**
   * @param kept shared by all messages of the body
   * @param facts of a message with the same bytes and the same messages before it
   */
  constructor(body: Uint8Array, span: JsonSpan, kept = new KeptContents(), facts: ChatFacts = {}) {
    super(facts);
    this.body = body;
    this.kept = kept;
    this.span = span;
    facts.wireRole ??= this.stringField('role') ?? null;
    this.wireRole = facts.wireRole ?? undefined;
    this.role = ROLES.get(facts.wireRole ?? '') ?? 'preamble';
  }

  get json(): Uint8Array {
    return this.body.subarray(this.span.start, this.span.end);
  }

  get bytes(): number {
    return this.span.end - this.span.start;
  }

  get parts(): number {
    return 1 + this.calls.length;
  }

  get calls(): readonly ToolCall[] {
    if (this.role !== 'assistant') return [];
    this.facts.calls ??= this.readCalls();
    return this.facts.calls;
  }

  get answers(): string | undefined {
    this.facts.answers ??= this.readAnswers() ?? null;
    return this.facts.answers ?? undefined;
  }

  protected readFlatTokens(): number {
    const mayHaveAny =
      this.contentSpan()?.kind === 'array' ||
      [...SEALED_TEXTS, ...THINKING_LISTS].some((field) => fieldOf(this.span, field));
    return mayHaveAny ? this.content().weight.flat : 0;
  }

  content(): Content {
    return this.kept.of(this, () => withEncrypted(this.readContent(), this.listedWeight()));
  }

  names(): readonly string[] {
    const span = this.contentSpan();
    const isList = span?.kind === 'array';
    const texts = isList ? textsIn(jsonOf(this.body, span) as unknown[]) : this.content().weight.texts;
    return [...texts, this.stringField('refusal') ?? ''];
  }

  media(): readonly InlineMedia[] {
    const span = this.contentSpan();
    return span?.kind === 'array' ? mediaOfParts(this.body, span, PARTS) : [];
  }

  opening(): string {
    return openingIn(this.body, this.contentSpan(), PARTS);
  }

  bearsMark(isReplaced: boolean): boolean {
    // A legacy result is no list of parts.
    if (this.wireRole === 'function') return false;
    return isReplaced || markSplices(this.body, this.contentSpan(), 'text').length > 0;
  }

  otherTexts(): readonly string[] {
    const fields = TEXT_FIELDS.flatMap((field) => this.stringField(field) ?? []);
    return [...fields, ...this.thoughts(), ...this.calls.flatMap(({ name, input }) => [name, input])];
  }

  beside(): readonly string[] {
    const listed = fieldOf(this.span, 'tool_calls');
    const calls = listed?.kind === 'array' ? [...elementsOf(this.body, listed)] : [];
    const provided = fieldOf(this.span, PROVIDER_FIELDS);
    return [
      ...besideIn(this.body, this.span, SHOWN),
      ...(provided?.kind === 'object' ? besideIn(this.body, provided, SHOWN) : []),
      ...besideText(this.body, this.contentSpan(), PARTS),
      ...calls.flatMap((call) => (call.kind === 'object' ? besideIn(this.body, call, SHOWN_OF_CALLS) : [])),
    ];
  }

  /** Undefined where nothing else would be left of the message. */
  reasoning(): Reasoning | undefined {
    if (this.role !== 'assistant') return undefined;
    const spans = this.thinkingSpans();
    if (spans.length === 0) return undefined;
    if (this.calls.length === 0 && this.content().text === '') return undefined;
    return { form: 'fields', weight: this.fieldsWeight(), bytes: bytesOf(spans) };
  }

  thinking(): Thinking | undefined {
    if (this.role !== 'assistant') return undefined;
    const content = this.contentSpan();
    const parts = content?.kind === 'array' ? (jsonOf(this.body, content) as unknown[]) : [];
    const thought = parts.filter((part) => isThinking(part));
    const spans = this.thinkingSpans();
    if (spans.length === 0 && thought.length === 0) return undefined;
    const others = thought.length > 0 ? parts.length - thought.length : this.readContent().text.length;
    return {
      weight: sumOfWeights([this.fieldsWeight(), weightOfThinking(thought)]),
      bytes: bytesOf(spans) + thought.reduce((sum: number, part) => sum + jsonBytes(part), 0),
      blocks: Math.max(1, this.list()?.length ?? 0, thought.length),
      isAll: others === 0 && this.calls.length === 0 && !SPOKEN.some((field) => this.says(field)),
    };
  }

  contentSpan(): JsonSpan | undefined {
    return fieldOf(this.span, 'content');
  }

  protected get isAnswer(): boolean {
    return this.role === 'assistant' && this.calls.length === 0;
  }

  /** Clients may leave thinking out. */
  protected override answerText(): string {
    const span = this.contentSpan();
    const parts = span?.kind === 'array' ? (jsonOf(this.body, span) as unknown[]) : [];
    if (!parts.some(isThinking)) return super.answerText();
    const isText = parts.every((part) => isThinking(part) || PARTS.textOf(part) !== undefined);
    return isText ? textIn(parts) : '';
  }

  protected override said(): Uint8Array {
    return saidIn(this.body, this.span, this.contentSpan(), PARTS);
  }

  private readAnswers(): string | undefined {
    if (this.wireRole === 'tool') return this.stringField('tool_call_id') ?? '';
    if (this.wireRole === 'function') return functionCallId(this.stringField('name') ?? '');
    return undefined;
  }

  private readContent(): Content {
    const span = this.contentSpan();
    if (!span) return EMPTY;
    if (span.kind === 'array') return contentOfParts(this.body, span, PARTS);
    const value = jsonOf(this.body, span);
    if (value === null) return EMPTY;
    if (typeof value === 'string') return plain(value);
    const text = textOf(this.body, span);
    return { ...plain(text), type: 'application/json' };
  }

  /** The texts of its reasoning. A list comes before a text, which repeats it. */
  private thoughts(): readonly string[] {
    const { texts = [] } = this.listedWeight() ?? {};
    return texts.length > 0 ? texts : REASONING_TEXTS.flatMap((field) => this.stringField(field) ?? []);
  }

  /** Of the thinking in its fields. */
  private fieldsWeight(): Weight {
    const { flat = 0, encrypted = 0 } = this.listedWeight() ?? {};
    return { texts: this.thoughts(), flat, encrypted };
  }

  private listedWeight(): Weight | undefined {
    const sealed = this.role === 'assistant' ? SEALED_TEXTS.map((field) => this.stringField(field)) : [];
    const parts = [...(this.list() ?? []), ...sealed.flatMap((data) => (data ? { data } : []))];
    return parts.length === 0 ? undefined : weightOfThinking(parts);
  }

  /** Its list of thinking; the first one if gateways have added several. */
  private list(): unknown[] | undefined {
    if (this.role !== 'assistant') return undefined;
    const spans = THINKING_LISTS.flatMap((field) => fieldOf(this.span, field) ?? []);
    const span = spans.find(({ kind }) => kind === 'array') ?? this.repeatedList();
    return span && (jsonOf(this.body, span) as unknown[]);
  }

  /** LiteLLM's second list. */
  private repeatedList(): JsonSpan | undefined {
    const fields = fieldOf(this.span, PROVIDER_FIELDS);
    const span =
      fields?.kind === 'object' ? fieldOf(within(this.body, fields, levels(1)), THINKING_BLOCKS) : undefined;
    return span?.kind === 'array' ? span : undefined;
  }

  /** All fields with thinking, which leave together. */
  private thinkingSpans(): JsonSpan[] {
    const spans = [...THOUGHT_FIELDS, ...THINKING_LISTS].flatMap((field) => fieldOf(this.span, field) ?? []);
    return [...spans, ...[this.repeatedList()].filter((span) => span !== undefined)];
  }

  /** Whether a field is there and not null. */
  private says(field: string): boolean {
    const span = fieldOf(this.span, field);
    return span !== undefined && textOf(this.body, span) !== 'null';
  }

  private readCalls(): ToolCall[] {
    const span = fieldOf(this.span, 'tool_calls');
    const calls = span?.kind === 'array' ? (jsonOf(this.body, span) as unknown[]) : [];
    const legacy = fieldOf(this.span, 'function_call');
    const read = [
      ...calls.map(readCall),
      // Some servers send an empty one with each answer.
      ...(legacy?.kind === 'object' ? [readLegacyCall(jsonOf(this.body, legacy))] : []).filter(
        ({ name }) => name !== '',
      ),
    ];
    const spans = read.some(({ isObject }) => isObject) ? inputsOf(this.body, this.span) : [];
    return read.map(({ isObject, ...call }, at) => {
      const span = isObject && spans[at];
      return span ? { ...call, input: inputIn(this.body, span) } : call;
    });
  }

  private stringField(key: string): string | undefined {
    return stringIn(this.body, this.span, key);
  }
}

/**
 * The arguments of a message's calls, in their order; null for a call without any. They are in
 * `tool_calls[i].function.arguments`, `.custom.input`, or `function_call.arguments`.
 */
export function inputsOf(bytes: Uint8Array, message: JsonSpan): (JsonSpan | null)[] {
  const listed = fieldOf(message, 'tool_calls');
  const legacy = fieldOf(message, 'function_call');
  const found = [
    ...(listed?.kind === 'array' ? (within(bytes, listed, levels(3)).items ?? []).map(inputOf) : []),
    ...(legacy?.kind === 'object' ? [inputField(within(bytes, legacy, levels(1)), 'arguments')] : []),
  ];
  return found.map((input) => input ?? null);
}

/** The member that `ToolCall.input` is read from. Of two, one is empty. */
function inputOf(call: JsonSpan): JsonSpan | undefined {
  const member = (key: string): JsonSpan | undefined => fieldOf(call, key);
  const called = inputField(member('function'), 'arguments');
  const custom = inputField(member('custom'), 'input');
  return called && custom && bytesOf([custom]) > bytesOf([called]) ? custom : (called ?? custom);
}

/** A call, and its arguments if they are no text. */
interface ReadCall extends ToolCall {
  readonly isObject: boolean;
}

function readCall(call: unknown): ReadCall {
  const { id, function: called, custom } = asObject(call);
  const { name, arguments: input } = asObject(called);
  const { name: customName, input: customInput } = asObject(custom);
  if (typeof customInput === 'string' && !name)
    return {
      id: asString(id),
      name: asString(customName),
      input: customInput,
      form: 'text',
      isObject: false,
    };
  return { id: asString(id), name: asString(name ?? customName), ...readInput(input ?? customInput) };
}

/**
 * The deprecated `function_call` has no id, so the function's name is used as one. Results are
 * paired by position anyway.
 */
function readLegacyCall(call: unknown): ReadCall {
  const { name, arguments: input } = asObject(call);
  return { id: functionCallId(asString(name)), name: asString(name), ...readInput(input) };
}

function readInput(input: unknown): Pick<ReadCall, 'input' | 'isObject'> {
  return { input: asString(input), isObject: typeof input === 'object' && input !== null };
}

function functionCallId(name: string): string {
  return `function:${name}`;
}
