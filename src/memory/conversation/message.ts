/**
 * Messages as the core sees them, independent of the wire format. `src/protocol/` makes them from
 * the caller's bytes. Members that need decoding are functions, called only for messages that are
 * counted or edited.
 */

import type { ReasoningForm } from '../models/past-reasoning.ts';

/**
 * Who speaks. `preamble` is never edited: system and developer messages anywhere, and elements of
 * unknown kinds.
 */
export type Role = 'preamble' | 'user' | 'assistant' | 'tool';

/** A call in an assistant message. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /**
   * The arguments as the model wrote them: usually a JSON object as text, but nothing guarantees
   * it.
   */
  readonly input: string;
  /**
   * What may replace the arguments: a JSON object as text, if absent; a free `text`; or nothing
   * (`fixed`).
   */
  readonly form?: 'text' | 'fixed';
  /** The part of the arguments that it replaces; absent: all of them. */
  readonly body?: string;
}

/** The calls of a message whose arguments are counted, and may be cleared, in order. */
export function inputsOf(message: Message): readonly ToolCall[] {
  return [...message.calls, ...(message.hostedCalls?.() ?? [])];
}

/**
 * What the model reads: texts to tokenize, and tokens with a flat price (images, audio, files,
 * encrypted content).
 */
export interface Weight {
  readonly texts: readonly string[];
  readonly flat: number;
  /**
   * The part of `flat` that is encrypted: the model's own reasoning, which nobody else can read.
   */
  readonly encrypted?: number;
}

/** An image, audio or file that is a part of a content. */
export interface Attachment {
  readonly kind: 'image' | 'audio' | 'file';
  /** The caller's names for it: name or title, id, address. Empty for inline data alone. */
  readonly names: readonly string[];
}

/** The content of a message, as it is stored when it is removed. */
export interface Content {
  /** The text that the ref returns. */
  readonly text: string;
  readonly type: 'text/plain; charset=utf-8' | 'application/json';
  /** Whether it is a list of parts. Absent: a text. */
  readonly isList?: true;
  readonly weight: Weight;
  /**
   * Bytes of the longest JSON string that is no longer than this content, including quotes and
   * escapes.
   */
  room(): number;
  /** The images, audio and files among its parts. Decoded on each call. Absent: none. */
  attached?(): readonly Attachment[];
  /** The kind of its element in the wire format, if upstreams may refuse that kind edited. */
  readonly item?: string;
}

/** An output of a tool that the upstream runs. It is in the answer that the tool was used for. */
export interface HostedOutput {
  readonly tool: string;
  /** The id of the element that holds it; undefined without one. */
  readonly id: string | undefined;
  content(): Content;
}

/** The reasoning of an answer, as far as the answer can do without it. */
export interface Reasoning {
  readonly form: ReasoningForm;
  readonly weight: Weight;
  /** Of its JSON. */
  readonly bytes: number;
}

/** All that a model has thought before an answer, as it is sent back. */
export interface Thinking {
  readonly weight: Weight;
  /** Of its JSON. */
  readonly bytes: number;
  /** How many blocks it has, at least one. */
  readonly blocks: number;
  /** Whether the message has nothing else. Without its thinking it leaves. */
  readonly isAll: boolean;
  /** Whether the message is sent with it, although the API leaves it out. */
  readonly stays?: boolean;
  /** Whether the message begins with it. Absent: its protocol has one place for it. */
  readonly isFirst?: boolean;
}

/** An image or file that is inline in a content part. */
export interface InlineMedia {
  readonly kind: 'image' | 'file';
  /** Index of the part. */
  readonly part: number;
  /** Its flat price. */
  readonly tokens: number;
  /** The JSON of the part. */
  readonly json: string;
  /** Like `Content.room`, for a text part in its place. */
  readonly room: number;
}

/**
 * Facts about a message at its place in an array, each computed once. They follow from the message
 * and those before it. So they hold in every array that begins with the same messages, and an
 * isolate keeps them from request to request. What edits know of a message is kept with them
 * (`RemovalFacts`, `LiteralFacts`).
 */
