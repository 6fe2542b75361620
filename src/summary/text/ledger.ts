/**
 * The ledger: facts that a model's summary loses first. It has literals (ids, paths, URLs, hashes,
 * amounts, named numbers) in the order of how likely the work needs them again. The trajectory
 * follows, one line per turn: the tools called, and the refs of their outputs. Code makes it, so
 * the same messages give the same ledger.
 *
 * ## Ledger ORD-4711, src/pay/charge.ts, total=41, https://shop.test/o/7
 * - from 12: search ×4, get_order; refs ref_…
 */

import type { Entry } from '../../memory/conversation/passage.ts';
import { type LiteralRules, scanLiterals } from '../../memory/edits/literal-scanner.ts';
import { MEASURE } from '../../memory/edits/literals.ts';
import { mostFitting } from '../../memory/tokens/fitting.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import { LEDGER_HEADING, neutralize } from './headings.ts';

/** The facts for a ledger, as plain data. */
export interface LedgerFacts {
  /** The likeliest to be needed again first. */
  readonly literals: readonly string[];
  /** The lines of the trajectory, oldest first. */
  readonly turns: readonly string[];
}

export interface LedgerRoom {
  /** The most tokens of the whole ledger. */
  readonly maxTokens: number;
  readonly counter: TokenCounter;
  /** The text before the ledger. Its literals are not repeated. */
  readonly alreadyIn: string;
  readonly includeTrajectory: boolean;
}

const TURN_START = '- from ';

/** Literals kept, more than any ledger has room for. */
const MOST_LITERALS = 1_500;
const MOST_TURNS = 200;
/** Distinct literals that are weighed. A longer table has no lines that matter by themselves. */
const MOST_CANDIDATES = 100_000;

/**
 * The facts of entries.
 *
 * @param priorLedger the ledger of the summary before them, whose facts are candidates too
 */
export function collectLedger(entries: readonly Entry[], priorLedger = ''): LedgerFacts {
  const priorLines = priorLedger.split('\n').map((line) => line.trim());
  const candidates = collectCandidates(
    entries,
    priorLines.filter((line) => !line.startsWith(TURN_START)),
  );
  return {
    literals: ranked(candidates, entries.length).slice(0, MOST_LITERALS),
    turns: [...priorLines.filter((line) => line.startsWith(TURN_START)), ...turnLines(entries)].slice(
      -MOST_TURNS,
    ),
  };
}

/* ---------------------------------------------------------------- literals */

/** The form of a literal. */
export type Form =
  | 'url'
  | 'uuid'
  | 'email'
  | 'hash'
  | 'amount'
  | 'path'
  | 'number'
  | 'measure'
  | 'id'
  | 'constant'
  | 'snake'
  | 'dotted'
  | 'camel'
  | 'named';

