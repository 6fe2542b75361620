/**
 * Something that a view replaces by a placeholder.
 *
 * A removal depends only on its message and the messages before it, so it never changes. The
 * placeholder must be shorter than the original in characters, bytes and tokens. Markers that come
 * back are recognized, without I/O, by the check characters of their ref and by their call.
 */
import type { RemovalKind, RemovalReason } from './fates.ts';

/** The place for a digest of an output (see `output-digest.ts`). */
interface DigestPlace {
  /** The marker's line, which is above it. */
  readonly line: string;
  /** Size of the output in characters, and bytes of JSON (`Content.room`). */
  readonly length: number;
  readonly room: number;
  /** The most tokens that the view may have less there than `freed` counts. */
  readonly unused: number;
}

/** It does not hold the removed content (see `contentOf`), so it keeps no array alive. */
export interface Removal {
  readonly kind: RemovalKind;
  readonly reason: RemovalReason;
  /** Index of the edited message. */
  readonly message: number;
  /** Index of the call, the part or the hosted output; otherwise -1. */
  readonly call: number;
  /** The tool's name and the call's id, as the caller wrote them. */
  readonly tool: string;
  readonly callId: string;
  /** The ref under which the content is stored; absent if it is not. */
  readonly ref?: string;
  /** See `Content`. */
  readonly item?: string;
  /** Size of the removed content. */
  readonly tokens: number;
  readonly bytes: number;
  /** The text of a tool output or a part, or the arguments of a call. Empty for reasoning. */
  readonly replacement: string;
  /**
   * Tokens that the replacement saves; more than 0. With a place for a digest, what the longest of
   * both saves, until the view decides.
   */
  readonly freed: number;
  /** Where a digest may be instead of the preview. */
  readonly digest?: DigestPlace;
  /** Of reasoning: whether the message has nothing else, and leaves with it. */
  readonly isAll?: true;
  /** Whether a model's words are in the placeholder. */
  readonly isDigested?: true;
}

/** Of removals, the tokens counted for digests that may not come. */
export function unusedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, { digest }) => sum + (digest?.unused ?? 0), 0);
}

/** Tokens that removals free together. */
export function freedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, removal) => sum + removal.freed, 0);
}
