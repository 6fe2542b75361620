/**
 * How much fits: the longest part of a text within so many tokens, and the most parts of a list.
 * Both look at a number of candidates that is bounded whatever the text, since each look costs a
 * count of all of it.
 */

/** No token of English or of code is longer on the average, in characters. */
const CHARACTERS_PER_TOKEN = 8;
/** A token is at least a byte, and UTF-8 has at most three for a UTF-16 code unit. */
const BYTES_PER_UNIT = 3;

/** A part that uses this share of its tokens is long enough. */
const CLOSE = 0.98;
/** So many counts are made for one text at the most. */
export const MOST_COUNTS = 12;

/**
 * The length of the longest part of a text that has at most so many tokens: exact where all of it
 * fits, else to within a few percent.
 *
 * @param longest characters of the text
 * @param tokens at least 1
 * @param count tokens of the part of that length: of the text's beginning, or of its end
 */
export function longestFitting(longest: number, tokens: number, count: (length: number) => number): number {
  let over = Math.min(longest, tokens * CHARACTERS_PER_TOKEN);
  let overTokens = count(over);
  if (overTokens <= tokens) return over;
  let fits = Math.min(over - 1, Math.floor(tokens / BYTES_PER_UNIT));
  let fitsTokens = 0;
  for (let counts = 2; counts <= MOST_COUNTS && over - fits > 1; counts++) {
    // By proportion, and each second time by halves: a text may be much denser here than there.
    const share = counts % 2 === 0 ? (tokens - fitsTokens) / (overTokens - fitsTokens) : 1 / 2;
    const length = Math.min(over - 1, fits + Math.max(1, Math.floor((over - fits) * share)));
    const counted = count(length);
    if (counted > tokens) {
      over = length;
      overTokens = counted;
    } else {
      fits = length;
      fitsTokens = counted;
      if (counted >= tokens * CLOSE) break;
    }
  }
  return fits;
}

/**
 * How many of a list's first elements fit: all of them, or the most that is found by halves.
 *
 * @param fits whether so many do; where it does for some number, it is taken to do for all that are
 *   smaller. Not asked for 0
 */
export function mostFitting(length: number, fits: (kept: number) => boolean): number {
  if (length === 0 || fits(length)) return length;
  let kept = 0;
  let over = length;
  while (over - kept > 1) {
    const middle = Math.floor((kept + over) / 2);
    if (fits(middle)) kept = middle;
    else over = middle;
  }
  return kept;
}
