/** Strings in JSON source. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

const ESCAPE = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y;

/**
 * The index after a string.
 *
 * @param start of its opening quote
 * @returns undefined if there is no valid string
 */
export function stringEnd(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < SPACE) return undefined;
    if (code !== BACKSLASH) continue;
    ESCAPE.lastIndex = at + 1;
    if (!ESCAPE.test(source)) return undefined;
    at = ESCAPE.lastIndex - 1;
  }
  return undefined;
}

/**
 * How many characters of a string's source, from its opening quote on, make its first characters.
 *
 * @param source of a valid string, with its quotes
 * @param characters decoded, at most all of them
 */
export function sourceLength(source: string, characters: number): number {
  let at = 1;
  for (let read = 0; read < characters; read++)
    at += source.charCodeAt(at) !== BACKSLASH ? 1 : source.charAt(at + 1) === 'u' ? 6 : 2;
  return at;
}
