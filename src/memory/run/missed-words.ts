/**
 * What the view of an observed request would have lacked: near use of the answer that its caller
 * has got for the whole array (docs/answers-and-errors.md#what-is-missed). The array of the next
 * request has that answer, with its calls, in any protocol. Pure.
 */
import { inputsOf, type Message } from '../conversation/message.ts';
import type { View } from '../plan/view.ts';
import { argumentsOf, nearWords, textsOf } from './near-use.ts';

/** Of one answer. */
export interface MissedWords {
  /** Words that it takes from outputs that the model had just read. */
  readonly words: number;
  /** Those that were not in the view, and would have to be fetched. */
  readonly missed: number;
}

/**
 * Characters that are searched at most, counted for each word and message: 25 to 40 ms. A long
 * answer to large outputs would take many seconds.
 */
const MOST_READ = 64 * 1024 * 1024;

/**
 * The newest answer of an array, under the view of its request. That view is the beginning of this
 * array's, as long as the frontier has not moved since; otherwise it is not known.
 *
 * @param view of the whole array; undefined: it is unchanged
 * @param movedAt how many messages the array had when the frontier last moved; undefined: not known
 * @returns undefined where it is not known, or would take too long
 */
export function missedWords(
  messages: readonly Message[],
  view: View | undefined,
  movedAt: number | undefined,
): MissedWords | undefined {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  // Several messages may be one answer.
  const used = messages.findLastIndex(({ role }, at) => at < last && role !== 'assistant') + 1;
  if (last < 0 || movedAt === undefined || movedAt > used) return undefined;
  const texts = new Map<number, string>();
  let read = 0;
  const text = (index: number): string => {
    const known = texts.get(index) ?? textIn(messages[index]);
    texts.set(index, known);
    read += known.length;
    return read > MOST_READ ? '' : known;
  };
  const isOutput = (index: number): boolean => messages[index]?.role === 'tool';
  const written = messages.slice(used, last + 1).flatMap(writtenIn);
  const words = nearWords(written, used, { isOutput, text });
  if (read > MOST_READ) return undefined;
  const missed = words.filter(({ value, origin }) => !isShown(value, origin, view));
  return { words: words.length, missed: missed.length };
}

function isShown(word: string, origin: number, view: View | undefined): boolean {
  if (!view) return true;
  if (view.summary?.block.includes(word)) return true;
  if (view.dropped.has(origin)) return false;
  const outputs = view.removals.get(origin)?.filter(({ kind }) => kind === 'output') ?? [];
  return outputs.length === 0 || outputs.some(({ replacement }) => replacement.includes(word));
}

/** What an answer says itself: its text, and the arguments of its calls. */
function writtenIn(message: Message): string[] {
  const { text, type } = message.content();
  const said = type === 'application/json' ? argumentsOf(text) : [text];
  return [...said, ...inputsOf(message).flatMap(({ input }) => argumentsOf(input))];
}

function textIn(message: Message | undefined): string {
  return message ? textsOf([message.content().text, ...message.otherTexts()]) : '';
}
