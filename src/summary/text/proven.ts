/**
 * Facts that were proven by what came next. Between a summary's boundary and the request that shows
 * it first, the conversation goes on. A value or constraint of the covered messages that these
 * turns have used again is needed, so if the summary's text lacks it, it joins the ledger.
 *
 * The same messages and the same text give the same result, so a view keeps its bytes.
 */

import type { Entry } from '../../memory/conversation/passage.ts';
import { mostFitting } from '../../memory/tokens/fitting.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import { constraintsOf, isSaid, sentencesOf } from './constraints.ts';
import { LEDGER_HEADING, neutralize, splitLedger } from './headings.ts';
import { type Form, literalsOf } from './ledger-literals.ts';

/** A text, and the messages that prove what it lacks. */
export interface ProvenOrder {
  readonly text: string;
  /** The messages that it covers. */
  readonly covered: readonly Entry[];
  /** Those after them, up to the first request that shows it. */
  readonly later: readonly Entry[];
  /** The most tokens of the text with its new facts. */
  readonly maxTokens: number;
  readonly counter: TokenCounter;
}

/** How a line with a constraint begins. */
const CONSTRAINT_START = '- the user: ';

/** The new facts' largest share of a summary's tokens. */
const SHARE = 1 / 8;
/** More than any ledger has room for. */
const MOST_LITERALS = 200;
const MOST_CONSTRAINTS = 20;
/** Constraints and later sentences that are compared: each with each. */
const MOST_STATED = 200;
const MOST_SAID = 2_000;

/** Symbols of programs can be found again in their files, and amounts by name recur by chance. */
const LEFT_OUT: ReadonlySet<Form> = new Set(['snake', 'camel', 'dotted', 'named']);

/** The text of a summary with the facts that were proven; the same text if there are none. */
export function withProven({ text, covered, later, maxTokens, counter }: ProvenOrder): string {
  const used = later.filter(({ role }) => role !== 'tool');
  // Constraints come first: no value can say what must not be done.
  const facts = [
    ...provenConstraints(covered, used, text).map((sentence) => `${CONSTRAINT_START}${sentence}`),
    ...provenLiterals(covered, used, text),
  ];
  if (facts.length === 0) return text;
  const parts = partsOf(text);
  const most = Math.min(maxTokens, counter.text(text) + Math.floor(maxTokens * SHARE));
  const extended = (count: number): string => write(parts, facts.slice(0, count));
  const count = mostFitting(facts.length, (some) => counter.text(extended(some)) <= most);
  return count === 0 ? text : extended(count);
}

/** The literals of what model and user have written later: those used most often first. */
function provenLiterals(covered: readonly Entry[], used: readonly Entry[], text: string): string[] {
  const uses = new Map<string, number>();
  for (const one of used.flatMap(textsOf))
    for (const { value, form } of literalsOf(one))
      if (!LEFT_OUT.has(form)) uses.set(value, (uses.get(value) ?? 0) + 1);
  if (uses.size === 0) return [];
  const found = new Set<string>();
  for (const one of covered.flatMap(textsOf))
    for (const { value } of literalsOf(one)) if (uses.has(value)) found.add(value);
  return [...uses]
    .filter(([value]) => found.has(value) && !text.includes(neutralize(value)))
    .sort(([, one], [, other]) => other - one)
    .slice(0, MOST_LITERALS)
    .map(([value]) => neutralize(value));
}

/** The user's constraints that were repeated later, in half of their words. */
function provenConstraints(covered: readonly Entry[], used: readonly Entry[], text: string): string[] {
  const stated = covered.filter(({ role }) => role === 'user').flatMap((entry) => constraintsOf(entry.text));
  const lacking = [...new Set(stated.map(neutralize))].filter((sentence) => !text.includes(sentence));
  if (lacking.length === 0) return [];
  const said = sentencesOf(used.map((entry) => entry.text)).slice(0, MOST_SAID);
  return lacking
    .slice(0, MOST_STATED)
    .filter((sentence) => isSaid(sentence, said))
    .slice(0, MOST_CONSTRAINTS);
}

function textsOf({ text, calls }: Entry): string[] {
  return [text, ...calls.map(({ input }) => input)];
}

/** A summary's text without its ledger, and the ledger's values and other lines. */
interface Parts {
  readonly body: string;
  readonly literals: readonly string[];
  readonly lines: readonly string[];
}

function partsOf(text: string): Parts {
  const { body, ledger } = splitLedger(text);
  const lines = ledger === '' ? [] : ledger.split('\n');
  const first = lines[0]?.startsWith('- ') ? undefined : lines.shift();
  return { body, literals: first === undefined ? [] : first.split(', '), lines };
}

function write({ body, literals, lines }: Parts, facts: readonly string[]): string {
  const isConstraint = (fact: string): boolean => fact.startsWith(CONSTRAINT_START);
  const values = [...literals, ...facts.filter((fact) => !isConstraint(fact))].join(', ');
  const ledger = [
    LEDGER_HEADING,
    ...(values === '' ? [] : [values]),
    ...facts.filter(isConstraint),
    ...lines,
  ];
  return `${body}\n\n${ledger.join('\n')}`;
}
