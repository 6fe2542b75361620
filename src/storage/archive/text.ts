/**
 * The searchable text of an archive and its queries, for SQLite's full text search
 * (https://www.sqlite.org/fts5.html).
 *
 * FTS5's tokens are runs of letters and digits. In scripts without spaces such a run would be a
 * whole sentence, so there each character becomes a token, and a word matches as a sequence of
 * characters.
 */

/** In characters. */
export const LONGEST_QUERY = 256;

/** Per message, in characters: at most 600 KB of UTF-8, well below the 2 MB limit of a row. */
const LONGEST_TEXT = 200_000;

const SPACELESS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;

/** Separates tokens invisibly (zero width space). */
const SEPARATOR = '\u200b';

/** Marks matching words. No searchable text contains it. */
export const MARK = '\u0002';

/** A message's text for the index, cut to the longest length. */
export function searchable(texts: readonly string[]): string {
  // Cut before separating too, so that a long text costs little.
  const text = texts.join('\n').slice(0, LONGEST_TEXT);
  return separated(text).slice(0, LONGEST_TEXT).replaceAll('\0', ' ').replaceAll(MARK, ' ').toWellFormed();
}

/**
 * The query for messages with all of these words, in any order. Each word is quoted, so it is no
 * operator. Parts of a word with punctuation (`src/a.ts`) must be adjacent in the message too.
 *
 * @returns an expression for MATCH; undefined without any word
 */
export function matchAll(words: string): string | undefined {
  // A string of FTS5's query language ends at a NUL.
  const quoted = separated(words.toWellFormed())
    .split(/[\s\0]+/)
    .filter((word) => word !== '')
    .map((word) => `"${word.replaceAll('"', '""')}"`);
  return quoted.length === 0 ? undefined : quoted.join(' ');
}

/** A piece of searchable text for display. */
export function readable(snippet: string): string {
  return snippet.replaceAll(SEPARATOR, '');
}

/** Separates characters of these scripts, also from adjacent words of other scripts. */
function separated(text: string): string {
  return text.replace(SPACELESS, (run) => ['', ...run, ''].join(SEPARATOR));
}
