/**
 * What is searched in an archive, and how a caller asks for it, in terms of SQLite's full text
 * search (https://www.sqlite.org/fts5.html).
 *
 * Its tokens are runs of letters and digits. In scripts that put no space between words such a run
 * is a whole sentence, so there each character is made a token of its own, and a word is found as
 * the characters that follow each other.
 */

/** Of a query, in characters. */
export const LONGEST_QUERY = 256;

/**
 * Of one message, in characters: at most 600 KB of UTF-8, well under what a row may have (2 MB).
 */
const LONGEST_TEXT = 200_000;

const SPACELESS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;

/** Parts tokens, and is not seen (zero width space). */
const SEPARATOR = '\u200b';

/** Stands before a word that was found. No searchable text holds it. */
export const MARK = '\u0002';

/** The text of a message as it is searched, from its beginning on as much as is kept. */
export function searchable(texts: readonly string[]): string {
  // What is cut off behind this would be cut off anyway.
  const text = texts.join('\n').slice(0, LONGEST_TEXT);
  return separated(text).slice(0, LONGEST_TEXT).replaceAll('\0', ' ').replaceAll(MARK, ' ').toWellFormed();
}

/**
 * The query for messages that hold all of these words, in any order. Each word is a string of the
 * query language, so that none of its operators is one; what stands between two signs in a word
 * (`src/a.ts`) must follow each other in the message too.
 *
 * @returns an expression for MATCH; undefined when there is no word
 */
export function matchAll(words: string): string | undefined {
  // A string of SQLite's query language ends at a NUL.
  const quoted = separated(words.toWellFormed())
    .split(/[\s\0]+/)
    .filter((word) => word !== '')
    .map((word) => `"${word.replaceAll('"', '""')}"`);
  return quoted.length === 0 ? undefined : quoted.join(' ');
}

/** A piece of a searchable text as it is shown. */
export function readable(snippet: string): string {
  return snippet.replaceAll(SEPARATOR, '');
}

/**
 * A word of another script may stand right beside such characters, so they are parted from it too.
 */
function separated(text: string): string {
  return text.replace(SPACELESS, (run) => ['', ...run, ''].join(SEPARATOR));
}
