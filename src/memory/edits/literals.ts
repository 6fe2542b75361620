/**
 * The literals of previews: how distinctive each is, and which to choose.
 *
 * A text of 16 MB holds millions of literals, so all functions here keep a bounded number.
 */
import { type Hashed, hashOf } from '../../lib/hash-table.ts';
import { type LiteralForm, type LiteralRules, LiteralScanner } from './literal-scanner.ts';

export interface Literal extends Hashed {
  readonly text: string;
  /** How distinctive its form is: 0–1. */
  readonly weight: number;
}

export type Take = (literal: Literal) => void;

/** Identifies one thing, and can't be found elsewhere. */
const NAME = 1;
/** Occurs in many texts: quantities, years, line numbers. */
const COMMON = 0.1;
/** Part of a program, which is also in its file; ranks last. */
const SYMBOL = 0.01;

/** A quantity with its unit: `1.25s`, `190kB`. */
export const MEASURE = /^\d+(?:\.\d+)?(?:[mnu]?s|[mhdx]|px|r?em|[kmgt]i?b?|b|th|st|nd|rd)$/i;

/** See `LiteralRules`. */
const FORMS: readonly LiteralForm<number>[] = [
  // URLs
  { form: NAME, expression: /^[a-z][a-z\d+.-]{1,15}:\/\/\/?[^/]/i, has: 'a:/' },
  // Shares and dates, which are no paths
  { form: COMMON, expression: /^\d{1,4}\/\d{1,4}(?:\/\d{1,4})?$/, of: '0/', has: '0/' },
  // and/or, /word: seldom paths
  { form: COMMON, expression: /^[A-Za-z]*\/[A-Za-z]+\/?$/, of: 'A/', has: 'a/' },
  // Paths, with a line or a tag after them
  {
    form: NAME,
    expression: /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?:[:#][\w.-]+)*$/,
    of: 'A0_@.~+:-/#',
    has: '/',
  },
  // E-mail addresses
  { form: NAME, expression: /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/, of: 'A0_.+-@', has: '@.' },
  // IP addresses
  { form: NAME, expression: /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/, of: '0.:', has: '0.' },
  // Dates and times
  {
    form: COMMON,
    expression: /^\d{4}-\d\d-\d\d(?:[T_]\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?$/,
    of: 'A0-_:.+',
    has: '0-',
  },
  // Amounts, versions
  {
    form: COMMON,
    expression: /^[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?$|^[$€£¥]\d+(?:\.\d+)?$|^\d+(?:\.\d+)+%?$/,
    of: '$0,.%',
    has: '0',
  },
  { form: COMMON, expression: MEASURE, of: 'A0.', has: 'a0' },
  // 24-bit
  { form: COMMON, expression: /^\d{1,4}(?:-[A-Za-z]+)+$/, of: 'A0-', has: 'a0-' },
  // Years, numbers of lines
  { form: COMMON, expression: /^\d{4,6}$/, of: '0', has: '0' },
  // Longer numbers
  { form: NAME, expression: /^(?=(?:-?\d){7})\d+(?:-\d+)*$/, of: '0-', has: '0' },
  // Numbers that are ids, colors
  { form: NAME, expression: /^#(?:\d+|[\da-f]{6}|[\da-f]{8})$/i, of: 'A0#', has: '#' },
  // Ids, hashes, UUIDs
  {
    form: NAME,
    expression: /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])#?[A-Za-z\d]+(?:[_:#.+~@-]+[A-Za-z\d]+)*$/,
    of: 'A0_:#.+~@-',
    has: 'a0',
  },
  // snake_case, a.member
  { form: SYMBOL, expression: /^[A-Za-z\d]+(?:[_:#.]+[A-Za-z\d]+)+$/, of: 'A0_:#.' },
  // camelCase
  { form: SYMBOL, expression: /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/, of: 'A0', has: 'A' },
];

/** The literals of a preview. */
export const PREVIEW_LITERALS: LiteralRules<number> = {
  ends: '"\'<>`()[]{}\\;|=“”‘’«»│',
  inUrls: ';=',
  noWord: /\\+(?:u[\dA-Fa-f]{4}|[nrt])?|<\/[\w:.-]*/y,
  distinctive: '0/_.:#@',
  capital: /[A-Za-z][A-Z]/,
  withComma:
    /^[,:;\-!?*+]*(?:[a-z][a-z\d+.-]{1,15}:\/\/|[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?[.,:;\-!?*+]*$)/i,
  punctuation: '.,:;-!?*+',
  partsMatches: true,
  longest: 120,
  forms: FORMS,
};

const scanner = new LiteralScanner(PREVIEW_LITERALS);

/**
 * Hands over the literals of a text, in order and as often as each occurs.
 *
 * @param isKnown whether to leave a literal out, by its hash. Words that it knows are not matched
 */
export function eachLiteral(
  text: string,
  take: Take,
  isKnown: (literal: Hashed) => boolean = () => false,
): void {
  scanner.eachPart(text, (from, to, characters) => {
    const hash = hashOf(text, from, to);
    if (isKnown(hash)) return;
    const word = text.slice(from, to);
    const weight = scanner.formOf(word, characters);
    if (weight !== undefined) take({ text: word, weight, low: hash.low, high: hash.high });
  });
}

/** A literal with its tokens in a preview. */
interface CountedLiteral {
  readonly text: string;
  readonly tokens: number;
}

/**
 * The most distinctive literals for their tokens; ties keep the order of the text. Lighter
 * literals are counted only when one of them may come next, since counting is expensive.
 *
 * @param each hands over the literals
 * @param tokensOf tokens of a literal in a preview, at least 1
 * @param most how many to count and return at most, chosen by characters
 */
export function* byDistinction(
  each: (take: Take) => void,
  tokensOf: (text: string) => number,
  most: number,
): Generator<CountedLiteral> {
  const best = bestFor(each, most);
  const weights = [...new Set(best.map(({ literal }) => literal.weight))].sort((a, b) => b - a);
  let counted: (CountedLiteral & Placed)[] = [];
  for (const [index, weight] of weights.entries()) {
    for (const { literal, place } of best) {
      if (literal.weight !== weight) continue;
      const tokens = tokensOf(literal.text);
      counted.push({ text: literal.text, tokens, score: weight / tokens, place });
    }
    counted.sort((a, b) => higherFirst(a, b) || a.place - b.place);
    // A literal with a single token has its weight as its score.
    const lighter = weights[index + 1] ?? 0;
    const lower = counted.findIndex(({ score }) => score <= lighter);
    const first = lower < 0 ? counted.length : lower;
    yield* counted.slice(0, first);
    counted = counted.slice(first);
  }
}

interface Placed {
  readonly score: number;
  /** In the order of the text. */
  readonly place: number;
}

interface Candidate extends Placed {
  readonly literal: Literal;
}

const higherFirst = (a: Placed, b: Placed): number => b.score - a.score;

/** The best literals for their characters, without duplicates. Holds at most twice as many. */
function bestFor(each: (take: Take) => void, most: number): Candidate[] {
  const best: Candidate[] = [];
  const held = new Set<string>();
  let places = 0;
  // Literals that score no higher than a dropped one are ignored.
  let least = 0;
  const prune = (): void => {
    best.sort(higherFirst);
    least = best[most]?.score ?? least;
    for (const { literal } of best.splice(most)) held.delete(literal.text);
  };
  each((literal) => {
    const score = literal.weight / (literal.text.length + 1);
    if (score <= least || held.has(literal.text)) return;
    held.add(literal.text);
    best.push({ literal, score, place: places++ });
    if (best.length > 2 * most) prune();
  });
  if (best.length > most) prune();
  return best;
}
