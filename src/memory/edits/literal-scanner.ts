/**
 * Literals: the parts of a text that can't be guessed again once they are gone. Ids, paths, URLs,
 * hashes, amounts, names of symbols. Found by their form alone, so that the same text always yields
 * the same list.
 *
 * A text is cut into words first, by one pass that never goes back; only short words are then tried
 * against the forms. A single expression for all forms would take the square of a long run's
 * length.
 */

/** How a text is cut into words, and which words are literals. */
export interface LiteralRules<Form> {
  /**
   * A URL, a run without white space, quotes and brackets, or what is no word: an escape in a JSON
   * string inside a text, and the name that closes an element.
   */
  readonly word: RegExp;
  /** What every form has, and few words: the others need not be tried. */
  readonly telling: RegExp;
  /** Words that a comma does not part: numbers and URLs, with the punctuation around them. */
  readonly withComma: RegExp;
  /** What is cut off around a word. A full stop stays in front of one. */
  readonly punctuation: string;
  /** Whether a line that a search has found is parted from its place, the file and the number. */
  readonly partsMatches: boolean;
  /** Characters that a literal may have. */
  readonly longest: number;
  /**
   * The first that fits is the literal's form. What may follow a repeated part can't begin it, so
   * that no form tries a word in more than a few ways.
   */
  readonly forms: readonly (readonly [form: Form, expression: RegExp])[];
}

export interface ScannedLiteral<Form> {
  readonly value: string;
  readonly form: Form;
}

/**
 * What a search writes before the line that it has found: its number; or its file, with or without
 * the number.
 */
const NUMBER_BEFORE = /^\d{1,6}:(?=\D)/;
const FILE_BEFORE = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/;

const SHORTEST = 4;

/** So many words are remembered, so that few are tried twice. */
const REMEMBERED_WORDS = 20_000;

/**
 * The literals of a text, in the order in which they stand there. One that stands there again may
 * come again, where many thousand other words stand between the two. Linear in the text's length.
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

/** A comma parts words, unless it stands in a number or a URL. */
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
  // One after another: a table without white space is a single word.
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
