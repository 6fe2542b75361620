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
import {
  ASCII,
  CAPITAL,
  type CharacterSet,
  charactersIn,
  charactersOf,
  URL_END,
  WORD_END,
  WordCharacters,
} from './word-characters.ts';

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

/** Finds literals by rules. */
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
