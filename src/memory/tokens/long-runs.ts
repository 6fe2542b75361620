/**
 * Runs without a break, such as a line of dashes or a long word. The tokenizer is quadratic in
 * their length.
 */

/** Longer runs are found, in characters. Words of natural languages are shorter. */
export const LONGEST_RUN = 128;

/** The classes whose runs the tokenizer's expressions match as one piece. */
const CLASSES = ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]', '[\\r\\n/]'];

const LONG_RUN = new RegExp(CLASSES.map((run) => `${run}{${LONGEST_RUN + 1},}`).join('|'), 'gu');

/** For each code unit of ASCII, one bit for each of its classes. */
const CLASSES_OF = Uint8Array.from({ length: 128 }, (_, code) =>
  CLASSES.reduce(
    (bits, run, index) => bits | (new RegExp(run, 'u').test(String.fromCharCode(code)) ? 1 << index : 0),
    0,
  ),
);
const ALL_CLASSES = 2 ** CLASSES.length - 1;

/** The runs of a text that are longer than `LONGEST_RUN`, in order. */
export function longRunsIn(text: string): Iterable<RegExpExecArray> {
  return mayHoldLongRun(text) ? text.matchAll(LONG_RUN) : [];
}

/**
 * Whether a text may hold a long run. False is certain, true is not. A long run covers one of the
 * places that are as far apart as it is at least long, so only the runs around these are looked at.
 */
function mayHoldLongRun(text: string): boolean {
  for (let place = LONGEST_RUN; place < text.length; place += LONGEST_RUN)
    for (let classes = classesOf(text, place); classes !== 0; classes &= classes - 1)
      if (isLongAround(text, place, classes & -classes)) return true;
  return false;
}

/** @param bit of a class that the character at the place belongs to */
function isLongAround(text: string, place: number, bit: number): boolean {
  let first = place;
  let end = place + 1;
  while (first > 0 && (classesOf(text, first - 1) & bit) !== 0) first--;
  while (end < text.length && end - first <= LONGEST_RUN && (classesOf(text, end) & bit) !== 0) end++;
  return end - first > LONGEST_RUN;
}

/** Beyond ASCII, a character may belong to any class. */
function classesOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < CLASSES_OF.length ? (CLASSES_OF[code] ?? 0) : ALL_CLASSES;
}
