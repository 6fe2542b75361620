/**
 * Literals: the parts of a text that can't be guessed, such as ids, paths, URLs, hashes, amounts
 * and symbol names. They are found by form alone, so the same text always gives the same list.
 *
 * One pass without backtracking splits the text into words, and notes which characters each one
 * holds. Few words hold what a literal must, and only these are cut out, and matched against the
 * forms that their characters allow. A single expression for all forms would be quadratic in the
 * length of a run.
 */
import { isAlphanumeric } from '../../lib/characters.ts';

/**
 * The characters that a word holds, as a set of classes in the bits of one number. Such a set is
 * gathered while the word's end is looked for, and says which forms the word can't have.
 */
type CharacterSet = number;

const LETTER: CharacterSet = 1;
/** A letter too. */
const CAPITAL: CharacterSet = 2;
const DIGIT: CharacterSet = 4;
/** Each has a class of its own. */
const MARKS = '/@_.:#-+~,$%';
const FIRST_MARK = 3;
const OTHER: CharacterSet = 1 << (FIRST_MARK + MARKS.length);
/** Ends a word. */
const WORD_END: CharacterSet = OTHER << 1;
/** Ends a URL, and any other word. */
const URL_END: CharacterSet = OTHER << 2;

/** Code units below this are of ASCII. */
const ASCII = 128;

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
function charactersIn(text: string, from: number, to: number): CharacterSet {
  let held = 0;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    held |= code < ASCII ? (CLASSES[code] ?? 0) : classOf(text.charAt(at));
  }
  return held;
}

function charactersOf(text: string): CharacterSet {
  return charactersIn(text, 0, text.length);
}

/** The classes of characters where a text is split into words. */
class WordCharacters {
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

/** How to split a text into words, and which words are literals. */
export interface LiteralRules<Form> {
  /** Characters that end a word, beside white space. */
  readonly ends: string;
  /** The ones that a URL may hold. */
  readonly inUrls: string;
  /**
   * Sticky: what is no word where one might begin: an escape in a JSON string, or the name of a
   * closing tag. It begins with `\` or `<`, which end words.
   */
  readonly noWord: RegExp;
  /** Every literal has one of these characters, or `capital`. Few other words do. */
  readonly distinctive: string;
  /** A capital within a word. */
  readonly capital: RegExp;
  /** Words that may contain commas: numbers and URLs, with the punctuation around them. */
  readonly withComma: RegExp;
  /** Characters to trim off a word. A full stop at its beginning stays. */
  readonly punctuation: string;
  /** Whether to split the place off a search result: its file and line number. */
  readonly partsMatches: boolean;
  /** Maximum length in characters. */
  readonly longest: number;
  /**
   * The first matching form counts. After a repeated part comes something that can't begin it, so
   * that no form backtracks far.
   */
  readonly forms: readonly LiteralForm<Form>[];
}

/**
 * A form of literals. The expression is only tried on words whose characters allow it. These are
 * given by examples: `a` means a letter, `A` a capital, `0` a digit.
 */
export interface LiteralForm<Form> {
  readonly form: Form;
  readonly expression: RegExp;
  /** All that a literal of this form may hold; anything, if absent. */
  readonly of?: string;
  /** What every literal of this form holds. */
  readonly has?: string;
}

/** Prefixes of a search result: a line number, or a file name with or without a line number. */
const NUMBER_BEFORE = /^\d{1,6}:(?=\D)/;
const FILE_BEFORE = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/;

const SHORTEST = 4;

/** Punctuation that belongs to the word after it: `.git`, `~/src`. */
const STAYS_BEFORE = '.~';

const COLON = charactersOf(':');
const COMMA = charactersOf(',');
/** The name of a file in a search result has one of them. */
const FILE_MARKS = charactersOf('./');
const BACKSLASH = 92;
const LESS_THAN = 60;
const SPACE = 32;
const H = 104;

/**
 * Takes a part of the text that may be a literal: its characters from `from` up to, but not
 * including, `to`.
 */
type TakePart = (from: number, to: number, characters: CharacterSet) => void;

/** A form, with what its literals may and must hold as sets. */
interface FormFilter<Form> {
  readonly form: Form;
  readonly expression: RegExp;
  readonly never: CharacterSet;
  readonly always: CharacterSet;
}

export class LiteralScanner<Form> {
  private readonly rules: LiteralRules<Form>;
  private readonly characters: WordCharacters;
  private readonly distinctive: CharacterSet;
  private readonly forms: readonly FormFilter<Form>[];

  constructor(rules: LiteralRules<Form>) {
    this.rules = rules;
    this.characters = new WordCharacters(rules.ends, rules.inUrls);
    this.distinctive = charactersOf(rules.distinctive);
    this.forms = rules.forms.map(({ form, expression, of, has = '' }) => ({
      form,
      expression,
      never: of === undefined ? 0 : ~charactersOf(of),
      always: charactersOf(has),
    }));
  }

