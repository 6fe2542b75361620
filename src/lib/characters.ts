/**
 * Cutting text without splitting a character. A character beyond U+FFFF takes two code units, a
 * surrogate pair. Half of one turns into another character in UTF-8, and upstreams refuse it in
 * JSON. Positions and lengths are in UTF-16 code units.
 */

/** The last position at or before `end` that does not split a pair. */
export function cutBefore(text: string, end: number): number {
  const inPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return inPair ? end - 1 : end;
}

/**
 * The first position at or after `start` that is not the second half of a pair, with or without its
 * first half.
 */
export function cutAfter(text: string, start: number): number {
  return isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start;
}

/** Drops half a pair that a cut left at the beginning. */
export function withoutHalfAtStart(text: string): string {
  return text.slice(cutAfter(text, 0));
}

/** Drops half a pair that a cut left at the end. */
export function withoutHalfAtEnd(text: string): string {
  return isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text;
}

/** A text of at most `most` characters; one that was cut ends with an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${withoutHalfAtEnd(text.slice(0, most - 1))}…`;
}

/** Characters of a text that are looked at for its first line. */
const LOOKED_AT = 4_000;

/** The first line with text in it, without the white space around it, shortened. */
export function firstLine(text: string, most: number): string {
  const [line = ''] = text
    .slice(0, LOOKED_AT)
    .trimStart()
    .split(/[\r\n]/, 1);
  return shortened(line.trimEnd(), most);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Whether a code unit is an ASCII letter or digit. */
export function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}
