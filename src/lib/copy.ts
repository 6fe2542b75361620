/**
 * Copies of texts. V8 keeps a part of a text as a pointer into the whole (from 13 characters on),
 * so a cache that holds a word of 16 MB holds the 16 MB.
 */

/**
 * An equal text with characters of its own. In front of it one more is written and cut off: that
 * makes V8 flatten, and so copy it.
 */
export function copyOf(text: string): string {
  return ` ${text}`.slice(1);
}

/**
 * An upper bound of the bytes that a text takes in memory: V8 stores one or two for each character.
 */
export function textBytes(text: string): number {
  return TEXT_HEADER + 2 * text.length;
}

const TEXT_HEADER = 16;
