/**
 * Texts in blocks for the tokenizer: they bound the memory of a count, and the length of a regular
 * expression's match.
 *
 * A block ends where no token can cross, if there is such a place in its second half. Then its
 * tokens are the whole text's.
 */
import { cutAfter, isAlphanumeric } from '../../lib/characters.ts';

/** In characters. */
const BLOCK_LENGTH = 4_096;

/** The blocks of a text in order. */
export function* blocksOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = blockEnd(text, start);
    yield text.slice(start, end);
    start = end;
  }
}

function blockEnd(text: string, start: number): number {
  const longest = start + BLOCK_LENGTH;
  if (longest >= text.length) return text.length;
  for (let end = longest; end > start + BLOCK_LENGTH / 2; end--) if (isBreak(text, end)) return end;
  // Encoded data and scripts without spaces: a cut costs a token or two anywhere.
  return cutAfter(text, longest);
}

const LINE_BREAK = 10;
const SPACE = 32;
const APOSTROPHE = 39;
const SLASH = 47;

/**
 * Whether both encodings start a new token here: at a single space, which belongs to the word after
 * it; after the last line break before a word; or at a punctuation mark after a word or number.
 * Line breaks belong to the text before them, and slashes to the line break.
 */
function isBreak(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const code = text.charCodeAt(at);
  if (before === LINE_BREAK) return code > SPACE && code !== SLASH;
  if (code === SPACE) return before > SPACE && text.charCodeAt(at + 1) > SPACE;
  // An apostrophe may belong to the word: "don't".
  return isAlphanumeric(before) && code > SPACE && code < 127 && code !== APOSTROPHE && !isAlphanumeric(code);
}