  /** Hands over the literals of a text, in order and as often as each occurs. */
  each(text: string, take: (value: string, form: Form) => void): void {
    this.eachPart(text, (from, to, characters) => {
      const value = text.slice(from, to);
      const form = this.formOf(value, characters);
      if (form !== undefined) take(value, form);
    });
  }

  /**
   * Hands over the parts of a text that may be literals, in order: `formOf` says whether they are.
   * Linear in the text's length.
   */
  eachPart(text: string, take: TakePart): void {
    const { characters, distinctive, rules } = this;
    const { ascii } = characters;
    const { length } = text;
    for (let at = 0; at < length; at++) {
      const start = at;
      const end = text.charCodeAt(at) === H && isUrl(text, at) ? URL_END : WORD_END;
      let code = SPACE;
      let held = 0;
      for (; at < length; at++) {
        code = text.charCodeAt(at);
        const class_ = code < ASCII ? (ascii[code] ?? 0) : characters.beyondAscii(code);
        if ((class_ & end) !== 0) break;
        held |= class_;
      }
      if (at - start >= SHORTEST && (held & (distinctive | CAPITAL)) !== 0)
        if ((held & distinctive) !== 0 || rules.capital.test(text.slice(start, at)))
          this.partsOf(text, start, at, held, take);
      if (code === BACKSLASH || code === LESS_THAN) at = this.noWordEnd(text, at) - 1;
    }
  }

  /** The form of a literal; undefined for other words. */
  formOf(word: string, characters: CharacterSet): Form | undefined {
    for (const { form, expression, never, always } of this.forms)
      if ((characters & never) === 0 && (characters & always) === always && expression.test(word))
        return form;
    return undefined;
  }

  /** Trims a word, takes it out of a search result, and splits it at commas. */
  private partsOf(text: string, start: number, end: number, held: CharacterSet, take: TakePart): void {
    const { longest, partsMatches, withComma } = this.rules;
    const give = (from: number, to: number): void => {
      const length = to - from;
      if (length < SHORTEST || length > longest) return;
      take(from, to, length === end - start ? held : charactersIn(text, from, to));
    };
    const isPlaced = partsMatches && (held & COLON) !== 0;
    const from = isPlaced ? start + numberBefore(text.slice(start, end)) : start;
    const first = this.trimmedStart(text, from, end);
    const last = this.trimmedEnd(text, first, end);
    const file = isPlaced ? fileBefore(text.slice(first, Math.min(last, first + longest))) : 0;
    if (file > 0) give(first, first + file);
    else if ((held & COMMA) === 0 || withComma.test(text.slice(from, end))) give(first, last);
    else this.betweenCommas(text, first, last, give);
  }

  /** A loop, since a table without white space is a single word. */
  private betweenCommas(
    text: string,
    first: number,
    last: number,
    give: (from: number, to: number) => void,
  ): void {
    for (let at = first; at <= last; ) {
      const comma = text.indexOf(',', at);
      const to = comma < 0 || comma > last ? last : comma;
      const from = this.trimmedStart(text, at, to);
      give(from, this.trimmedEnd(text, from, to));
      at = to + 1;
    }
  }

  /** Where a word begins without the punctuation before it. */
  private trimmedStart(text: string, start: number, end: number): number {
    let at = start;
    while (at < end && this.isPunctuation(text, at) && !STAYS_BEFORE.includes(text.charAt(at))) at++;
    return at;
  }

  /** Where a word ends without the punctuation after it. */
  private trimmedEnd(text: string, start: number, end: number): number {
    let at = end;
    while (at > start && this.isPunctuation(text, at - 1)) at--;
    return at;
  }

  private isPunctuation(text: string, at: number): boolean {
    return !isAlphanumeric(text.charCodeAt(at)) && this.rules.punctuation.includes(text.charAt(at));
  }

  private noWordEnd(text: string, at: number): number {
    const { noWord } = this.rules;
    noWord.lastIndex = at;
    return noWord.test(text) ? noWord.lastIndex : at + 1;
  }
}

function isUrl(text: string, at: number): boolean {
  return text.startsWith('http://', at) || text.startsWith('https://', at);
}

/** The length of the line number before what a search has found; 0 if there is none. */
function numberBefore(word: string): number {
  return NUMBER_BEFORE.exec(word)?.[0].length ?? 0;
}

/** The length of the file's name before what a search has found; 0 if there is none. */
function fileBefore(word: string): number {
  if ((charactersIn(word, 0, word.indexOf(':')) & FILE_MARKS) === 0) return 0;
  const match = FILE_BEFORE.exec(word);
  return (match?.[1] ?? match?.[2])?.length ?? 0;
}
