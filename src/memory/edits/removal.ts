/** Something that a view replaces by a placeholder. */
import type { Content } from '../conversation/message.ts';
import type { MarkerReason } from './placeholder.ts';

export interface Removal {
  /** `part`: an image or file in a part of a message's content. */
  readonly kind: 'output' | 'input' | 'part';
  readonly reason: MarkerReason;
  /** Index of the edited message. */
  readonly message: number;
  /** Index of the call for an input, or of the part for a part; otherwise -1. */
  readonly call: number;
  /** The tool's name and the call's id, as the caller wrote them. */
  readonly tool: string;
  readonly callId: string;
  /** The ref under which the content is stored; absent if it is not. */
  readonly ref?: string;
  /** The removed content. Decoded on demand. */
  readonly content: () => Content;
  /** Size of the removed content. */
  readonly tokens: number;
  readonly bytes: number;
  /** The text of a tool output or a part, or the arguments of a call. */
  readonly replacement: string;
  /** Tokens that the replacement saves; more than 0. */
  readonly freed: number;
}

/** Tokens that removals free together. */
export function freedBy(removals: readonly Removal[]): number {
  return removals.reduce((sum, removal) => sum + removal.freed, 0);
}
