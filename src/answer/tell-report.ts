/**
 * Tells the report of a request: in headers to the caller (docs/design.md#4-what-the-caller-gets),
 * and in metrics and a log line to the deployer (docs/design.md#11-observability). All hold only
 * closed codes and numbers, never a caller's text, key or ids.
 */

import { isLogged, type LogFields } from '../log.ts';
import { isNotice } from '../memory/plan/notices.ts';
import type { AppliedEdit, Report } from '../memory/plan/report.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { RequestScope } from '../request/scope.ts';
import type { MadeView } from '../view/made-view.ts';
import { requestIdIn } from './request-id.ts';

/** What a caller gets before the body. */
interface Head {
  readonly status: number;
  readonly headers: Headers;
}

type Protocol = Pick<AnswerFormat, 'name'>;

type Teller = Pick<RequestScope, 'services' | 'timings' | 'trace' | 'waitUntil'>;

/** Sets the report's headers on an answer, counts the request, and logs a line about it. */
export function tellReport(
  head: Head,
  report: Report,
  { name }: Protocol,
  scope: Teller,
  newItems?: MadeView['newItems'],
): void {
  const { services, timings, trace } = scope;
  setReportHeaders(head.headers, report);
  const timing = timings.toString();
  if (timing !== '') head.headers.append('server-timing', timing);
  trace?.tells({ report, protocol: name, overhead: timings.until('upstream') });
  if (services.metrics.isOn) {
    countItems(report, name, newItems, services);
    countReport(head, report, name, scope);
  }
  if (!isLogged('info', services.config.logLevel)) return;
  const fields = { ...reportFields(report), ...timings.fields(), ...headFields(head) };
  services.log('info', 'a request was answered', fields);
}

function countItems(
  { mode, applied_edits }: Report,
  protocol: AnswerFormat['name'],
  newItems: MadeView['newItems'],
  { metrics }: Teller['services'],
): void {
  for (const edit of applied_edits) {
    const labels = { mode, reason: edit.type, protocol };
    metrics.count('memory_compaction_items_in_views_total', labels, itemsOf(edit));
  }
  for (const [reason, items] of newItems ?? [])
    metrics.count('memory_compaction_items_total', { mode, reason, protocol }, items);
}

function countReport(
  { status }: Head,
  report: Report,
  protocol: AnswerFormat['name'],
  { services: { metrics }, timings, waitUntil }: Teller,
): void {
  const { mode, tokens, warnings } = report;
  metrics.count('precis_requests_total', { protocol, mode, status: `${Math.floor(status / 100)}xx` });
  for (const code of warnings)
    metrics.count(isNotice(code) ? 'precis_notices_total' : 'precis_warnings_total', { code });
  if (tokens) {
    metrics.observe('memory_tokens_before_after', { stage: 'before' }, tokens.before);
    metrics.observe('memory_tokens_before_after', { stage: 'after' }, tokens.after);
  }
  const overhead = timings.until('upstream');
  if (overhead !== undefined) {
    metrics.observe('precis_overhead_seconds', {}, overhead / 1000);
    metrics.observe('precis_first_byte_seconds', {}, timings.elapsed / 1000);
  }
  metrics.sendLater(waitUntil);
}

/** Messages that an edit leaves out or clears, or contents that it replaces. */
function itemsOf(edit: AppliedEdit): number {
  if ('messages' in edit) return edit.messages;
  if (edit.type === 'condense') return edit.condensed_tool_results;
  const others = edit.type === 'compact' ? edit.cleared_tool_inputs + (edit.cleared_parts ?? 0) : 0;
  return edit.cleared_tool_results + others;
}

function setReportHeaders(headers: Headers, report: Report): void {
  headers.set('x-memory-mode', report.mode);
  headers.set('x-memory-source', report.source);
  headers.set('x-memory-applied', editsOf(report));
  headers.set('x-memory-trigger', report.trigger);
  if (report.tokens) {
    headers.set('x-memory-tokens-before', String(report.tokens.before));
    headers.set('x-memory-tokens-after', String(report.tokens.after));
  }
  if (report.potential?.tokens) {
    headers.set('x-memory-potential-before', String(report.potential.tokens.before));
    headers.set('x-memory-potential-after', String(report.potential.tokens.after));
  }
  headers.set('x-memory-refs', String(report.refs.length + (report.summary?.ref === undefined ? 0 : 1)));
  headers.set('x-memory-frontier', frontierState(report));
  if (report.warnings.length > 0) headers.set('x-memory-warning', report.warnings.join(','));
}

function reportFields(report: Report): LogFields {
  const { mode, source, tokens, potential, warnings } = report;
  return {
    mode,
    source,
    edits: editsOf(report),
    frontier: frontierState(report),
    ...(tokens ? { tokens_before: tokens.before, tokens_after: tokens.after } : {}),
    ...(potential?.tokens ? { potential_tokens: potential.tokens.after } : {}),
    ...(warnings.length > 0 ? { warnings: warnings.join(',') } : {}),
  };
}

function headFields({ status, headers }: Head): LogFields {
  const id = requestIdIn(headers);
  return { status, ...(id === null ? {} : { request_id: id }) };
}

function editsOf({ applied_edits }: Report): string {
  return applied_edits.map(({ type }) => type).join(',') || 'none';
}

function frontierState({ frontier }: Report): 'kept' | 'moved' | 'none' {
  if (frontier.moved) return 'moved';
  return frontier.unit > 0 ? 'kept' : 'none';
}
