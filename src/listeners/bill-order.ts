/**
 * What the bill of a request is made from (docs/money.md). The conversation's object makes it.
 *
 * It is sent with the request's event. The bill is a pure function (`memory/money/bill.ts`) of the
 * usage of the calls, the counts of the view, and the price of the model. The object knows the
 * request before, makes the bill and keeps the sums (`storage/conversation/bills.ts`), to which
 * each claim and each digest adds its cost when it ends.
 */
import type { Schedule } from '../memory/models/schedule.ts';
import { costOf } from '../memory/money/amounts.ts';
import { type BillOrder, potentialBill } from '../memory/money/bill.ts';
import type { PotentialBill } from '../memory/money/bill-schema.ts';
import type { Potential, Report } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import type { Call } from '../request/call.ts';
import { type BilledAnswer, scheduleOfAnswers } from '../request/callers/billing.ts';
import { askedLifetimeOf, markedShare } from '../request/prompt-cache.ts';
import { termsFor } from '../view/made-before.ts';
import type { MadeView } from '../view/made-view.ts';

/** The part of a view that its bill needs. */
type BilledView = Pick<MadeView, 'view' | 'report' | 'tools' | 'repeated'>;

/**
 * The order for the bill of a request.
 *
 * @param made the view that was sent
 * @param answers of the upstream, in order
 */
export function billOrderOf(
  { view, report, tools, repeated }: BilledView,
  answers: readonly BilledAnswer[],
  call: Call,
): BillOrder {
  const ownTools = tokensOfTools(tools);
  const { tokens, injection, memory_blocks } = report;
  return {
    ...unchangedOrderOf(answers, call),
    isEdited: view !== undefined && (view.rounds !== undefined || isEdited(view)),
    added: ownTools + (injection?.tokens ?? 0) + (memory_blocks?.tokens ?? 0),
    tools: ownTools,
    view: tokens && repeated !== undefined ? { before: tokens.before, after: tokens.after, repeated } : null,
    moved: report.frontier.moved,
    summarizer: summarizerCost(report),
  };
}

/** The order for the bill of a request that was sent unchanged. */
export function unchangedOrderOf(answers: readonly BilledAnswer[], call: Call): BillOrder {
  const schedule = scheduleFor(answers, call);
  const marked = schedule?.hits && markedShare(call.request, schedule.hits);
  const writes = writtenShare(call, schedule, marked);
  return {
    schedule,
    calls: answers.map((answer) => answer.usage() ?? null),
    ...(marked === undefined ? {} : { marked }),
    ...(writes === undefined ? {} : { writes }),
    ...(schedule ? { keptMs: Math.max(schedule.lifetimeMs, askedLifetimeOf(call.request) ?? 0) } : {}),
    isEdited: false,
    added: 0,
    tools: 0,
    view: null,
    moved: false,
    summarizer: 0,
  };
}

/** What the strategy of an observed request would have saved. */
export function potentialBillOf(
  { tokens, frontier, applied_edits }: Pick<Potential, 'tokens' | 'frontier' | 'applied_edits'>,
  answer: BilledAnswer,
  call: Call,
): PotentialBill | null {
  const { schedule, calls, writes } = unchangedOrderOf([answer], call);
  return potentialBill({
    schedule,
    usage: calls[0] ?? null,
    ...(writes === undefined ? {} : { writes }),
    view: tokens ?? null,
    moved: frontier.moved,
    summarized: applied_edits.some(({ type }) => type === 'summarize'),
  });
}

/** See `writes` of `BilledRequest`. A mark by Precis that moves along is at the end. */
export function writtenShare(
  { request, chosen, scope }: Call,
  schedule: Schedule | null,
  marked = schedule?.hits && markedShare(request, schedule.hits),
): number | undefined {
  if (!schedule?.hits) return undefined;
  if (schedule.hits === 'breakpoints-20') return marked ?? 1;
  const { marks } = termsFor(request, chosen.strategy, scope.services.config);
  return marks ? 1 : marked;
}

function scheduleFor(answers: readonly BilledAnswer[], { request, scope }: Call): Schedule | null {
  return scheduleOfAnswers(request, answers, scope.services) ?? null;
}

function isEdited({ removals, dropped, summary, trim }: View): boolean {
  return removals.size > 0 || dropped.size > 0 || summary !== undefined || trim !== undefined;
}

function tokensOfTools(tools: BilledView['tools']): number {
  const bytes = (tools?.definitions ?? []).reduce((sum, definition) => sum + definition.length, 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** What the summarizer's work for this request has cost. Null if its price is not known. */
function summarizerCost({ summary, applied_edits }: Report): number | null {
  const usages = [
    summary?.usage,
    ...applied_edits.map((edit) => (edit.type === 'offload' ? edit.usage : undefined)),
  ];
  const cost = costOf(usages.filter((usage) => usage !== undefined));
  return cost === undefined ? 0 : cost;
}
