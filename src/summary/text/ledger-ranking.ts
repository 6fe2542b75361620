/** Which literals a ledger names first: those that the work likely needs again. */

import type { Entry } from '../../memory/conversation/passage.ts';
import { type Form, literalsOf, MOST_LITERALS_READ, stringsIn, type Word } from './ledger-literals.ts';

/**
 * The literals of entries: the likeliest to be needed again first, ties in the order of their first
 * occurrence.
 *
 * @param priorLines of the ledger before them, whose literals are candidates too
 */
export function rankedLiterals(entries: readonly Entry[], priorLines: readonly string[]): string[] {
  return collectCandidates(entries, priorLines)
    .map((candidate) => ({ value: candidate.value, score: scoreOf(candidate, entries.length) }))
    .sort((a, b) => b.score - a.score)
    .map(({ value }) => value);
}

interface LiteralCandidate {
  readonly value: string;
  readonly form: Form;
  /** The number of texts with it, and whether one of them is a user's or a call's. */
  texts: number;
  user: boolean;
  called: boolean;
  /** Whether it was a whole argument of a call: an agent looks that up again. */
  argument: boolean;
  /** The fewest literals of its form in a text with it, including itself. */
  crowd: number;
  /** The smallest share of a text's literals before it: 0–1. */
  depth: number;
  /** The position of the first entry with it; 0 if it comes from the prior ledger. */
  readonly first: number;
  /** Its place among the prior ledger's literals, from 1; 0 if it is not there. */
  prior: number;
}

function collectCandidates(entries: readonly Entry[], priorLines: readonly string[]): LiteralCandidate[] {
  const candidates = new Map<string, LiteralCandidate>();
  const candidateOf = ({ value, form }: Word, first: number): LiteralCandidate => {
    const known = candidates.get(value);
    if (known) return known;
    const fresh = {
      value,
      form,
      texts: 0,
      user: false,
      called: false,
      argument: false,
      crowd: Infinity,
      depth: 1,
      first,
      prior: 0,
    };
    if (candidates.size < MOST_LITERALS_READ) candidates.set(value, fresh);
    return fresh;
  };
  const read = (text: string, at: number, mark?: 'user' | 'called'): void => {
    const words = literalsOf(text);
    const wholes = mark === 'called' ? stringsIn(text) : undefined;
    const crowds = new Map<Form, number>();
    for (const { form } of words) crowds.set(form, (crowds.get(form) ?? 0) + 1);
    for (const [index, word] of words.entries()) {
      const candidate = candidateOf(word, at);
      candidate.texts++;
      if (mark) candidate[mark] = true;
      if (wholes?.has(word.value)) candidate.argument = true;
      candidate.crowd = Math.min(candidate.crowd, crowds.get(word.form) ?? 1);
      candidate.depth = Math.min(candidate.depth, index / words.length);
    }
  };
  let place = 0;
  for (const word of priorLines.flatMap(literalsOf)) candidateOf(word, 0).prior ||= ++place;
  for (const [at, { role, text, calls }] of entries.entries()) {
    read(text, at, role === 'user' ? 'user' : undefined);
    for (const { input } of calls) read(input, at, 'called');
  }
  return [...candidates.values()];
}

/**
 * How likely the work needs a literal of a form again, as log-odds, all else being equal. Names of
 * things come before symbols of programs, which can be found again in their files. The weights were
 * fitted by hand to values that recorded agents wrote again after a long time. Each kind of agent
 * was checked against weights fitted without it.
 */
const FORM_WEIGHTS: Readonly<Record<Form, number>> = {
  path: 2.5,
  id: 2,
  uuid: 1.5,
  email: 1.5,
  url: 1,
  hash: 0.5,
  number: 0,
  measure: 0,
  constant: 0,
  amount: -0.5,
  named: -1,
  dotted: -1,
  snake: -1,
  camel: -1,
};
const USER_WEIGHT = 1;
const CALLED_WEIGHT = 0.2;
const ARGUMENT_WEIGHT = 1;
/** For each doubling of the texts with it. */
const TEXTS_WEIGHT = 0.4;
/** For each doubling of `crowd`, up to a limit. */
const CROWD_WEIGHT = -0.3;
const LARGEST_CROWD = 1024;
/** From the beginning of a text to its end: the important things come first. */
const DEPTH_WEIGHT = -0.8;
/** From the first entry to the last: the first ones state the task. */
const FIRST_WEIGHT = -0.7;
/** For each doubling of its characters: two short literals take the room of a long one. */
const LENGTH_WEIGHT = -0.5;
/**
 * A literal of the prior ledger was chosen from more entries than these. Less for a later place
 * there.
 */
const PRIOR_WEIGHT = 1.5;
const PRIOR_STEP = -0.01;

function scoreOf(candidate: LiteralCandidate, entries: number): number {
  const { value, form, texts, user, called, argument, crowd, depth, first, prior } = candidate;
  // Without an occurrence in these entries, assume the best: alone, and at the beginning.
  const seen = texts > 0;
  return (
    FORM_WEIGHTS[form] +
    (user ? USER_WEIGHT : 0) +
    (called ? CALLED_WEIGHT : 0) +
    (argument ? ARGUMENT_WEIGHT : 0) +
    TEXTS_WEIGHT * Math.log2(Math.max(1, texts)) +
    CROWD_WEIGHT * (seen ? Math.log2(Math.min(crowd, LARGEST_CROWD)) : 0) +
    DEPTH_WEIGHT * (seen ? depth : 0) +
    FIRST_WEIGHT * ((first + 1) / (entries + 1)) +
    LENGTH_WEIGHT * Math.log2(value.length) +
    (prior > 0 ? PRIOR_WEIGHT + PRIOR_STEP * prior : 0)
  );
}
