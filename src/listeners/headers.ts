/** The report of a call in the headers of its answer (docs/answers-and-errors.md#headers). */
import type { Report } from '../memory/plan/report.ts';
import type { ScopeFeature } from './listener.ts';

export const headers: ScopeFeature = ({ timings, spending }) => ({
  begins: (head, report) => {
    setReportHeaders(head.headers, report);
    spending?.setHeaders(head.headers);
    const timing = timings.toString();
    if (timing !== '') head.headers.append('server-timing', timing);
  },
});

function setReportHeaders(to: Headers, report: Report): void {
  to.set('x-memory-mode', report.mode);
  to.set('x-memory-source', report.source);
  to.set('x-memory-applied', editsOf(report));
  to.set('x-memory-trigger', report.trigger);
  if (report.tokens) {
    to.set('x-memory-tokens-before', String(report.tokens.before));
    to.set('x-memory-tokens-after', String(report.tokens.after));
  }
  if (report.next_edit) to.set('x-memory-next-edit', String(report.next_edit.tokens));
  if (report.potential?.tokens) {
    to.set('x-memory-potential-before', String(report.potential.tokens.before));
    to.set('x-memory-potential-after', String(report.potential.tokens.after));
  }
  to.set('x-memory-refs', String(report.refs.length + (report.summary?.ref === undefined ? 0 : 1)));
  to.set('x-memory-frontier', frontierState(report));
  if (report.warnings.length > 0) to.set('x-memory-warning', report.warnings.join(','));
}

/** The types of a report's edits; `none` without any. */
export function editsOf({ applied_edits }: Report): string {
  return applied_edits.map(({ type }) => type).join(',') || 'none';
}

export function frontierState({ frontier }: Report): 'kept' | 'moved' | 'none' {
  if (frontier.moved) return 'moved';
  return frontier.unit > 0 ? 'kept' : 'none';
}

/** The form of request ids. Anything else in that header could be a text. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The id of an answer, in OpenAI's header or in Anthropic's; null without one. */
export function requestIdIn(headers: Headers): string | null {
  const id = headers.get('x-request-id') ?? headers.get('request-id');
  return id !== null && REQUEST_ID.test(id) ? id : null;
}
