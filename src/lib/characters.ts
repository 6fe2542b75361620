/**
 * Where a text can be cut. A character beyond U+FFFF takes two code units, a surrogate pair; half
 * of one is no text: it becomes another character in UTF-8, and upstreams refuse it in JSON.
 * Positions and lengths are in UTF-16 code units.
 */

/** The last position up to `end` at which a cut parts no pair. */
export function cutBefore(text: string, end: number): number {
  const inPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return inPair ? end - 1 : end;
}

/**
 * The first position from `start` on at which no second half of a pair stands, be it one without
 * its first half.
 */
export function cutAfter(text: string, start: number): number {
  return isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start;
}

/** What stood behind a cut, without the half of a pair that the cut has left at its beginning. */
export function withoutHalfAtStart(text: string): string {
  return text.slice(cutAfter(text, 0));
}

/** What stood before a cut, without the half of a pair that the cut has left at its end. */
export function withoutHalfAtEnd(text: string): string {
  return isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
