/** One item of `input`, in the caller's bytes. */

import { bufferOf } from '../../lib/bytes.ts';
import { asObject, asObjects, asString } from '../../lib/json.ts';
import {
  type Content,
  type InlineMedia,
  jsonBytes,
  type Role,
  type Thinking,
  type ToolCall,
  type Weight,
} from '../../memory/conversation/message.ts';
import type { Removal } from '../../memory/edits/removal.ts';
import { besideIn, besideText } from '../beside.ts';
import { inputField, inputIn, inputSplice } from '../call-input.ts';
import { isThinking, THINKING_LISTS, weightOfThinking } from '../chat/reasoning.ts';
import { leftOut } from '../json/bare.ts';
import { type JsonSpan, levels } from '../json/outline.ts';
import { fieldOf, jsonOf, type Splice, textOf, within } from '../json/spans.ts';
import {
  AUDIO,
  contentOfParts,
  ENCRYPTED_CHARACTERS,
  FILE,
  IMAGE,
  imagePrice,
  mayHoldMedia,
  mediaOfParts,
  opaque,
  openingIn,
  type PartFormat,
  plain,
  weightOfJson,
} from '../parts.ts';
import { MARKS, saidIn } from '../said.ts';
import { COMPACTIONS } from '../sealed.ts';
import { HOSTED_SHELL } from './calls.ts';
import { HostedOutput } from './hosted-output.ts';
import { APPROVAL, isCallType } from './reasoning.ts';

/** The fields of an item that are ever read. All others are passed through. */
export const READ_FIELDS: readonly string[] = [
  'type',
  'role',
  'content',
  'name',
  'arguments',
  'input',
  'code',
  'call_id',
  'approval_request_id',
  'id',
  'output',
  'outputs',
  'results',
  'action',
  'operation',
  'encrypted_content',
  'tools',
  'environment',
];

const MESSAGE_ROLES: ReadonlyMap<string, Role> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
]);

const EDITABLE_OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output']);

/** Where a call has what its tool is asked for. */
interface Asked {
  readonly field: string;
  /** The member of an object in that field that is cleared; absent: the field itself. */
  readonly member?: string;
  /** Absent: a JSON object as text. */
  readonly form?: 'text';
}

/** By the kind of the item. All other calls are short, or are for a person to approve. */
const ASKED: ReadonlyMap<string, Asked> = new Map([
  ['function_call', { field: 'arguments' }],
  ['custom_tool_call', { field: 'input', form: 'text' }],
  ['mcp_call', { field: 'arguments' }],
  ['code_interpreter_call', { field: 'code', form: 'text' }],
  ['apply_patch_call', { field: 'operation', member: 'diff', form: 'text' }],
  ['shell_call', { field: 'action', member: 'commands', form: 'text' }],
  ['local_shell_call', { field: 'action', member: 'command', form: 'text' }],
]);

/** Items by whose id others are found, or which are found by the id of another. */
const LINKED = new Set([APPROVAL, 'local_shell_call_output']);

/** Its state is the tool's result: `completed` or `failed`. */
const PATCHED = 'apply_patch_call_output';

const ID = leftOut('id', true);
const STATE = leftOut('status', true);
const TYPE = leftOut('type', true);

/** Comes with a later answer than its program, if that has called tools of the caller's. */
export const PROGRAM_OUTPUT = 'program_output';

/** Hosted tools whose items hold an image. */
const PICTURES = new Set(['image_generation_call', 'computer_call_output']);

/**
 * Items that replace the conversation's beginning, or are instructions to the upstream. They are
 * never edited or dropped. `configuration_update` has an effort or a format for all that follows
 * (https://developers.openai.com/api/docs/guides/keep-prefix-unchanged, 2026-11).
 */
const STANDING = new Set([...COMPACTIONS, 'compaction_trigger', 'additional_tools', 'configuration_update']);

const TEXTS = new Set(['input_text', 'output_text', 'text']);

