/**
 * What the core knows of a message, whatever wire it came on. `src/protocol/` makes these from the
 * caller's bytes; whatever costs decoding is a function, called only for messages that are counted
 * or edited.
 */

/**
 * Who speaks. `preamble` is whatever is never edited: system and developer messages wherever they
 * stand, and elements of a kind that Precis does not know.
 */
export type Role = 'preamble' | 'user' | 'assistant' | 'tool';

/** A call that an assistant message makes. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /**
   * The arguments as the model wrote them: usually the text of a JSON object, but nothing
   * guarantees it.
   */
  readonly input: string;
}

/**
 * What the model reads: texts to be tokenised, and tokens that have a flat price (images, audio,
 * files, what is encrypted).
 */
export interface Weight {
  readonly texts: readonly string[];
  readonly flat: number;
  /**
   * How many of the flat ones are encrypted: the model's own thoughts, which nobody else can read.
   */
  readonly encrypted?: number;
}

/** The content of a tool output, as it is kept when it is removed. */
export interface Content {
  /** The bytes that a ref gives back, as text. */
  readonly text: string;
  readonly type: 'text/plain; charset=utf-8' | 'application/json';
  readonly weight: Weight;
  /**
   * Bytes of the longest JSON string that takes no more room than this content does, escapes and
   * quotes included.
   */
  room(): number;
}

/** An image or a file that a message holds inline, as one of the parts of its content. */
export interface InlineMedia {
  readonly kind: 'image' | 'file';
  /** Which of the parts. */
  readonly part: number;
  /** Its flat price. */
  readonly tokens: number;
  /** The part as it stands there. */
  readonly json: string;
  /** See `Content.room`, for a part of text in its place. */
  readonly room: number;
}

export interface Message {
  readonly role: Role;
  /** Length of the message as it came, in bytes of UTF-8. */
  readonly bytes: number;
  /** Names exactly these bytes: equal digests, equal messages. */
  readonly digest: string;
  /**
   * Names what the message says, whoever writes it down: white space between the tokens of its JSON
   * makes no difference, nor does anything beside the text of an assistant message that calls
   * nothing. So the hash of an answer is known before its caller sends it back.
   */
  readonly identity: string;
  /** The calls of an assistant message, in their order; empty for every other role. */
  readonly calls: readonly ToolCall[];
  /** The id of the call that a tool message answers. */
  readonly answers: string | undefined;
  /** An upper bound of the flat part of the content's weight. */
  readonly flatTokens: number;
  /** The content alone, without calls and names. */
  content(): Content;
  /** What the content holds inline. Decoded when it is asked for. */
  media(): readonly InlineMedia[];
  /**
   * The text that the content begins with: of a string all of it, of parts the first one's; empty
   * when that is none.
   */
  opening(): string;
  /** The texts beside the content that the model reads: names, calls, reasoning. */
  beside(): readonly string[];
}

const utf8 = new TextEncoder();

/** Bytes of a value as the shortest JSON that says it. */
export function jsonBytes(value: unknown): number {
  return utf8.encode(JSON.stringify(value)).length;
}
