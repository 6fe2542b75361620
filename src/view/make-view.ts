/**
 * From a call to the view that goes upstream: guards → terms → plan → fulfil → report. A mode that
 * is planned around a memory recalls it before the plan.
 */

import type { History } from '../memory/conversation/history.ts';
import { SMALLEST_WINDOW } from '../memory/models/facts.ts';
import type { PlanRequest } from '../memory/modes/planned.ts';
import { recalls, waitsForWindow } from '../memory/modes/strategy.ts';
import type { EditingStrategy } from '../memory/modes/table.ts';
import { explain } from '../memory/plan/explain.ts';
import type { Plan } from '../memory/plan/plan.ts';
import { frontierOf, type Report, reportOf, type Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Call } from '../request/call.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { closedRequests } from './closed-requests.ts';
import { type ColdReturns, coldReturns } from './cold-returns.ts';
import { type Fulfilled, fulfil, type Recalled, recall } from './fulfil.ts';
import { guarded, untouched } from './guards.ts';
import { type FoundRounds, findRounds } from './kept-rounds.ts';
import { mayActOn, planOf, viewOf } from './made-before.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';
import { passed } from './refused-view.ts';
import { withMoved } from './sent-before.ts';
import { reportedSummary } from './summaries.ts';
import { type ViewTerms, viewTermsOf } from './view-terms.ts';

/** @throws ApiError `memory_budget_exceeded`, and what `tryView` throws */
export async function makeView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  return passed(await tryView(call, options), call, options);
}

/**
 * A view that may be refused (`exceeded`). Nobody is refused because of the memory that its round
 * has begun with, since a newer one may be ready.
 *
 * @throws ApiError `body_too_large`, and what `summariesOf` throws
 */
export async function tryView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const made = await madeViewOf(call, options);
  const { bare = false, dryRun, anew, refused } = options;
  // Other requests forward what goes back to the caller.
  if (!made.exceeded) return bare ? made : withMoved(made, call, refused);
  return dryRun || anew ? made : tryView(call, { ...options, anew: true });
}

async function madeViewOf(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const found = await guarded(call, options);
  if ('report' in found) return withReasoning(found, options);
  const terms = viewTermsOf(found, call, options);
  const beside = await besideOf(terms);
  const { remember } = beside.recalled ?? {};
  const planned = await planWith(terms, beside);
  const { reasoning } = beside;
  const made = {
    ...terms.made,
    cold: beside.returns?.known,
    ...(reasoning ? { reasoning } : {}),
    ...(remember ? { remember } : {}),
  };
  if (!planned) return { ...made, ...unplanned(terms, beside) };
  const { plan, counter } = planned;
  const { exceeded } = plan;
  if (exceeded)
    return { ...made, ...untouched(call.chosen, beside.warnings), history: plan.history, exceeded };
  const fulfilled = await fulfil(plan, terms.call, counter);
  return { ...made, ...reported(planned, fulfilled, terms, beside) };
}

/** What is kept of answers is sent with a request that is not edited, too. */
async function withReasoning(made: MadeView, options: MakeViewOptions): Promise<MadeView> {
  if (options.bare) return made;
  const reasoning = await options.reasoning?.find(undefined, made.tools !== undefined);
  return reasoning ? { ...made, reasoning } : made;
}

/** What is known of a conversation beside the request. */
interface Beside {
  readonly recalled: Recalled | undefined;
  readonly rounds: FoundRounds | undefined;
  readonly reasoning: PlanRequest['reasoning'];
  readonly returns: ColdReturns | undefined;
  /** The terms' own, too. */
  readonly warnings: readonly Warning[];
}

async function besideOf({ strategy, call, warnings }: ViewTerms): Promise<Beside> {
  const recalled = recalls(strategy) ? await recall(strategy, call) : undefined;
  const [rounds, reasoning] = await Promise.all([
    findRounds(strategy, call.tools, call),
    call.options.bare ? undefined : call.options.reasoning?.find(call.history, call.tools !== undefined),
  ]);
  const returns = coldReturns(strategy, call);
  return { recalled, rounds, reasoning, returns, warnings: [...warnings, ...(recalled?.warnings ?? [])] };
}

interface PlannedView {
  readonly plan: Plan;
  readonly counter: TokenCounter;
  /** The messages of Precis's rounds in the view, by key. */
  readonly messages: ReadonlyMap<string, string> | undefined;
}

