/** The series and the marks of a conversation's plot. */
import { isNotice } from '../../src/memory/plan/notices.ts';
import type { ListedRun } from '../api/answers.ts';
import { sentTokens } from './sent.ts';

export type MarkKind = 'move' | 'summary' | 'warning';

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
  /** What observed requests would have sent. */
  readonly potential: readonly (number | null)[];
  /** Tokens of the view that the upstream read from its cache. */
  readonly cached: readonly (number | null)[];
  readonly marks: readonly Mark[];
}

/** @param events ascending */
export function plotOf(events: readonly ListedRun[]): PlotData {
  return {
    n: events.map(({ n }) => n),
    before: events.map((event) => sentTokens(event).came),
    after: events.map((event) => sentTokens(event).sent),
    potential: events.map((event) => sentTokens(event).potential),
    cached: events.map(({ view_cached: cached }) => cached),
    marks: events.flatMap((event, at) => marksOf(event, events[at - 1]).map((kind) => ({ at, kind }))),
  };
}

/**
 * A summary is marked where it is new: the request before had another one. An observed request has
 * neither a summary nor a move.
 */
function marksOf(event: ListedRun, earlier: ListedRun | undefined): MarkKind[] {
  const { observed, frontier, summary, warnings } = event;
  const isNew = !observed && summary !== null && summary.covers[1] !== earlier?.summary?.covers[1];
  return [
    ...(frontier.moved && !observed ? (['move'] as const) : []),
    ...(isNew ? (['summary'] as const) : []),
    ...(warnings.every(isNotice) ? [] : (['warning'] as const)),
  ];
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