export const PARTS: PartFormat = {
  text: 'input_text',
  textOf(part) {
    const { type, text } = asObject(part);
    return TEXTS.has(asString(type)) && typeof text === 'string' ? text : undefined;
  },
  priceOf(part) {
    const { type, detail } = asObject(part);
    if (type === 'input_image') return imagePrice(detail);
    if (type === 'input_audio') return AUDIO;
    return type === 'input_file' ? FILE : 0;
  },
  inlineKind(part) {
    const { type, image_url, file_data } = asObject(part);
    if (type === 'input_image') return asString(image_url).startsWith('data:') ? 'image' : undefined;
    return type === 'input_file' && asString(file_data) !== '' ? 'file' : undefined;
  },
};

/** What the texts of a message, a result or a call are read from, and what clients leave out. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['type', 'role', 'id', 'status', 'phase', 'call_id', 'content', 'output', 'name', 'arguments', 'input'],
]);

/** Facts about an item at its place in `input` (see `MessageFacts`). */
export interface ItemFacts {
  /** Short string fields, decoded; null if the item has none of that name. */
  readonly strings: Map<string, string | null>;
  call?: ToolCall;
}

/** One of these is in every item of another type with thinking. */
const THINKING_SIGNS = [...THINKING_LISTS, '"thinking"', '"redacted_thinking"'];

/** In bytes of JSON. Names, types and ids are shorter. */
const SHORT_FIELD = 256;

export class Item {
  readonly span: JsonSpan;
  readonly type: string;
  readonly facts: ItemFacts;
  /** Whether the upstream answers this call, or it is such an answer. It alone runs programs. */
  isRun: boolean;
  private readonly body: Uint8Array;
  private weighed: Weight | undefined;
  private readHosted: { readonly output: HostedOutput | undefined } | undefined;

  constructor(body: Uint8Array, span: JsonSpan, facts: ItemFacts) {
    this.body = body;
    this.span = span;
    this.facts = facts;
    const role = this.string('role');
    this.type = this.string('type') ?? (role === undefined ? '' : 'message');
    this.isRun = this.type === 'program' || this.type === PROGRAM_OUTPUT;
  }

  /**
   * Whether it refers to an item stored upstream. In OpenAI's types the `type` of a reference may
   * be null or absent (`ResponseInputItem.ItemReference`).
   */
  get isReference(): boolean {
    if (this.type === 'item_reference') return true;
    if (this.string('type') !== undefined || this.string('id') === undefined) return false;
    return fieldOf(this.span, 'type') !== undefined || this.string('role') === undefined;
  }

  /** The role; undefined for an item that belongs to the message before it. */
  get role(): Role | undefined {
    if (this.type === 'message') return MESSAGE_ROLES.get(this.string('role') ?? '') ?? 'preamble';
    if (STANDING.has(this.type)) return 'preamble';
    if (this.answers !== undefined) return 'tool';
    return this.type === 'reasoning' || this.isCall || this.isRun ? 'assistant' : undefined;
  }

  /** Whether it is a call that needs a result. */
  get calls(): boolean {
    return this.callId !== undefined;
  }

  /**
   * The id of the call that it answers; undefined for anything but a result, and for results of
   * tools that the upstream runs.
   */
  get answers(): string | undefined {
    if (this.type === 'mcp_approval_response') return this.string('approval_request_id');
    if (!this.type.endsWith('_output') || this.isRun) return undefined;
    const id = this.string('call_id');
    if (id !== undefined) return id;
    // By the reference, a local shell's result has the call's id as its own `id`; clients send
    // either.
    if (this.type === 'local_shell_call_output') return this.string('id');
    // An output of a caller's tool without an id is still a result, one that answers no call.
    return EDITABLE_OUTPUTS.has(this.type) ? '' : undefined;
  }

  /** The kind of item by which the upstream itself may answer this call; undefined if it can't. */
  get answeredBy(): string | undefined {
    const environment = this.type === 'shell_call' ? fieldOf(this.span, 'environment') : undefined;
    const { type } = asObject(environment && jsonOf(this.body, environment));
    return type === HOSTED_SHELL ? 'shell_call_output' : undefined;
  }

  /** The id that names it where it is no call that needs a result. */
  get ownId(): string | undefined {
    return this.string(this.isRun ? 'call_id' : 'id');
  }

