/**
 * Literals: the parts of a text that can't be guessed, such as ids, paths, URLs, hashes, amounts
 * and symbol names. They are found by form alone, so the same text always gives the same list.
 *
 * The text is split into words in one pass without backtracking, and only short words are matched
 * against the forms. A single expression for all forms would be quadratic in the length of a run.
 */

/** How to split a text into words, and which words are literals. */
export interface LiteralRules<Form> {
  /**
   * Global: a URL; a run without white space, quotes and brackets; or something that is no word,
   * such as an escape in a JSON string or the name of a closing tag.
   */
  readonly word: RegExp;
  /** All literals match this, and few other words do. */
  readonly telling: RegExp;
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

/** With a text that every literal of the form has, which is looked for first. */
type LiteralForm<Form> = readonly [form: Form, expression: RegExp, has?: string];

/** Prefixes of a search result: a line number, or a file name with or without a line number. */
const NUMBER_BEFORE = /^\d{1,6}:(?=\D)/;
const FILE_BEFORE = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/;

const SHORTEST = 4;

/** Words remembered to avoid matching them twice. */
const REMEMBERED_WORDS = 20_000;

/** In characters. All words of a piece are in memory at once. */
const PIECE = 64 * 1024;

/** Takes one literal. */
export type TakeLiteral<Form> = (value: string, form: Form) => void;

/**
 * Hands over the literals of a text, in order. A repeated literal may come again, after many
 * thousand other words. Linear in the text's length.
 */
export function scanLiterals<Form>(text: string, rules: LiteralRules<Form>, take: TakeLiteral<Form>): void {
  const seen = new Set<string>();
  const remember = (word: string): void => {
    if (seen.size >= REMEMBERED_WORDS) seen.clear();
    seen.add(word);
  };
  const match = (value: string, word: string): void => {
    if (value.length < SHORTEST || value.length > rules.longest) return;
    if (value !== word && seen.has(value)) return;
    remember(value);
    for (const [form, expression, has] of rules.forms)
      if ((has === undefined || value.includes(has)) && expression.test(value)) {
        take(value, form);
        return;
      }
  };
  for (let from = 0; from < text.length; ) {
    const to = pieceEnd(text, from);
    for (const word of text.slice(from, to).match(rules.word) ?? []) {
      if (word.length < SHORTEST || !rules.telling.test(word) || seen.has(word)) continue;
      remember(word);
      eachPart(word, rules, match);
    }
    from = to;
  }
}

/** The end of a piece that cuts no word. */
function pieceEnd(text: string, from: number): number {
  const enough = from + PIECE;
  if (enough >= text.length) return text.length;
  const line = text.lastIndexOf('\n', enough);
  if (line > from) return line;
  const gap = /\s/g;
  gap.lastIndex = enough;
  return gap.exec(text)?.index ?? text.length;
}

/** Splits at commas, except in numbers and URLs. */
function eachPart<Form>(
  word: string,
  { partsMatches, punctuation, withComma, longest }: LiteralRules<Form>,
  match: (part: string, word: string) => void,
): void {
  const isPlaced = partsMatches && word.includes(':');
  const rest = isPlaced ? word.replace(NUMBER_BEFORE, '') : word;
  const whole = trimmed(rest, punctuation);
  const file = isPlaced ? FILE_BEFORE.exec(whole.slice(0, longest)) : null;
  if (file || !whole.includes(',') || withComma.test(rest)) {
    match(file?.[1] ?? file?.[2] ?? whole, word);
    return;
  }
  // A loop, since a table without white space is a single word.
  for (let from = 0; from <= whole.length; ) {
    const comma = whole.indexOf(',', from);
    const to = comma < 0 ? whole.length : comma;
    match(trimmed(whole.slice(from, to), punctuation), word);
    from = to + 1;
  }
}

function trimmed(word: string, punctuation: string): string {
  // Most words have none.
  if (isAlphanumeric(word.charCodeAt(0)) && isAlphanumeric(word.charCodeAt(word.length - 1))) return word;
  const goes = (at: number): boolean => punctuation.includes(word.charAt(at));
  let start = 0;
  let end = word.length;
  while (end > start && goes(end - 1)) end--;
  while (start < end && goes(start) && word[start] !== '.' && word[start] !== '~') start++;
  return word.slice(start, end);
}

/** @param code of an ASCII letter or digit */
function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}
