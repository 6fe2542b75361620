/** The series and the marks of a conversation's plot. */

import { isNotice } from '../../src/memory/plan/notices.ts';
import { isSettled } from '../../src/memory/run/why.ts';
import type { ListedRun } from '../api/answers.ts';
import { netOf, potentialBillOf } from './money.ts';
import { hasNewSummary } from './savings.ts';
import { sentTokens } from './sent.ts';

export type MarkKind = 'move' | 'summary' | 'warning' | 'waits';

export interface Mark {
  /** Index of the request in the plot. */
  readonly at: number;
  readonly kind: MarkKind;
}

export interface PlotData {
  /** Numbers of the requests, ascending. */
  readonly n: readonly number[];
  readonly before: readonly (number | null)[];
  readonly after: readonly (number | null)[];
  /** Above which the strategy acts. */
  readonly budget: readonly (number | null)[];
  /** Net savings of each request in dollars, potential ones if observed, and their sum so far. */
  readonly net: readonly (number | null)[];
  readonly netSum: readonly (number | null)[];
  /** What observed requests would have sent. */
  readonly potential: readonly (number | null)[];
  /** Tokens of the view that the upstream read from its cache. */
  readonly cached: readonly (number | null)[];
  readonly marks: readonly Mark[];
}

/** @param events ascending */
export function plotOf(events: readonly ListedRun[]): PlotData {
  const net = events.map((event) => (event.observed ? potentialBillOf(event)?.net : netOf(event)) ?? null);
  return {
    budget: events.map(({ tokens }) => tokens?.budget ?? null),
    net,
    netSum: sumsSoFar(net),
    n: events.map(({ n }) => n),
    before: events.map((event) => sentTokens(event).came),
    after: events.map((event) => sentTokens(event).sent),
    potential: events.map((event) => sentTokens(event).potential),
    cached: events.map(({ view_cached: cached }) => cached),
    marks: events.flatMap((event, at) => marksOf(event, events[at - 1]).map((kind) => ({ at, kind }))),
  };
}

const OF_BUDGET: ReadonlySet<string> = new Set(['waiting', 'over_budget', 'soft_budget_idle']);

/** Whether a warning only says that a request is over its budget, which sets off no alarm. */
export function isOfBudget(code: string): boolean {
  return OF_BUDGET.has(code);
}

/**
 * The warnings that a request is shown with. `waiting` is about an edit that was due: a request
 * that was compacted, and is within its budget, waits for nothing that its reader has to know.
 */
export function warningsOf(event: Warned): readonly string[] {
  const { warnings } = event;
  return isSettled(event) ? warnings.filter((code) => code !== 'waiting') : warnings;
}

/**
 * The warnings that a row of a list of requests is tagged with. A notice holds for many requests in
 * turn, and is shown where it begins. That a request waits until it pays is the rule, and has no
 * tag.
 *
 * @param earlier the request before; undefined for the first
 */
export function rowWarningsOf(event: Warned, earlier: Warned | undefined): readonly string[] {
  const known = earlier ? warningsOf(earlier) : [];
  const isNew = (code: string): boolean => !(isNotice(code) && known.includes(code));
  return warningsOf(event).filter((code) => code !== 'waiting' && isNew(code));
}

type Warned = Pick<ListedRun, 'warnings' | 'tokens' | 'frontier'>;

/** Whether a warning sets off no alarm. */
export function isCalm(code: string): boolean {
  return isNotice(code) || isOfBudget(code);
}

/** What is not known adds nothing. Null before the first one that is known. */
function sumsSoFar(values: readonly (number | null)[]): (number | null)[] {
  let sum: number | null = null;
  return values.map((value) => {
    if (value !== null) sum = (sum ?? 0) + value;
    return sum;
  });
}

/**
 * A summary is marked where it is new: the request before had another one. An observed request has
 * neither a summary nor a move.
 */
export function marksOf(event: ListedRun, earlier: ListedRun | undefined): MarkKind[] {
  const { observed, frontier } = event;
  const warnings = warningsOf(event);
  return [
    ...(frontier.moved && !observed ? (['move'] as const) : []),
    ...(hasNewSummary(event, earlier) ? (['summary'] as const) : []),
    ...(warnings.every(isCalm) ? [] : (['warning'] as const)),
    ...(warnings.some(isOfBudget) ? (['waits'] as const) : []),
  ];
}

/** Whether there is anything to draw. Short requests are not counted, and one is no line. */
export function hasLine({ before }: PlotData): boolean {
  return before.filter((tokens) => tokens !== null).length > 1;
}

/**
 * The points of a line in a box of 100 by 20, newest at the right; empty if there are too few.
 *
 * @param most the value at the top of the box
 */
export function sparkline(values: readonly number[], most: number): string {
  if (values.length < 2) return '';
  const x = (at: number): string => ((100 * at) / (values.length - 1)).toFixed(1);
  return values
    .map((value, at) => `${x(at)},${(19 - (18 * value) / Math.max(most, 1)).toFixed(1)}`)
    .join(' ');
}
