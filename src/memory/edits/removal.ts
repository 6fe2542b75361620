/** One thing that a view leaves out and names by a placeholder. */
import type { Content } from '../conversation/message.ts';
import type { MarkerReason } from './placeholder.ts';

export interface Removal {
  /** `part`: an image or a file among the parts of a message's content. */
  readonly kind: 'output' | 'input' | 'part';
  readonly reason: MarkerReason;
  /** Index of the message that is edited. */
  readonly message: number;
  /** For an input: which of the message's calls; for a part: which of its parts. */
  readonly call: number;
  /** The tool's name and the call's id, as the caller wrote them. */
  readonly tool: string;
  readonly callId: string;
  /** The ref under which the content is kept; absent when nothing is kept. */
  readonly ref?: string;
  /** What is removed. Decoded when it is asked for. */
  readonly content: () => Content;
  /** Size of what is removed. */
  readonly tokens: number;
  readonly bytes: number;
  /**
   * What stands in its place: the text of a tool output or of a part, or the arguments of a call.
   */
  readonly replacement: string;
  /** Tokens that the replacement saves; more than 0. */
  readonly freed: number;
}