  private get isCall(): boolean {
    return isCallType(this.type);
  }

  private get callId(): string | undefined {
    if (!this.isCall || this.isRun) return undefined;
    return this.string(this.type === APPROVAL ? 'id' : 'call_id');
  }

  /** The call; undefined if it is none that needs a result. Decoded once. */
  get call(): ToolCall | undefined {
    return this.calls ? this.made : undefined;
  }

  /** A call of a tool that the upstream runs, with its arguments; undefined for any other item. */
  get hostedCall(): ToolCall | undefined {
    return !this.calls && ASKED.has(this.type) && this.askedSpan() ? this.made : undefined;
  }

  private get made(): ToolCall {
    const { form, member } = ASKED.get(this.type) ?? {};
    const span = this.askedSpan();
    const isText = span?.kind === 'string' || member !== undefined;
    const body = span && inputIn(this.body, span);
    const input = this.actionText() ?? body ?? '';
    this.facts.call ??= {
      id: this.callId ?? this.ownId ?? '',
      name: this.tool,
      input,
      ...(span ? form && isText && { form } : { form: 'fixed' }),
      ...(body !== undefined && body !== input && { body }),
    };
    return this.facts.call;
  }

  /** The name of a call's tool. Those that have none are OpenAI's own: `file_search`. */
  get tool(): string {
    return this.string('name') ?? this.type.replace(/_call(?:_output)?$/, '');
  }

  /** The output of one of OpenAI's own tools; undefined if there is none, or if it must stay. */
  get hosted(): HostedOutput | undefined {
    this.readHosted ??= { output: HostedOutput.read(this.body, this.type, this.span) };
    return this.readHosted.output;
  }

  /**
   * What it says, however it is written: clients may leave its id and its state out, and the type
   * of a message. What an id refers to, and what has failed, is something else.
   */
  said(): Uint8Array {
    const isNamed = this.isReference || LINKED.has(this.type);
    const left = [...MARKS, ...(isNamed ? [] : [ID]), ...(this.type === PATCHED ? [] : [STATE])];
    if (this.type === 'message') left.push(TYPE);
    return saidIn(this.body, this.span, this.contentSpan(), PARTS, left);
  }

  /** The span of what may be cleared of a call's arguments. */
  askedSpan(): JsonSpan | undefined {
    const { field = '', member } = ASKED.get(this.type) ?? {};
    if (member === undefined) return inputField(this.span, field);
    const value = fieldOf(this.span, field);
    const span = value?.kind === 'object' ? fieldOf(within(this.body, value, levels(1)), member) : undefined;
    return span?.kind === 'string' || span?.kind === 'array' ? span : undefined;
  }

  /** Puts the replacement where the arguments of a call are cleared. */
  askedSplice(removal: Removal): Splice | undefined {
    const span = this.askedSpan();
    if (!span) return undefined;
    const isList = span.kind === 'array' && ASKED.get(this.type)?.member !== undefined;
    if (!isList) return inputSplice(this.body, span, removal);
    return { start: span.start, end: span.end, with: JSON.stringify([removal.replacement]) };
  }

  /** The span of a message's content, or of an output. */
  contentSpan(): JsonSpan | undefined {
    return fieldOf(this.span, this.type.endsWith('_output') ? 'output' : 'content');
  }

  content(): Content {
    const span = this.contentSpan();
    const isResult = this.answers !== undefined || this.type.endsWith('_output');
    if (isResult && !EDITABLE_OUTPUTS.has(this.type))
      return this.hosted?.content(this.type) ?? opaque(this.weight());
    if (!span) return plain('');
    if (span.kind === 'array') return contentOfParts(this.body, span, PARTS);
    return span.kind === 'string' ? plain(jsonOf(this.body, span) as string) : opaque(this.weight());
  }

  media(): readonly InlineMedia[] {
    const span = this.contentSpan();
    return this.type === 'message' && span?.kind === 'array' ? mediaOfParts(this.body, span, PARTS) : [];
  }

  /** See `Message`. */
  opening(): string {
    return openingIn(this.body, this.contentSpan(), PARTS);
  }

