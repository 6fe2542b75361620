/** Metrics of requests and of their views (docs/operating.md#metrics). */
import { pause } from '../lib/time-limit.ts';
import { isNotice } from '../memory/plan/notices.ts';
import type { AppliedEdit, Report } from '../memory/plan/report.ts';
import { type ViewItem, viewItems } from '../memory/plan/view.ts';
import { changedBytes } from '../protocol/changed-bytes.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { RequestScope } from '../request/scope.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from '../view/made-view.ts';
import type { AskedModel, CallFeature, CallForm, Head, ScopeFeature } from './listener.ts';

/** What the report of each answer says. */
export const metrics: ScopeFeature = (scope, protocol) => {
  if (!scope.services.metrics.isOn) return undefined;
  return {
    begins: (head, report) => {
      countEdits(report, protocol, scope);
      countReport(head, report, protocol, scope);
    },
  };
};

/** What only the view of a request that was read says. */
export const viewMetrics: CallFeature = (call, { protocol }) => {
  const { metrics } = call.scope.services;
  if (!metrics.isOn) return undefined;
  let items: ReturnType<typeof newItems>;
  return {
    settled: ({ asked }) => {
      if (!asked) return;
      items = newItems(asked.made, call);
      if (asked.answer.ok) countChanges(asked, call);
    },
    begins: (_, { mode }) => {
      for (const [reason, count] of items ?? [])
        metrics.count('memory_compaction_items_total', { mode, reason, protocol }, count);
    },
  };
};

/** Counts what a body has lost or gained in mode none, or observed: it must be nothing. */
function countChanges({ made, body }: AskedModel, { request, scope }: Call): void {
  const { mode, injection, memory_blocks, potential } = made.report;
  if ((mode !== 'none' && !potential) || injection || memory_blocks || made.tools) return;
  const count = () =>
    scope.services.metrics.count('precis_none_changed_bytes_total', {}, changedBytes(request, body));
  scope.waitUntil(pause(TIME_LIMITS.afterAnswerMs).then(count));
}

function countEdits(
  { mode, applied_edits }: Report,
  protocol: CallForm['protocol'],
  { services }: RequestScope,
): void {
  for (const edit of applied_edits) {
    const labels = { mode, reason: edit.type, protocol };
    services.metrics.count('memory_compaction_items_in_views_total', labels, itemsOf(edit));
  }
}

function countReport(
  { status }: Head,
  report: Report,
  protocol: CallForm['protocol'],
  { services: { metrics: counted }, timings, waitUntil }: RequestScope,
): void {
  const { mode, tokens, warnings } = report;
  counted.count('precis_requests_total', { protocol, mode, status: `${Math.floor(status / 100)}xx` });
  for (const code of warnings)
    counted.count(isNotice(code) ? 'precis_notices_total' : 'precis_warnings_total', { code });
  if (tokens) {
    counted.observe('memory_tokens_before_after', { stage: 'before' }, tokens.before);
    counted.observe('memory_tokens_before_after', { stage: 'after' }, tokens.after);
  }
  const overhead = timings.until('upstream');
  if (overhead !== undefined) {
    counted.observe('precis_overhead_seconds', {}, overhead / 1000);
    counted.observe('precis_first_byte_seconds', {}, timings.elapsed / 1000);
  }
  counted.sendLater(waitUntil);
}

/** Messages that an edit leaves out or clears, or contents that it replaces. */
function itemsOf(edit: AppliedEdit): number {
  if ('messages' in edit) return edit.messages;
  const others = edit.type === 'compact' ? edit.cleared_tool_inputs + (edit.cleared_parts ?? 0) : 0;
  return edit.cleared_tool_results + others;
}

/**
 * Counts the items that a view has left out or replaced and that no earlier one had, by type of
 * edit, and remembers them. Of a request whose conversation is not known, all are new. Undefined
 * where nothing is counted.
 */
export function newItems({ view }: MadeView, call: Call): ReadonlyMap<ViewItem['type'], number> | undefined {
  const { services } = call.scope;
  if (!view || !services.metrics.isOn) return undefined;
  const items = viewItems(view);
  if (items.length === 0) return undefined;
  const conversation = conversationOfCall(call);
  const known = conversation && services.memory.of('items').of(conversation.name);
  const before = known?.get('');
  const counts = new Map<ViewItem['type'], number>();
  for (const { type, name } of items) if (!before?.has(name)) counts.set(type, (counts.get(type) ?? 0) + 1);
  if (counts.size > 0) known?.set('', new Set([...(before ?? []), ...items.map(({ name }) => name)]));
  return counts;
}
