/**
 * Something that a view replaces by a placeholder.
 *
 * A removal depends only on its message and the messages before it, so it never changes. The
 * placeholder must be shorter than the original in characters, bytes and tokens. Markers that come
 * back are recognised, without I/O, by the check characters of their ref and by their call.
 */
import type { Content } from '../conversation/message.ts';
import type { RemovalFacts } from './known-removal.ts';

export interface Removal extends RemovalFacts {
  /** The removed content. Decoded on demand. */
  readonly content: () => Content;
  /** Whether a model's words stand in the placeholder. */
  readonly isDigested?: true;
}

/** Tokens that removals free together. */
export function freedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, removal) => sum + removal.freed, 0);
}
