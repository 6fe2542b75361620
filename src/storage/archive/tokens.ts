/**
 * The tokens of texts and of searches, the same as the index has (`unicode61 remove_diacritics 2`,
 * https://www.sqlite.org/fts5.html#unicode61_tokenizer). Pure.
 *
 * Tokens that are equal there are equal here, so that a search knows which of its words are the
 * same. In rare cases tokens are equal here alone, such as those that differ in a symbol that is
 * newer than SQLite's tables.
 */

/** A token of a text: where it begins, and where the text goes on. In characters. */
interface Token {
  readonly start: number;
  readonly end: number;
  /** Without case and diacritics. */
  readonly folded: string;
}

/** Marks that belong to the token before them. Other marks end it. */
const MARKS =
  '\\u0300-\\u0304\\u0306-\\u030c\\u030f\\u0311\\u031b\\u0323-\\u0328\\u032d\\u032e\\u0330\\u0331';

/** Letters of today that were marks when SQLite's tables were made, and what is no character. */
const NO_LETTERS = '\\u19b0-\\u19c0\\u19c8\\u19c9\\u1cf2\\u1cf3\\ufffe\\uffff';

/** What is not assigned belongs to a token too. */
const TOKEN = new RegExp(
  `(?![${NO_LETTERS}])[\\p{L}\\p{N}\\p{Co}\\p{Cn}](?:(?![${NO_LETTERS}])[\\p{L}\\p{N}\\p{Co}\\p{Cn}${MARKS}])*`,
  'gu',
);

const IS_ASCII = /^[\0-\x7f]*$/;
const IS_LATIN = /^\p{Script=Latin}/u;
const IS_MARK = new RegExp(`^[${MARKS}]$`);

/** The tokens of a text, in order. */
export function* tokensOf(text: string): Generator<Token> {
  const letters = new Map<string, string>();
  for (const { 0: token, index } of text.matchAll(TOKEN))
    yield { start: index, end: index + token.length, folded: folded(token, letters) };
}

/** @param letters those that are known, without case and diacritics */
function folded(token: string, letters: Map<string, string>): string {
  if (IS_ASCII.test(token)) return token.toLowerCase();
  let whole = '';
  for (const letter of token) {
    let known = letters.get(letter);
    if (known === undefined) {
      known = foldedLetter(letter);
      letters.set(letter, known);
    }
    whole += known;
  }
  return whole;
}

/** One at a time, since SQLite's tables have no context: a final sigma is a sigma. */
function foldedLetter(letter: string): string {
  if (IS_MARK.test(letter)) return '';
  const [base = ''] = letter.normalize('NFD');
  const chosen = IS_LATIN.test(base) ? base : letter;
  const upper = unlessLonger(chosen.toUpperCase(), chosen);
  return unlessLonger(upper.toLowerCase(), upper);
}

/** Another case of a letter, but not one of several letters. */
function unlessLonger(changed: string, letter: string): string {
  return changed.length === letter.length ? changed : letter;
}
