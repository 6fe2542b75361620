/**
 * Where the pieces of a text end, before bytes are merged: words, numbers, punctuation, white
 * space.
 *
 * The rules are the regular expressions of the encodings. They take most of the time of a count (70
 * of 80 ms for 1 MB), so the rules for ASCII are here once more, over bytes. A piece that a
 * character beyond ASCII belongs to, or decides about, is left to the expression.
 */
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/** How an encoding splits a text into pieces. */
export interface Splitting {
  /** Matches one piece of any text, where it starts. */
  readonly pattern: RegExp;
  /**
   * The end of the piece of ASCII that starts at a byte, or `UNDECIDED`.
   *
   * @param bytes UTF-8 with `END` after it
   */
  asciiEnd(bytes: Uint8Array, start: number): number;
}

/** What follows a text's bytes. No character has this byte in UTF-8. */
export const END = 0xff;

/** The regular expression has to find the end of the piece. */
export const UNDECIDED = -1;

const UPPER = 1;
const LOWER = 2;
const LETTER = UPPER | LOWER;
const DIGIT = 4;
const LINE_BREAK = 8;
/** White space but line breaks. */
const BLANK = 16;
/** All other characters of ASCII. */
const MARK = 32;
/** A byte of a character beyond ASCII. */
const BEYOND = 64;

/** The class of each byte. `END` has none. */
const CLASSES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 128) return byte === END ? 0 : BEYOND;
  const character = String.fromCharCode(byte);
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[a-z]/.test(character)) return LOWER;
  if (/\d/.test(character)) return DIGIT;
  if (/[\r\n]/.test(character)) return LINE_BREAK;
  return /\s/.test(character) ? BLANK : MARK;
});

const SPACE = 32;
const APOSTROPHE = 39;
const SLASH = 47;

const LONGEST_NUMBER = 3;

/** Cased words with the contraction after them; line breaks and slashes after punctuation. */
export const O200K: Splitting = {
  pattern: sticky(O200K_TOKEN_SPLIT_REGEX),
  asciiEnd(bytes, start) {
    const first = classAt(bytes, start);
    // One blank or mark belongs to the word after it.
    const word = (first & (BLANK | MARK)) === 0 ? start : start + 1;
    const next = classAt(bytes, word);
    if ((next & LETTER) !== 0) {
      const end = endOf(LOWER, bytes, endOf(UPPER, bytes, word));
      return bytes[end] === APOSTROPHE ? contractionEnd(bytes, end) : decided(bytes, end);
    }
    if ((next & BEYOND) !== 0) return UNDECIDED;
    if ((first & DIGIT) !== 0) return numberEnd(bytes, start);
    const marks = marksEnd(bytes, start, first);
    if (marks === start) return blanksEnd(bytes, start);
    if (marks === UNDECIDED) return UNDECIDED;
    let end = marks;
    while ((classAt(bytes, end) & LINE_BREAK) !== 0 || bytes[end] === SLASH) end++;
    return end;
  },
};

/** Words of any case; contractions are pieces of their own; line breaks after punctuation. */
export const CL100K: Splitting = {
  pattern: sticky(CL100K_TOKEN_SPLIT_REGEX),
  asciiEnd(bytes, start) {
    const first = classAt(bytes, start);
    if (bytes[start] === APOSTROPHE) {
      const end = contractionEnd(bytes, start);
      if (end > start) return end;
    }
    const word = (first & (BLANK | MARK)) === 0 ? start : start + 1;
    const next = classAt(bytes, word);
    if ((next & LETTER) !== 0) return decided(bytes, endOf(LETTER, bytes, word));
    if ((next & BEYOND) !== 0) return UNDECIDED;
    if ((first & DIGIT) !== 0) return numberEnd(bytes, start);
    const marks = marksEnd(bytes, start, first);
    if (marks === UNDECIDED) return UNDECIDED;
    if (marks > start) return endOf(LINE_BREAK, bytes, marks);
    const end = endOf(BLANK | LINE_BREAK, bytes, start);
    return bytes[end] === END ? end : blanksEnd(bytes, start);
  },
};

/** Matches where the search starts, and nowhere later. */
function sticky({ source }: RegExp): RegExp {
  return new RegExp(source, 'uy');
}

function classAt(bytes: Uint8Array, at: number): number {
  return CLASSES[bytes[at] ?? END] ?? 0;
}

/** The end of a run of some classes. It may be empty. */
function endOf(classes: number, bytes: Uint8Array, start: number): number {
  let end = start;
  while ((classAt(bytes, end) & classes) !== 0) end++;
  return end;
}

/** A piece's end, unless the character after it might belong to it. */
function decided(bytes: Uint8Array, end: number): number {
  return (classAt(bytes, end) & BEYOND) === 0 ? end : UNDECIDED;
}

function numberEnd(bytes: Uint8Array, start: number): number {
  let end = start + 1;
  while (end < start + LONGEST_NUMBER && (classAt(bytes, end) & DIGIT) !== 0) end++;
  return end === start + LONGEST_NUMBER ? end : decided(bytes, end);
}

/**
 * The end of a run of marks, which a space may precede; `start` if there is none.
 *
 * @param first the class of the first byte
 */
function marksEnd(bytes: Uint8Array, start: number, first: number): number {
  const marks = bytes[start] === SPACE ? start + 1 : start;
  const class_ = marks === start ? first : classAt(bytes, marks);
  return (class_ & MARK) === 0 ? start : decided(bytes, endOf(MARK, bytes, marks));
}

/**
 * The end of a piece of white space: after the last line break of a run, or before the last blank,
 * which belongs to what follows.
 */
function blanksEnd(bytes: Uint8Array, start: number): number {
  let end = start;
  let afterBreak = UNDECIDED;
  for (let found = classAt(bytes, end); (found & (BLANK | LINE_BREAK)) !== 0; found = classAt(bytes, end)) {
    end++;
    if ((found & LINE_BREAK) !== 0) afterBreak = end;
  }
  if (decided(bytes, end) === UNDECIDED) return UNDECIDED;
  if (afterBreak !== UNDECIDED) return afterBreak;
  return bytes[end] === END || end === start + 1 ? end : end - 1;
}

/**
 * The end of a contraction: 's, 'd, 'm, 't, 'll, 've, 're in any case.
 *
 * @param at its apostrophe @returns `at` if there is none
 */
function contractionEnd(bytes: Uint8Array, at: number): number {
  const first = lowerCase(bytes, at + 1);
  if (first === S || first === D || first === M || first === T) return at + 2;
  if (first !== L && first !== V && first !== R) return at;
  return lowerCase(bytes, at + 2) === (first === L ? L : E) ? at + 3 : at;
}

/** A letter in lower case. No other byte becomes a letter. */
function lowerCase(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? END) | 0x20;
}

const [D = 0, E = 0, L = 0, M = 0, R = 0, S = 0, T = 0, V = 0] = Array.from('delmrstv', (letter) =>
  letter.charCodeAt(0),
);