export interface MessageFacts {
  digest?: string;
  identity?: string;
  calls?: readonly ToolCall[];
  flatTokens?: number;
  /** Its counts, and what has counted them (see `TokenCounter`). */
  counted?: { readonly tokenizer: unknown; readonly tokens: MessageTokens };
  /** The hash of the messages up to this one (see `prefixHashes`). */
  prefixHash?: string;
  /** Likewise of `saidHashes` and of `boundHashes`. */
  saidHash?: string;
  boundHash?: string;
  /** Another hash of these messages, which names the previews of this one. */
  preview?: string;
  /** Of an answer in one message; null for one that says nothing (see `answerKey`). */
  answerKey?: string | null;
  saidKey?: string | null;
  boundKey?: string | null;
  /** Of an answer in one message: see `saidOf`. */
  spoken?: { readonly calls: string; readonly text: string };
  /** The same as a body has it, beside the words of rounds that led to it (see `outputsIn`). */
  said?: { readonly calls: string; readonly text: string };
  /** Of an answer in one message: the beginning of a hash of `spoken` (see `RequestPrefix`). */
  spokenName?: string;
  /** Of a tool output: see `contentName`. */
  outputName?: string;
  /** See `edits/purge.ts`. */
  failed?: boolean;
  written?: readonly (string | undefined)[];
  /** What it loads; empty if it loads nothing. */
  loaded?: readonly string[];
  /** Of a tool output: whether it may follow a summary again. */
  rehydrates?: boolean;
}

/** Counts of a message, as far as they were asked for. */
export interface MessageTokens {
  content?: number;
  whole?: number;
}

export interface Message {
  readonly facts: MessageFacts;
  readonly role: Role;
  /** Length of the original message in bytes of UTF-8. */
  readonly bytes: number;
  /** Hash of these bytes: equal digests mean equal messages. */
  readonly digest: string;
  /**
   * Hash of what the message says, however it is written: white space in its JSON is ignored, and
   * of an assistant message without calls only the text counts. So the hash of an answer is known
   * before its caller sends it back.
   */
  readonly identity: string;
  /** The calls of an assistant message, in order; empty for other roles. */
  readonly calls: readonly ToolCall[];
  /** The id of the call that a tool message answers. */
  readonly answers: string | undefined;
  /**
   * Whether it continues the answer of the assistant message before it, and upstreams refuse it
   * without the reasoning there.
   */
  readonly continues?: boolean;
  /**
   * Whether it is an answer of its own after the assistant message before it, which has paused. The
   * request for it ended with that message.
   */
  readonly resumes?: boolean;
  /**
   * Ids of uses of tools that the upstream runs, in an answer that ends before their results. They
   * come in a later answer. Absent: none.
   */
  readonly hostedUses?: readonly string[];
  /** Ids of such uses in earlier answers, whose results are in this one. Absent: none. */
  readonly hostedResults?: readonly string[];
  /**
   * Whether it has loaded a tool that the model can't call otherwise (`needed`), or would have if
   * the request deferred such a tool (`idle`). Undefined: it loads nothing.
   */
  readonly loads?: 'needed' | 'idle' | undefined;
  /** An upper bound of the content's flat weight. */
  readonly flatTokens: number;
  /** The content alone, without calls and names. */
  content(): Content;
  /** The content's inline media. Decoded on each call. */
  media(): readonly InlineMedia[];
  /**
   * The text at the beginning of the content: the whole string, or the first part's text; empty if
   * that part is not text.
   */
  opening(): string;
  /** What distinguishes an answer beside its calls, however it is written. Absent: its texts. */
  names?(): readonly string[];
  /** The outputs of hosted tools in an answer. Decoded on each call. Absent: none. */
  hosted?(): readonly HostedOutput[];
  /** Calls of tools that the upstream runs, which no result of the caller answers. */
  hostedCalls?(): readonly ToolCall[];
  /**
   * Texts other than the content that the model reads: names, calls, reasoning, outputs of hosted
   * tools.
   */
  otherTexts(): readonly string[];
  /**
   * What it says beside all of these, as JSON: citations, items that count as a picture, what a
   * gateway has added. Not counted, and decoded on each call. Absent: nothing.
   */
  beside?(): readonly string[];
  /**
   * The reasoning that can leave the message as a whole; undefined if there is none, or if the rest
   * can't do without it. Decoded on each call.
   */
  reasoning(): Reasoning | undefined;
  /** The thinking of an answer, in every form; undefined if there is none. Decoded on each call. */
  thinking(): Thinking | undefined;
  /**
   * Whether a mark of a prompt cache can be put after the content.
   *
   * @param isReplaced whether a text by Precis is in its place
   */
  bearsMark(isReplaced: boolean): boolean;
}

const utf8 = new TextEncoder();

/** Bytes of a value's shortest JSON. */
export function jsonBytes(value: unknown): number {
  return utf8.encode(JSON.stringify(value)).length;
}
