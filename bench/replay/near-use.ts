/**
 * Near use: words that an answer takes from a tool output that it has just read. They are nowhere
 * else, so an agent whose view lacks them has to fetch them, or to call its tool again.
 *
 * Words have a form of the benchmark's own. So a preview is not measured by the rule that chooses
 * its literals.
 */
import { holds, type ReuseTrace, textsOf } from '../reuse.ts';

type Messages = ReuseTrace['messages'];

/** A word that an answer takes from an output. */
export interface NearUse {
  readonly value: string;
  /** The assistant message that writes it. The request before it needed it. */
  readonly used: number;
  /** The message with the output. */
  readonly origin: number;
  /** Whether the output has more than `LARGE_OUTPUT` characters. */
  readonly large: boolean;
}

/** An output is near if it is at most this many messages before the answer. */
export const NEAREST_MESSAGES = 11;
/** Words of one answer that are taken from one output, at most: the first ones in the answer. */
export const MOST_WORDS = 5;
/** In characters. */
export const LARGE_OUTPUT = 28_000;

const SHORTEST_WORD = 8;
/** Letters and digits, with marks between them. */
const WORD = /[\p{L}\p{N}_]+(?:[-./@]+[\p{L}\p{N}_]+)*/gu;
/** A digit, a mark, or a capital after a small letter: what nobody guesses. */
const IS_DISTINCT = /[\p{N}_./@-]|\p{Ll}\p{Lu}/u;

/**
 * The near use in a conversation, in order.
 *
 * @param texts all text of each message (see `textsOf`)
 */
export function nearUseIn(messages: Messages, texts: readonly string[]): NearUse[] {
  return messages.flatMap((message, used) => {
    if (message.role !== 'assistant') return [];
    const words = wordsOf(textsWritten(message));
    const taken = new Map<number, NearUse[]>();
    for (const value of words) {
      const origin = originOf(value, used, messages, texts);
      if (origin === undefined) continue;
      const uses = taken.get(origin) ?? [];
      if (uses.length === MOST_WORDS) continue;
      const large = lengthOf(messages[origin]?.content) > LARGE_OUTPUT;
      taken.set(origin, [...uses, { value, used, origin, large }]);
    }
    return [...taken.values()].flat();
  });
}

/** The near output that alone holds a word before an answer. */
function originOf(
  value: string,
  used: number,
  messages: Messages,
  texts: readonly string[],
): number | undefined {
  const isHeld = (index: number): boolean => holds(texts[index] ?? '', value);
  let origin: number | undefined;
  for (let index = used - 1; index >= 0; index--) {
    // Most words are in no near output, and need no look at all the messages before.
    if (origin === undefined && used - index > NEAREST_MESSAGES) return undefined;
    if (!isHeld(index)) continue;
    if (origin !== undefined || messages[index]?.role !== 'tool') return undefined;
    origin = index;
  }
  return origin;
}

/** The distinct words of texts, in order of first occurrence. */
function wordsOf(texts: readonly string[]): Set<string> {
  const words = texts.flatMap((text) => text.match(WORD) ?? []);
  return new Set(words.filter((word) => word.length >= SHORTEST_WORD && IS_DISTINCT.test(word)));
}

/** What an assistant message says itself: its text, and the arguments of its calls. */
function textsWritten({ content, tool_calls }: Messages[number]): string[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return [...leavesOf(content), ...calls.flatMap((call) => argumentsOf(call?.function?.arguments))];
}

/** The texts in a call's arguments, without the escapes of JSON if they are that. */
function argumentsOf(json: unknown): string[] {
  if (typeof json !== 'string') return [];
  try {
    return leavesOf(JSON.parse(json));
  } catch {
    return [json];
  }
}

/** All strings and numbers in a value. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [`${value}`];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [];
}

function lengthOf(content: unknown): number {
  return typeof content === 'string' ? content.length : textsOf(content ?? '').length;
}
