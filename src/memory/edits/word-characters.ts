/**
 * The characters that a word holds, as a set of classes in the bits of one number. Such a set is
 * gathered while the word's end is looked for, and says which forms the word can't have.
 */

export type CharacterSet = number;

const LETTER: CharacterSet = 1;
/** A letter too. */
export const CAPITAL: CharacterSet = 2;
const DIGIT: CharacterSet = 4;
/** Each has a class of its own. */
const MARKS = '/@_.:#-+~,$%';
const FIRST_MARK = 3;
const OTHER: CharacterSet = 1 << (FIRST_MARK + MARKS.length);
/** Ends a word. */
export const WORD_END: CharacterSet = OTHER << 1;
/** Ends a URL, and any other word. */
export const URL_END: CharacterSet = OTHER << 2;

/** Code units below this are of ASCII. */
export const ASCII = 128;

/** The class of each code unit of ASCII. */
const CLASSES = Int32Array.from({ length: ASCII }, (_, code) => classOf(String.fromCharCode(code)));

function classOf(character: string): CharacterSet {
  if (/[a-z]/.test(character)) return LETTER;
  if (/[A-Z]/.test(character)) return LETTER | CAPITAL;
  if (/\d/.test(character)) return DIGIT;
  const mark = MARKS.indexOf(/[€£¥]/.test(character) ? '$' : character);
  return mark < 0 ? OTHER : 1 << (FIRST_MARK + mark);
}

/** The classes of the characters from `from` to `to`. Any currency counts as `$`. */
export function charactersIn(text: string, from: number, to: number): CharacterSet {
  let held = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    held |= code < ASCII ? (CLASSES[code] ?? 0) : classOf(text.charAt(at));
  }
  return held;
}

/** The classes of all characters of a text. */
export function charactersOf(text: string): CharacterSet {
  return charactersIn(text, 0, text.length);
}

/** The classes of characters where a text is split into words. */
export class WordCharacters {
  /** The class of each code unit of ASCII. */
  readonly ascii: Int32Array;
  /** The characters beyond ASCII that end a word. */
  private readonly beyond: ReadonlyMap<number, CharacterSet>;

  /**
   * @param ends characters that end a word, beside white space
   * @param inUrls the ones of them that end no URL
   */
  constructor(ends: string, inUrls: string) {
    const endOf = (character: string): CharacterSet => {
      if (!ends.includes(character) && !/\s/.test(character)) return 0;
      return inUrls.includes(character) ? WORD_END : WORD_END | URL_END;
    };
    this.ascii = CLASSES.map((class_, code) => endOf(String.fromCharCode(code)) || class_);
    this.beyond = new Map(
      [...WHITE_SPACE, ...ends].map((character) => [character.charCodeAt(0), endOf(character)]),
    );
  }

  /** The class of a code unit beyond ASCII. */
  beyondAscii(code: number): CharacterSet {
    return this.beyond.get(code) ?? classOf(String.fromCharCode(code));
  }
}

/** All that `\s` matches beyond ASCII (ECMA-262, WhiteSpace and LineTerminator). */
const WHITE_SPACE =
  '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
