/**
 * The searchable text of an archive and its queries, for SQLite's full text search
 * (https://www.sqlite.org/fts5.html).
 *
 * FTS5's tokens are runs of letters and digits. In scripts without spaces such a run would be a
 * whole sentence, so there each character becomes a token, and a word matches as a sequence of
 * characters.
 */
import { tokensOf } from './tokens.ts';

/** In characters. */
export const LONGEST_QUERY = 256;

/** Per message, in characters: at most 600 KB of UTF-8, well below the 2 MB limit of a row. */
const LONGEST_TEXT = 200_000;

const SPACELESS =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;

/** Separates tokens invisibly (zero width space). */
const SEPARATOR = '\u200b';

/** A message's text for the index, cut to the longest length. */
export function searchable(texts: readonly string[]): string {
  // Cut before separating too, so that a long text costs little.
  const text = texts.join('\n').slice(0, LONGEST_TEXT);
  return separated(text).slice(0, LONGEST_TEXT).replaceAll('\0', ' ').toWellFormed();
}

/**
 * The query for messages with all of these words, in any order. Each word is quoted, so it is no
 * operator. Parts of a word with punctuation (`src/a.ts`) must be adjacent in the message too.
 *
 * @returns an expression for MATCH; undefined without any word
 */
export function matchAll(words: string): string | undefined {
  const quoted = wordsIn(words).map(({ text }) => `"${text.replaceAll('"', '""')}"`);
  return quoted.length === 0 ? undefined : quoted.join(' ');
}

/** The tokens of each word of a query, without words of punctuation alone (see `Token.folded`). */
export function wordsOf(words: string): readonly (readonly string[])[] {
  return wordsIn(words)
    .map(({ tokens }) => tokens)
    .filter((tokens) => tokens.length > 0);
}

interface Word {
  readonly text: string;
  /** See `Token.folded`. */
  readonly tokens: readonly string[];
}

/**
 * The words of a query. One that is part of another one (`a.ts` of `src/a.ts`, `One` of `one`) is
 * left out: where the other one is, it is too. FTS5 lists each place of each word to rank a
 * message, and fails for want of memory where many words have the same places.
 */
function wordsIn(words: string): readonly Word[] {
  // A string of FTS5's query language ends at a NUL.
  const all = separated(words.toWellFormed())
    .split(/[\s\0]+/)
    .filter((text) => text !== '')
    .map((text) => ({ text, tokens: Array.from(tokensOf(text), ({ folded }) => folded) }));
  return all.filter(
    (word, index) =>
      !all.some((other, at) => {
        const isLonger = other.tokens.length > word.tokens.length;
        return (isLonger || at < index) && isPart(word.tokens, other.tokens);
      }),
  );
}

/** Whether a word's tokens are part of another one's. Nothing is part of nothing alone. */
function isPart(tokens: readonly string[], others: readonly string[]): boolean {
  if (tokens.length === 0) return others.length === 0;
  return others.some((_, at) => tokens.every((token, index) => others[at + index] === token));
}

/** A piece of searchable text for display. */
export function readable(snippet: string): string {
  return snippet.replaceAll(SEPARATOR, '');
}

/** Separates characters of these scripts, also from adjacent words of other scripts. */
function separated(text: string): string {
  return text.replace(SPACELESS, (run) => ['', ...run, ''].join(SEPARATOR));
}