/** The first matching form counts. */
const FORMS: readonly (readonly [Form, RegExp])[] = [
  ['url', /^[a-z][a-z+]{1,9}:\/\/[^/]./],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-/i],
  ['email', /^[\w.+-]+@[\w-]+\.[\w.-]+$/],
  ['hash', /^(?=[a-f]*\d)(?=\d*[a-f])[a-f\d]{7,64}$/i],
  ['amount', /^[$€£¥]\d[\d,]*(?:\.\d+)?$|^\d[\d,]*\.\d+$|^\d{1,3}(?:,\d{3})+$/],
  ['path', /^[\w@.~+:-]*(?:\/[\w@.+-]+)+\/?(?::\d+)*(?::[\w.-]+)?$/],
  ['number', /^\d{4,}$/],
  ['measure', MEASURE],
  ['id', /^(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[#@]?[A-Za-z\d]+(?:[_:#.+~-]+[A-Za-z\d]+)*$/],
  ['constant', /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/],
  ['snake', /^[A-Za-z\d]+(?:_+[A-Za-z\d]+)+$/],
  ['dotted', /^\.?[A-Za-z\d]+(?:[_:#.-]+[A-Za-z\d]+)*(?:[:#.][A-Za-z\d]+)(?:[_:#.-]+[A-Za-z\d]+)*$/],
  ['camel', /^[A-Za-z][a-z\d]*(?:[A-Z]+[a-z\d]+)+$/],
];

/**
 * How a ledger finds literals. It knows fewer quotes and escapes than previews do, and no search
 * results. The weights below were fitted to words split in this way.
 */
const LEDGER_LITERALS: LiteralRules<Form> = {
  word: /https?:\/\/[^\s"'<>`()[\]{}\\]+|\\+[nrt]?|<\/[^\s"'<>`()[\]{}\\;|=]*|[^\s"'<>`()[\]{}\\;|=]+/g,
  telling: /[\d/_.:#@]|[a-z][A-Z]/,
  withComma: /^[$€£¥]?\d|:\/\//,
  punctuation: '.,:;-!?*+~',
  partsMatches: false,
  longest: 160,
  forms: FORMS,
};

/** A name with a number: `total=41`, `"port": 8080`. */
const NAMED =
  /(?<![\w.-])([A-Za-z_][\w-]{1,40})\\*["']?[ \t]?[:=][ \t]?\\*["']?([$€£¥]?-?\d[\d.,]{0,20})(?![\w/:-])/g;

/** A literal, and its occurrences. */
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
    if (candidates.size < MOST_CANDIDATES) candidates.set(value, fresh);
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

/** A literal with its form. */
interface Word {
  readonly value: string;
  readonly form: Form;
}

/** The distinct literals of a text, in order; of too many, the first. */
export function literalsOf(text: string): Word[] {
  const found = new Map<string, Word>();
  const add = (value: string, form: Form): void => {
    if (found.size < MOST_CANDIDATES && !found.has(value)) found.set(value, { value, form });
  };
  scanLiterals(text, LEDGER_LITERALS, add);
  for (const [, name = '', digits = ''] of text.matchAll(NAMED))
    add(`${name}=${digits.replace(/[.,]+$/, '')}`, 'named');
  return [...found.values()];
}

/** The strings of a call's JSON that can be literals. Other inputs may have none. */
function stringsIn(input: string): ReadonlySet<string> {
  const strings = new Set<string>();
  let start = input.indexOf('"') + 1;
  while (start > 0 && strings.size < MOST_CANDIDATES) {
    const end = closingQuote(input, start);
    if (end < 0) break;
    if (end - start <= LEDGER_LITERALS.longest) strings.add(input.slice(start, end));
    start = input.indexOf('"', end + 1) + 1;
  }
  return strings;
}

/** The quote that ends a string in JSON; -1 if none does. @param start after its first quote */
function closingQuote(json: string, start: number): number {
  let at = json.indexOf('"', start);
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json[first - 1] === '\\') first--;
  return (at - first) % 2 === 1;
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

/** The likeliest to be needed again first; ties in the order of their first occurrence. */
function ranked(candidates: readonly LiteralCandidate[], entries: number): string[] {
  return candidates
    .map((candidate) => ({ value: candidate.value, score: scoreOf(candidate, entries) }))
    .sort((a, b) => b.score - a.score)
    .map(({ value }) => value);
}

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

/* -------------------------------------------------------------- trajectory */

const REF = /\bref_[a-z2-7]{26}\b/g;
const REFS_PER_TURN = 6;
const TOOLS_PER_TURN = 12;
const LONGEST_NAME = 48;

/** One line per turn: the tools called, how often, and the latest refs in it. */
function turnLines(entries: readonly Entry[]): string[] {
  const lines: string[] = [];
  let tools = new Map<string, number>();
  let refs = new Set<string>();
  let start: number | undefined;
  const close = (): void => {
    if (start !== undefined && tools.size > 0) lines.push(writeTurn(start, tools, refs));
    tools = new Map();
    refs = new Set();
  };
  for (const entry of entries) {
    if (entry.role === 'user' || start === undefined) {
      close();
      start = entry.index;
    }
    for (const { name } of entry.calls) {
      const label = name.replace(/\s+/g, ' ').slice(0, LONGEST_NAME);
      tools.set(label, (tools.get(label) ?? 0) + 1);
    }
    for (const text of [entry.text, ...entry.calls.map((call) => call.input)])
      if (/⟦(?:removed:|condensed JSON;)/.test(text)) for (const [ref] of text.matchAll(REF)) refs.add(ref);
  }
  close();
  return lines;
}

function writeTurn(start: number, tools: ReadonlyMap<string, number>, refs: ReadonlySet<string>): string {
  const names = [...tools].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  const more = names.length > TOOLS_PER_TURN ? ` and ${names.length - TOOLS_PER_TURN} more` : '';
  const kept = [...refs].slice(-REFS_PER_TURN);
  const where = kept.length > 0 ? `; refs ${kept.join(' ')}` : '';
  return `${TURN_START}${start}: ${names.slice(0, TOOLS_PER_TURN).join(', ')}${more}${where}`;
}

/* ----------------------------------------------------------------- writing */

/** The trajectory's largest share of a ledger. The latest turns come first. */
const TRAJECTORY_SHARE = 1 / 4;

/** The ledger as text, with its heading; empty if nothing fits. */
export function writeLedger(facts: LedgerFacts, room: LedgerRoom): string {
  const { maxTokens, counter, alreadyIn, includeTrajectory } = room;
  let left = maxTokens - counter.marker(`${LEDGER_HEADING}\n`);
  if (left <= 0) return '';
  const turns: string[] = [];
  if (includeTrajectory) {
    let share = Math.floor(left * TRAJECTORY_SHARE);
    for (const line of facts.turns.toReversed()) {
      const text = neutralize(line);
      const cost = counter.text(`\n${text}`);
      if (cost > share) break;
      share -= cost;
      left -= cost;
      turns.unshift(text);
    }
  }
  const literals: string[] = [];
  let written = alreadyIn;
  for (const value of facts.literals) {
    if (left < 2) break;
    const literal = neutralize(value);
    if (written.includes(literal)) continue;
    const cost = counter.text(`, ${literal}`);
    if (cost > left) continue;
    left -= cost;
    literals.push(literal);
    written += `\n${literal}`;
  }
  return assemble(literals, turns, maxTokens, counter);
}

/**
 * Tokens of parts need not add up to those of the whole, so the least important literals are
 * dropped until the whole fits.
 */
function assemble(
  literals: readonly string[],
  turns: readonly string[],
  maxTokens: number,
  counter: TokenCounter,
): string {
  const textOf = (kept: number): string => {
    const lines = [...(kept > 0 ? [literals.slice(0, kept).join(', ')] : []), ...turns];
    return lines.length === 0 ? '' : `${LEDGER_HEADING}\n${lines.join('\n')}`;
  };
  const fits = (kept: number): boolean => counter.text(textOf(kept)) <= maxTokens;
  const kept = mostFitting(literals.length, fits);
  return kept > 0 || fits(0) ? textOf(kept) : '';
}
