/**
 * The report as headers (docs/design.md#4-what-the-caller-gets). They hold only closed codes and
 * numbers, never a caller's text.
 */

import type { Timings } from '../lib/server-timing.ts';
import type { Report } from '../memory/plan/report.ts';

/** Sets the report's headers on an answer. */
export function setReportHeaders(headers: Headers, report: Report, timings: Timings): void {
  const applied = report.applied_edits.map((edit) => edit.type).join(',') || 'none';
  headers.set('x-memory-mode', report.mode);
  headers.set('x-memory-source', report.source);
  headers.set('x-memory-applied', applied);
  headers.set('x-memory-trigger', report.trigger);
  if (report.tokens) {
    headers.set('x-memory-tokens-before', String(report.tokens.before));
    headers.set('x-memory-tokens-after', String(report.tokens.after));
  }
  headers.set('x-memory-refs', String(report.refs.length + (report.summary?.ref === undefined ? 0 : 1)));
  headers.set('x-memory-frontier', frontierState(report));
  if (report.warnings.length > 0) headers.set('x-memory-warning', report.warnings.join(','));
  const timing = timings.toString();
  if (timing !== '') headers.append('server-timing', timing);
}

function frontierState({ frontier }: Report): 'kept' | 'moved' | 'none' {
  if (frontier.moved) return 'moved';
  return frontier.unit > 0 ? 'kept' : 'none';
}