/** A plan whose rounds can be shown. Undefined if the strategy has nothing to do. */
async function planWith(
  { strategy, call, outline, measure, tools, made }: ViewTerms,
  { recalled, rounds, reasoning, returns }: Beside,
): Promise<PlannedView | undefined> {
  const { scope, options } = call;
  const { unedited } = made;
  const memory = recalled?.memory;
  if (!options.count && !mayActOn(strategy, outline, { memory, rounds: rounds?.kept, reasoning }, tools))
    return undefined;
  const counting = await scope.caches.counting(measure);
  const isolate = { ...counting, refs: scope.caller.tenant?.refs, digest: sha256Hex, unedited };
  const closed = closedRequests(call);
  for (;;) {
    const beside = { memory, rounds: rounds?.kept, reasoning, closed, cold: returns?.lengths };
    const plan = scope.timings.time('plan', () => planOf(strategy, outline, beside, tools, isolate));
    if (await returns?.find(plan)) continue;
    const messages = await rounds?.read(plan.rounds);
    if (messages) rounds?.noteReported(plan);
    if (!rounds || messages) return { plan, messages, counter: counting.counter };
  }
}

/** The view of a request that is forwarded unchanged, since the strategy has nothing to do. */
function unplanned({ strategy, call, outline }: ViewTerms, { warnings }: Beside): MadeView {
  const { view, report } = untouched(call.chosen, warnings);
  return { view, movedAt: 0, report: withNotices(report, strategy, outline, call.options) };
}

function reported(
  { plan, messages, counter }: PlannedView,
  { words, digestUsage, prepareNext, warnings }: Fulfilled,
  { strategy, call, outline, isByteLimitLearned }: ViewTerms,
  { recalled, rounds, returns, ...beside }: Beside,
): MadeView {
  const { chosen, options } = call;
  const { replay, history, repeated } = plan;
  const view = viewOf(plan, { ...words, rounds: messages }, counter);
  const shown = recalled?.memory ?? words.summary;
  const summary = shown && view.summary && reportedSummary(shown, view.summary);
  const all = [...chosen.warnings, ...beside.warnings, ...(returns?.warnings ?? []), ...warnings];
  const report = reportOf(plan, view, chosen.source, all, { summary, digestUsage });
  const within = withLimit(report, outline.limit, isByteLimitLearned);
  const { mode } = chosen.strategy;
  return {
    view,
    repeated,
    planned: { trigger: replay.trigger, frontier: frontierOf(plan) },
    movedAt: recalls(strategy)
      ? undefined
      : Math.max(replay.moves.at(-1)?.messages ?? 0, plan.bytes?.moves.at(-1) ?? 0),
    shownFrom: view.summary && recalled?.memory?.shownFrom,
    history,
    ...(plan.thinking ? { leftBefore: plan.thinking.blocksBefore } : {}),
    refused: replay.refused,
    isUnread: returns?.isUnread(plan) ?? false,
    rounds: rounds?.kept,
    report: { ...withNotices(within, strategy, outline, options), mode },
    ...(options.explain ? { explanation: explain(plan, view, counter) } : {}),
    prepareNext,
  };
}

/**
 * Adds a warning if a learned limit has shaped the view: it was the window, and the array exceeds
 * it; or it is one of bytes.
 */
function withLimit(report: Report, limit: number | undefined, isByteLimitLearned: boolean): Report {
  const { before = 0, window } = report.tokens ?? {};
  const isOver = limit !== undefined && window === limit && before > limit;
  if (!isOver && !(isByteLimitLearned && report.bytes)) return report;
  return { ...report, warnings: [...new Set([...report.warnings, 'limit_learned' as const])] };
}

/** Of messages whose tokens nobody has counted: about as many as in English text. */
const BYTES_PER_TOKEN = 4;

export function withNotices(
  report: Report,
  strategy: EditingStrategy,
  { terms, limit, history }: PlanRequest,
  options: MakeViewOptions,
): Report {
  const notices: Warning[] = [];
  if (isIdle(report, strategy, options)) notices.push('idle');
  const isUnknown =
    terms.windowAssumed && strategy.context_window_tokens === undefined && limit === undefined;
  if (isUnknown && (report.tokens?.after ?? tokensOf(history)) > SMALLEST_WINDOW)
    notices.push('window_unknown');
  return { ...report, warnings: [...new Set([...report.warnings, ...notices])] };
}

/** Whether a request is unchanged since its strategy names no budget and no trigger. */
function isIdle(report: Report, strategy: EditingStrategy, { force }: MakeViewOptions): boolean {
  const { before, budget, window } = report.tokens ?? { before: 0, budget: null, window: 0 };
  const isDue = force || before > (budget ?? window) || report.applied_edits.length > 0;
  return !isDue && waitsForWindow(strategy);
}

/** An estimate. Media have the tokens of their kind, whatever their bytes. */
function tokensOf({ messages }: History): number {
  return messages.reduce((sum, { bytes, flatTokens }) => sum + bytes / BYTES_PER_TOKEN + flatTokens, 0);
}
