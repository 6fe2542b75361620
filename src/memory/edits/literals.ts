/**
 * Literals: the parts of a text that can't be guessed again once they are gone. Ids, paths, URLs,
 * hashes, amounts, names of symbols. Found by their form alone, so that the same text always yields
 * the same list.
 *
 * A text is cut into words first, by one pass that never goes back; only short words are then tried
 * against the forms. A single expression for all forms would take the square of a long run's
 * length.
 *
 * A text of 16 MB holds millions of them, so none of these functions keeps more than a bounded
 * number.
 */

export interface Literal {
  readonly text: string;
  /** How much it tells, by its form: 0–1. */
  readonly weight: number;
}

/** Names one thing of the world, which nothing else gives back. */
const NAME = 1;
/** Stands in many texts: quantities, years, numbers of lines. */
const COMMON = 0.3;
/** Names a part of a program, which stands in its file too: comes last. */
const SYMBOL = 0.01;

/**
 * The first that fits. What may follow a repeated part can't begin it, so that no form tries a word
 * in more than a few ways.
 */
const FORMS: readonly (readonly [weight: number, form: RegExp])[] = [
  [NAME, /^[a-z][a-z\d+.-]{1,15}:\/\/\/?[^/]/i], // URLs
  [COMMON, /^\d{1,4}\/\d{1,4}(?:\/\d{1,4})?$/], // shares and dates, which are no paths
  [COMMON, /^[A-Za-z]*\/[A-Za-z]+\/?$/], // and/or, /word: seldom paths
  [NAME, /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?:[:#][\w.-]+)*$/], // paths, with a line or a tag behind them
  [NAME, /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/], // e-mail addresses
  [NAME, /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/], // IP addresses
  [COMMON, /^\d{4}-\d\d-\d\d(?:[T_]\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?$/], // dates and times
  [COMMON, /^[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?$|^[$€£¥]\d+(?:\.\d+)?$|^\d+(?:\.\d+)+%?$/], // amounts, versions
  [COMMON, /^\d+(?:\.\d+)?(?:[mnu]?s|[mhdx]|px|r?em|[kmgt]i?b?|b|th|st|nd|rd)$/i], // measures
  [COMMON, /^\d{1,4}(?:-[A-Za-z]+)+$/], // 24-bit
  [COMMON, /^\d{4,6}$/], // years, numbers of lines
  [NAME, /^(?=(?:-?\d){7})\d+(?:-\d+)*$/], // longer numbers
  [NAME, /^#(?:\d+|[\da-f]{6}|[\da-f]{8})$/i], // numbers that are ids, colours
  [NAME, /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])#?[A-Za-z\d]+(?:[_:#.+~@-]+[A-Za-z\d]+)*$/], // ids, hashes, UUIDs
  [SYMBOL, /^[A-Za-z\d]+(?:[_:#.]+[A-Za-z\d]+)+$/], // snake_case, a.member
  [SYMBOL, /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/], // camelCase
];

/**
 * A URL; what is no word: an escape in a JSON string inside a text, and the name that closes an
 * element; or a run without white space, quotes and brackets.
 */
const WORD =
  /https?:\/\/[^\s"'<>`()[\]{}\\|“”‘’«»│]+|\\+(?:u[\dA-Fa-f]{4}|[nrt])?|<\/[\w:.-]*|[^\s"'<>`()[\]{}\\;|=“”‘’«»│]+/g;

/** What every form has, and few words: the others need not be tried. */
const TELLING = /[\d/_.:#@]|[A-Za-z][A-Z]/;

/** Words that a comma does not part. */
const WITH_COMMA = /^[a-z][a-z\d+.-]{1,15}:\/\/|^[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?$/i;

/**
 * What a search writes before the line that it has found: its number; or its file, with or without
 * the number.
 */
const NUMBER_BEFORE = /^\d{1,6}:(?=\D)/;
const FILE_BEFORE = /^([^:]*[./][^:]*:\d+(?::\d+)?)[:-]\D|^([^:]*\/[^:/]*\.\w{1,8}):\D/;

const PUNCTUATION = '.,:;-!?*+';
const SHORTEST = 4;
const LONGEST = 120;

/** So many words are remembered, so that few are tried twice. */
const REMEMBERED_WORDS = 20_000;

/**
 * The literals of a text, in the order in which they stand there. One that stands there again may
 * come again, where many thousand other words stand between the two. Linear in the text's length.
 */
export function* literalsIn(text: string): Generator<Literal> {
  const seen = new Set<string>();
  const remember = (word: string): void => {
    if (seen.size >= REMEMBERED_WORDS) seen.clear();
    seen.add(word);
  };
  for (const [word] of text.matchAll(WORD)) {
    if (word.length < SHORTEST || seen.has(word)) continue;
    remember(word);
    if (!TELLING.test(word)) continue;
    for (const part of partsOf(word)) {
      if (part.length < SHORTEST || part.length > LONGEST) continue;
      if (part !== word && seen.has(part)) continue;
      remember(part);
      const weight = weightOf(part);
      if (weight !== undefined) yield { text: part, weight };
    }
  }
}

/**
 * Most distinctive for its length first; equals in the order in which they stand.
 *
 * @param tokensOf tokens that a literal takes where it is named
 * @param most so many are counted and returned: those that are best for their characters, since a
 *   count costs more than all else
 */
export function byDistinction(
  literals: Iterable<Literal>,
  tokensOf: (text: string) => number,
  most: number,
): Literal[] {
  return bestFor(literals, most)
    .map((literal) => ({ literal, score: literal.weight / tokensOf(literal.text) }))
    .sort(higherFirst)
    .map(({ literal }) => literal);
}

/** A literal among others. Equals stay in their order, since sorting is stable. */
interface Scored {
  readonly literal: Literal;
  readonly score: number;
}

const higherFirst = (a: Scored, b: Scored): number => b.score - a.score;

/**
 * Those that are best for their characters, each once, in the order in which they stand. Never
 * holds more than twice as many.
 */
function bestFor(literals: Iterable<Literal>, most: number): Literal[] {
  let held = new Map<string, Scored>();
  // Whatever scores no higher than one that had to go comes behind it.
  let least = 0;
  const prune = (): void => {
    const scored = [...held.values()].sort(higherFirst);
    least = scored[most]?.score ?? least;
    const kept = new Set(scored.slice(0, most));
    held = new Map([...held].filter(([, one]) => kept.has(one)));
  };
  for (const literal of literals) {
    const score = literal.weight / (literal.text.length + 1);
    if (score <= least || held.has(literal.text)) continue;
    held.set(literal.text, { literal, score });
    if (held.size > 2 * most) prune();
  }
  if (held.size > most) prune();
  return [...held.values()].map(({ literal }) => literal);
}

function weightOf(word: string): number | undefined {
  for (const [weight, form] of FORMS) if (form.test(word)) return weight;
  return undefined;
}

/** A comma parts words, unless it stands in a number or a URL. */
function* partsOf(word: string): Generator<string> {
  const whole = trimmed(word.replace(NUMBER_BEFORE, ''));
  const start = whole.slice(0, LONGEST);
  const file = FILE_BEFORE.exec(start);
  if (file) {
    yield file[1] ?? file[2] ?? '';
    return;
  }
  if (!whole.includes(',') || WITH_COMMA.test(start)) {
    yield whole;
    return;
  }
  // One after another: a table without white space is a single word.
  for (let from = 0; from <= whole.length; ) {
    const comma = whole.indexOf(',', from);
    const to = comma < 0 ? whole.length : comma;
    yield trimmed(whole.slice(from, to));
    from = to + 1;
  }
}

function trimmed(word: string): string {
  let start = 0;
  let end = word.length;
  while (end > start && PUNCTUATION.includes(word[end - 1] ?? '')) end--;
  while (start < end && PUNCTUATION.includes(word[start] ?? '') && word[start] !== '.') start++;
  return word.slice(start, end);
}
