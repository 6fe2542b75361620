/**
 * How much fits: the longest part of a text within a number of tokens, and the most elements of a
 * list. The number of candidates is bounded, since each one is counted as a whole.
 */
import { LARGEST_FACTOR } from '../models/facts.ts';

/** In characters. The average token of English or code is shorter. */
const CHARACTERS_PER_TOKEN = 8;
/**
 * A token is at least a byte, and a UTF-16 code unit has at most three bytes in UTF-8. A factor
 * makes more tokens of them.
 */
const BYTES_PER_UNIT = 3;

/** A part that uses this share of its tokens is good enough. */
const CLOSE = 0.98;
/** Maximum of counts for one text. The last one is only for a length that was not counted. */
export const MOST_COUNTS = 13;

/**
 * The length of the longest part of a text within a number of tokens: exact if the whole text fits,
 * otherwise within a few percent.
 *
 * @param longest characters of the text
 * @param tokens at least 1
 * @param count counts the part of a given length, at the text's beginning or its end
 */
export function longestFitting(longest: number, tokens: number, count: (length: number) => number): number {
  let over = Math.min(longest, tokens * CHARACTERS_PER_TOKEN);
  let overTokens = count(over);
  if (overTokens <= tokens) return over;
  let fits = Math.min(over - 1, Math.floor(tokens / BYTES_PER_UNIT));
  let fitsTokens = 0;
  for (let counts = 2; counts < MOST_COUNTS && over - fits > 1; counts++) {
    // Alternate interpolation and bisection, since density may vary within a text.
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
  const isCounted = fitsTokens > 0 || fits === 0;
  return isCounted || count(fits) <= tokens ? fits : Math.floor(fits / LARGEST_FACTOR);
}

/**
 * How many of a list's first elements fit, by binary search.
 *
 * @param fits whether a number of elements fits. If it does, smaller numbers are assumed to fit
 *   too. Never called with 0
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
