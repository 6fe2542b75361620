/**
 * A part of a conversation as plain data: what a summary is made of. It crosses isolates, so it
 * holds no functions; and it holds what the model reads, so images and files are only mentioned.
 */

/** One message. */
export interface Entry {
  /** Where it stands in the caller's array. */
  readonly index: number;
  readonly role: 'user' | 'assistant' | 'tool';
  /** What the model reads of it; for content of several parts, their texts one below the other. */
  readonly text: string;
  /** The calls of an assistant message, arguments as the model wrote them. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  /** Of a tool output: the call that it answers. */
  readonly tool?: { readonly id: string; readonly name: string };
}

/** A place up to which a summary may reach. */
export interface Boundary {
  /** Names exactly the messages before it (see `prefix-hash.ts`). */
  readonly prefixHash: string;
  /** How many messages of the caller's array stand before it. */
  readonly end: number;
  /** The last sequence number before it (see `sequence.ts`); -1 when there is none. */
  readonly sequence: number;
}

/** Entries that are summarised together or not at all, and the boundary behind them. */
export interface Piece {
  readonly entries: readonly Entry[];
  readonly boundary: Boundary;
}