  /** Thinking that a gateway has put into an item of another type. */
  thinkingInside(): Omit<Thinking, 'isAll'> | undefined {
    if (this.role !== 'assistant' || this.type === 'reasoning') return undefined;
    const json = bufferOf(this.body.subarray(this.span.start, this.span.end));
    if (!THINKING_SIGNS.some((sign) => json.includes(sign))) return undefined;
    const { content, ...fields } = asObject(jsonOf(this.body, this.span));
    const parts = asObjects(content).filter(isThinking);
    const lists = THINKING_LISTS.map((field) => fields[field]).filter(Array.isArray);
    const found = [...lists.slice(0, 1), parts].flat();
    if (found.length === 0) return undefined;
    // Fields of gateways are not counted, so they free nothing.
    return { weight: weightOfThinking(parts), bytes: jsonBytes(found), blocks: found.length };
  }

  /** What the model reads of an item that is neither a message nor an output. */
  weight(): Weight {
    const { texts, ...weight } = this.around();
    const output = this.hosted?.texts ?? [];
    return { ...weight, texts: [...texts, ...output] };
  }

  /** See `Message.beside`. Whatever is read as JSON is read as a whole, but for its media. */
  beside(): readonly string[] {
    const isListed = this.type === 'message' || EDITABLE_OUTPUTS.has(this.type);
    const isText = this.call !== undefined && this.call.body === undefined && this.call.form !== 'fixed';
    if (isListed || isText)
      return [...besideIn(this.body, this.span, SHOWN), ...besideText(this.body, this.contentSpan(), PARTS)];
    const { flat, encrypted = 0 } = this.weight();
    return flat > encrypted ? [textOf(this.body, this.span)] : [];
  }

  /** The same without the output of one of OpenAI's own tools. */
  around(): Weight {
    const { call } = this;
    if (call && call.body === undefined && call.form !== 'fixed')
      return { texts: [call.name, call.input], flat: 0 };
    if (PICTURES.has(this.type)) return { texts: [], flat: IMAGE };
    const content = this.string('encrypted_content') ?? '';
    const encrypted = Math.ceil(content.length / ENCRYPTED_CHARACTERS);
    if (this.type === 'reasoning')
      return { texts: thoughtsIn(jsonOf(this.body, this.span)), flat: encrypted, encrypted };
    const text = this.hosted?.around(this.span) ?? textOf(this.body, this.span);
    if (mayHoldMedia(text)) return this.weightWithMedia(text, content, encrypted);
    // The encrypted content occurs once in the item's JSON; it is not counted as text.
    return {
      texts: [content === '' ? text : text.replace(content, () => '')],
      flat: encrypted,
      encrypted,
    };
  }

  /** Cached, since such an item may be large and is weighed more than once. */
  private weightWithMedia(json: string, content: string, encrypted: number): Weight {
    if (!this.weighed) {
      const { texts, flat } = weightOfJson(JSON.parse(json));
      const rest = content === '' ? texts : texts.map((text) => text.replace(content, () => ''));
      this.weighed = { texts: rest, flat: flat + encrypted, encrypted };
    }
    return this.weighed;
  }

  string(key: string): string | undefined {
    const { strings } = this.facts;
    const known = strings.get(key);
    if (known !== undefined) return known ?? undefined;
    const value = fieldOf(this.span, key);
    const text = value?.kind === 'string' ? (jsonOf(this.body, value) as string) : undefined;
    if (!value || value.end - value.start <= SHORT_FIELD) strings.set(key, text ?? null);
    return text;
  }

  /** All that a call says it does, where a part of it is cleared. */
  private actionText(): string | undefined {
    const { field = '', member } = ASKED.get(this.type) ?? {};
    const value = member === undefined ? undefined : fieldOf(this.span, field);
    return value && textOf(this.body, value);
  }
}

/** The text of reasoning: its summary, and its content if it is not encrypted. */
function thoughtsIn(reasoning: unknown): string[] {
  const { summary, content } = asObject(reasoning);
  const texts = [summary, content].flatMap(asObjects).map(({ text }) => asString(text));
  return texts.filter(Boolean);
}
