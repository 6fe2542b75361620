/**
 * The literals of previews: how distinctive each is, and which to choose.
 *
 * A text of 16 MB holds millions of literals, so all functions here keep a bounded number.
 */
import { type Hashed, hashOf } from '../../lib/hash-table.ts';
import { type LiteralRules, scanLiterals } from './literal-scanner.ts';

export interface Literal extends Hashed {
  readonly text: string;
  /** How distinctive its form is: 0–1. */
  readonly weight: number;
}

/** Takes one literal. */
export type Take = (literal: Literal) => void;

/** Identifies one thing, and can't be found elsewhere. */
const NAME = 1;
/** Occurs in many texts: quantities, years, line numbers. */
const COMMON = 0.1;
/** Part of a program, which is also in its file; ranks last. */
const SYMBOL = 0.01;

/** A quantity with its unit: `1.25s`, `190kB`. */
export const MEASURE = /^\d+(?:\.\d+)?(?:[mnu]?s|[mhdx]|px|r?em|[kmgt]i?b?|b|th|st|nd|rd)$/i;

/**
 * The first matching form counts. After a repeated part comes something that can't begin it, so
 * that no form backtracks far.
 */
const FORMS: LiteralRules<number>['forms'] = [
  [NAME, /^[a-z][a-z\d+.-]{1,15}:\/\/\/?[^/]/i, '/'], // URLs
  [COMMON, /^\d{1,4}\/\d{1,4}(?:\/\d{1,4})?$/, '/'], // shares and dates, which are no paths
  [COMMON, /^[A-Za-z]*\/[A-Za-z]+\/?$/, '/'], // and/or, /word: seldom paths
  [NAME, /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?:[:#][\w.-]+)*$/, '/'], // paths, with a line or a tag behind them
  [NAME, /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/, '@'], // e-mail addresses
  [NAME, /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/], // IP addresses
  [COMMON, /^\d{4}-\d\d-\d\d(?:[T_]\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?$/], // dates and times
  [COMMON, /^[$€£¥]?\d{1,3}(?:,\d{2,3})+(?:\.\d+)?%?$|^[$€£¥]\d+(?:\.\d+)?$|^\d+(?:\.\d+)+%?$/], // amounts, versions
  [COMMON, MEASURE],
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

/** Hands over the literals of a text (see `scanLiterals`). */
export function eachLiteral(text: string, take: Take): void {
  scanLiterals(text, PREVIEW_LITERALS, (value, weight) => {
    const { low, high } = hashOf(value);
    take({ text: value, weight, low, high });
  });
}

/** In literals. An array of 1 MB has about 30 000. */
const MOST_SCANNED = 50_000;

/**
 * The literals of an array's texts, each scanned once: those of an output are needed for its own
 * preview, and for those of later ones. Bounded; beyond the bound a text is scanned again.
 */
export class ScannedLiterals {
  private readonly known = new Map<
    number,
    { readonly text: string; readonly literals: readonly Literal[] }
  >();
  private room = MOST_SCANNED;

  /** Hands over the literals of a text of a message, in order. */
  each(message: number, text: string, take: Take): void {
    const known = this.known.get(message);
    if (known?.text === text) known.literals.forEach(take);
    else this.scan(message, text, take);
  }

  private scan(message: number, text: string, take: Take): void {
    const literals: Literal[] = [];
    eachLiteral(text, (literal) => {
      if (literals.length <= this.room) literals.push(literal);
      take(literal);
    });
    if (literals.length > this.room || this.known.has(message)) return;
    this.room -= literals.length;
    this.known.set(message, { text, literals });
  }
}

/**
 * The most distinctive literals for their tokens; ties keep the order of the text.
 *
 * @param each hands over the literals
 * @param tokensOf tokens of a literal in a preview
 * @param most how many to count and return, chosen by characters, since counting is expensive
 */
export function byDistinction(
  each: (take: Take) => void,
  tokensOf: (text: string) => number,
  most: number,
): Literal[] {
  return bestFor(each, most)
    .map((literal) => ({ literal, score: literal.weight / tokensOf(literal.text) }))
    .sort(higherFirst)
    .map(({ literal }) => literal);
}

/** Sorting is stable, so ties keep their order. */
interface Scored {
  readonly literal: Literal;
  readonly score: number;
}

const higherFirst = (a: Scored, b: Scored): number => b.score - a.score;

/**
 * The best literals for their characters, without duplicates, in the order of the text. Holds at
 * most twice as many.
 */
function bestFor(each: (take: Take) => void, most: number): Literal[] {
  let byText = new Map<string, Scored>();
  // Literals that score no higher than a dropped one are ignored.
  let least = 0;
  const prune = (): void => {
    const scored = [...byText.values()].sort(higherFirst);
    least = scored[most]?.score ?? least;
    const kept = new Set(scored.slice(0, most));
    byText = new Map([...byText].filter(([, one]) => kept.has(one)));
  };
  each((literal) => {
    const score = literal.weight / (literal.text.length + 1);
    if (score <= least || byText.has(literal.text)) return;
    byText.set(literal.text, { literal, score });
    if (byText.size > 2 * most) prune();
  });
  if (byText.size > most) prune();
  return [...byText.values()].map(({ literal }) => literal);
}
