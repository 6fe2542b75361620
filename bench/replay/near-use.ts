/** The near use in recorded conversations (see `src/memory/run/near-use.ts`). */
import { argumentsOf, leavesOf, type NearWord, nearWords, textsOf } from '../../src/memory/run/near-use.ts';
import type { ReuseTrace } from '../reuse.ts';

type Messages = ReuseTrace['messages'];

/** A word that an answer takes from an output. */
export interface NearUse extends NearWord {
  /** The assistant message that writes it. The request before it needed it. */
  readonly used: number;
  /** Whether the output has more than `LARGE_OUTPUT` characters. */
  readonly large: boolean;
}

/** In characters. */
export const LARGE_OUTPUT = 28_000;

/**
 * The near use in a conversation, in order.
 *
 * @param texts all text of each message (see `textsOf`)
 */
export function nearUseIn(messages: Messages, texts: readonly string[]): NearUse[] {
  const before = {
    isOutput: (index: number) => messages[index]?.role === 'tool',
    text: (index: number) => texts[index] ?? '',
  };
  return messages.flatMap((message, used) => {
    if (message.role !== 'assistant') return [];
    const words = nearWords(textsWritten(message), used, before);
    return words.map(({ value, origin }) => {
      const large = lengthOf(messages[origin]?.content) > LARGE_OUTPUT;
      return { value, used, origin, large };
    });
  });
}

/** What an assistant message says itself: its text, and the arguments of its calls. */
function textsWritten({ content, tool_calls }: Messages[number]): string[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return [...leavesOf(content), ...calls.flatMap((call) => argumentsOf(call?.function?.arguments))];
}

function lengthOf(content: unknown): number {
  return typeof content === 'string' ? content.length : textsOf(content ?? '').length;
}
