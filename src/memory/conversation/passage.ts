/**
 * A part of a conversation as plain data, the input of a summary. It crosses isolates, so it holds
 * no functions. It holds what the model reads, so images and files are only named.
 */
import type { Attachment } from './message.ts';

export interface Entry {
  /** Its index in the caller's array. */
  readonly index: number;
  readonly role: 'user' | 'assistant' | 'tool';
  /** The text that the model reads; the texts of several parts are joined by line breaks. */
  readonly text: string;
  /** The calls of an assistant message, with arguments as the model wrote them. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  /** The images, audio and files in it that have a name, which the text has too. */
  readonly attached?: readonly Attachment[];
  /** For a tool output, the call that it answers. */
  readonly tool?: { readonly id: string; readonly name: string };
}

/** A place where a summary may end. */
export interface Boundary {
  /** Hash of exactly the messages before it (see `prefix-hash.ts`). */
  readonly prefixHash: string;
  /** The number of messages before it in the caller's array. */
  readonly end: number;
  /** The last sequence number before it (see `sequence.ts`); -1 without one. */
  readonly sequence: number;
}

/** Entries that are only summarized together, and the boundary after them. */
export interface Piece {
  readonly entries: readonly Entry[];
  readonly boundary: Boundary;
}
