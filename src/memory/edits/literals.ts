/**
 * The literals of previews: how much each tells, and which tell most.
 *
 * A text of 16 MB holds millions of them, so none of these functions keeps more than a bounded
 * number.
 */
import { type LiteralRules, scanLiterals } from './literal-scanner.ts';

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

/** The literals of a preview. */
const PREVIEW_LITERALS: LiteralRules<number> = {
  word: /https?:\/\/[^\s"'<>`()[\]{}\\|“”‘’«»│]+|\\+(?:u[\dA-Fa-f]{4}|[nrt])?|<\/[\w:.-]*|[^\s"'<>`()[\]{}\\;|=“”‘’«»│]+/g,
  telling: /[\d/_.:#@]|[A-Za-z][A-Z]/,
  withComma:
    /^[,:;\-!?*+]*(?:[a-z][a-z\d+.-]{1,15}:\/\/|[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?[.,:;\-!?*+]*$)/i,
  punctuation: '.,:;-!?*+',
  partsMatches: true,
  longest: 120,
  forms: FORMS,
};

/**
 * The literals of a text, in the order in which they stand there. One that stands there again may
 * come again, where many thousand other words stand between the two. Linear in the text's length.
 */
export function* literalsIn(text: string): Generator<Literal> {
  for (const { value, form } of scanLiterals(text, PREVIEW_LITERALS)) yield { text: value, weight: form };
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
