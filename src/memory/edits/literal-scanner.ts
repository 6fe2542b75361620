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
   * A URL; a run without white space, quotes and brackets; or something that is no word, such as an
   * escape in a JSON string or the name of a closing tag.
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
  readonly forms: readonly (readonly [form: Form, expression: RegExp])[];
}

export interface ScannedLiteral<Form> {
  readonly value: string;
  readonly form: Form;
}

/** Prefixes of a search result: a line number, or a file name with or without a line number. */
const NUMBER_BEFORE = /^\d{1,6}:(?=\D)/;
const FILE_BEFORE = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/;

const SHORTEST = 4;

/** Words remembered to avoid matching them twice. */
const REMEMBERED_WORDS = 20_000;

/**
 * The literals of a text, in order. A repeated literal may come again, after many thousand other
 * words. Linear in the text's length.
 */
export function* scanLiterals<Form>(
  text: string,
  rules: LiteralRules<Form>,
): Generator<ScannedLiteral<Form>> {
  const seen = new Set<string>();
  const remember = (word: string): void => {
    if (seen.size >= REMEMBERED_WORDS) seen.clear();
    seen.add(word);
  };
  for (const [word] of text.matchAll(rules.word)) {
    if (word.length < SHORTEST || seen.has(word)) continue;
    remember(word);
    if (!rules.telling.test(word)) continue;
    for (const value of partsOf(word, rules)) {
      if (value.length < SHORTEST || value.length > rules.longest) continue;
      if (value !== word && seen.has(value)) continue;
      remember(value);
      const fitting = rules.forms.find(([, expression]) => expression.test(value));
      if (fitting) yield { value, form: fitting[0] };
    }
  }
}

/** Splits at commas, except in numbers and URLs. */
function* partsOf<Form>(word: string, rules: LiteralRules<Form>): Generator<string> {
  const { partsMatches, punctuation, withComma, longest } = rules;
  const match = partsMatches ? word.replace(NUMBER_BEFORE, '') : word;
  const whole = trimmed(match, punctuation);
  const file = partsMatches ? FILE_BEFORE.exec(whole.slice(0, longest)) : null;
  if (file) {
    yield file[1] ?? file[2] ?? '';
    return;
  }
  if (!whole.includes(',') || withComma.test(match)) {
    yield whole;
    return;
  }
  // A loop, since a table without white space is a single word.
  for (let from = 0; from <= whole.length; ) {
    const comma = whole.indexOf(',', from);
    const to = comma < 0 ? whole.length : comma;
    yield trimmed(whole.slice(from, to), punctuation);
    from = to + 1;
  }
}

function trimmed(word: string, punctuation: string): string {
  const goes = (at: number): boolean => punctuation.includes(word.charAt(at));
  let start = 0;
  let end = word.length;
  while (end > start && goes(end - 1)) end--;
  while (start < end && goes(start) && word[start] !== '.' && word[start] !== '~') start++;
  return word.slice(start, end);
}
