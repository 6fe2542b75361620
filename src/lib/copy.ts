/**
 * Copies of strings. V8 keeps a substring of 13 or more characters as a pointer into its parent, so
 * a cache that holds one word of a 16 MB string would hold all of it.
 */

/** An equal string with its own memory. Concatenating makes V8 flatten, and so copy, the text. */
export function copyOf(text: string): string {
  return ` ${text}`.slice(1);
}

/** An upper bound of a string's size in memory. V8 takes one or two bytes per character. */
export function textBytes(text: string): number {
  return TEXT_HEADER + 2 * text.length;
}

const TEXT_HEADER = 16;
