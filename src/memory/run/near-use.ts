/**
 * Near use: words that an answer takes from a tool output that it has just read. They are nowhere
 * else, so an agent whose view lacks them has to fetch them, or to call its tool again. Pure: the
 * benchmark measures recorded conversations by it, and a trial its caller's.
 *
 * Words have a form of their own. So a preview is not measured by the rule that chooses its
 * literals.
 */

/** A word that an answer takes from an output, and the message with the output. */
export interface NearWord {
  readonly value: string;
  readonly origin: number;
}

/** The messages before an answer. */
export interface MessagesBefore {
  isOutput(index: number): boolean;
  /** All text in it (see `textsOf`). */
  text(index: number): string;
}

/** An output is near if it is at most this many messages before the answer. */
export const NEAREST_MESSAGES = 11;
/** Words of one answer that are taken from one output, at most: the first ones in the answer. */
export const MOST_WORDS = 5;

const SHORTEST_WORD = 8;
/** Letters and digits, with marks between them. */
const WORD = /[\p{L}\p{N}_]+(?:[-./@]+[\p{L}\p{N}_]+)*/gu;
/** A digit, a mark, or a capital after a small letter: what nobody guesses. */
const IS_DISTINCT = /[\p{N}_./@-]|\p{Ll}\p{Lu}/u;

/**
 * The words that an answer takes from outputs, by output.
 *
 * @param written the texts of the answer: what it says, and the arguments of its calls
 * @param used its index
 */
export function nearWords(written: readonly string[], used: number, before: MessagesBefore): NearWord[] {
  const taken = new Map<number, NearWord[]>();
  for (const value of wordsOf(written)) {
    const origin = originOf(value, used, before);
    if (origin === undefined) continue;
    const words = taken.get(origin) ?? [];
    if (words.length < MOST_WORDS) taken.set(origin, [...words, { value, origin }]);
  }
  return [...taken.values()].flat();
}

/** The near output that alone holds a word before an answer. */
function originOf(value: string, used: number, before: MessagesBefore): number | undefined {
  let origin: number | undefined;
  for (let index = used - 1; index >= 0; index--) {
    // Most words are in no near output, and need no look at all the messages before.
    if (origin === undefined && used - index > NEAREST_MESSAGES) return undefined;
    if (!holds(before.text(index), value)) continue;
    if (origin !== undefined || !before.isOutput(index)) return undefined;
    origin = index;
  }
  return origin;
}

/** The distinct words of texts, in order of first occurrence. */
function wordsOf(texts: readonly string[]): Set<string> {
  const words = texts.flatMap((text) => text.match(WORD) ?? []);
  return new Set(words.filter((word) => word.length >= SHORTEST_WORD && IS_DISTINCT.test(word)));
}

/** The texts in a call's arguments, without the escapes of JSON if they are that. */
export function argumentsOf(json: unknown): string[] {
  if (typeof json !== 'string') return [];
  try {
    return leavesOf(JSON.parse(json));
  } catch {
    return [json];
  }
}

/** All strings and numbers in a value. */
export function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [`${value}`];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [];
}

/** All texts in a value, including those inside JSON texts, one per line. */
export function textsOf(value: unknown): string {
  const texts: string[] = [];
  const gather = (value: unknown): void => {
    if (typeof value === 'string') {
      texts.push(value);
      if (/^\s*[{[]/.test(value)) gatherJson(value);
    } else if (typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) {
        texts.push(key);
        gather(item);
      }
  };
  const gatherJson = (text: string): void => {
    try {
      gather(JSON.parse(text));
    } catch {
      // It only begins like JSON.
    }
  };
  gather(value);
  return texts.join('\n');
}

/** Whether a text holds a value as a separate word: `41` is not in `4711`, nor in `$1,410`. */
export function holds(text: string, value: string): boolean {
  const isWord = (character: string | undefined): boolean =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const end = at + value.length;
    const begins = isWord(value[0]) && isWord(text[at - 1]);
    const goesOn = isWord(value.at(-1)) && isWord(text[end]);
    if (!begins && !goesOn) return true;
  }
  return false;
}
