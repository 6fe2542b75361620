/** The turn of a model's answer, in the form in which it is sent back. */
import type { Media } from '../held-media.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them: JSON, if the model kept to the format. */
  readonly arguments: string;
}

/** The result of a call: a text, or one with media that the protocol carries. */
export type ToolResult = string | { readonly text: string; readonly media: readonly Media[] };

export function withLine(result: ToolResult, line: string): ToolResult {
  if (typeof result === 'string') return `${result}\n${line}`;
  return { ...result, text: `${result.text}\n${line}` };
}

export function textOfResult(result: ToolResult): string {
  return typeof result === 'string' ? result : result.text;
}

/** The words of vendors and gateways for an answer that may lack its end, or was taken back. */
const CUT =
  /length|max|context|filter|safe|sensitive|error|fail|resource|abort|cancel|recit|block|prohibit|spii|malform|refus|time|limit|repet|interrupt|incomplete|trunc/i;

/**
 * Whether an answer is complete, and its calls are too, by a reason that says why it has ended. A
 * word that nobody knows says so: if calls of Precis's were not answered then, they would be
 * dropped, and the answer would be empty.
 */
export function isComplete(reason: unknown): boolean {
  return typeof reason === 'string' && reason !== '' && !CUT.test(reason);
}

/** An answer whose calls are all answered here. */
export interface ToolTurn {
  /** The messages or items to send back, with only the calls that are answered here. */
  readonly messages: readonly object[];
  /** The JSON of `messages`, separated by commas, where it is known as the upstream wrote it. */
  readonly json?: string;
  readonly calls: readonly ToolCall[];
  /** Whether the upstream says that it does not store the answer. */
  readonly isUnstored?: boolean | undefined;
  /** The id of the container in which code of the answer, or of one before it, has run. */
  readonly container?: string | undefined;
}
