/**
 * From a request and its strategy to the view that goes upstream: what all modes have in common.
 */

import type { EditingStrategy } from '../memory/modes/table.ts';
import { mayAct } from '../memory/plan/plan.ts';
import { outlineOf } from '../memory/plan/plan-view.ts';
import type { PlanRequest } from '../memory/plan/planned.ts';
import { idleReport, type Report, type Warning } from '../memory/plan/report.ts';
import {
  actingStrategy,
  budgetsOf,
  edits,
  keepsContents,
  recalls,
  summarizes,
} from '../memory/strategy/strategy.ts';
import { toolsWith } from '../protocol/tools.ts';
import { checkSize } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import type { Caller } from '../request/caller.ts';
import { sentSummary } from '../request/conversation.ts';
import { mayPlan } from '../request/known-key.ts';
import { upstreamCompacts } from '../request/native-compaction.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import { type LearnedLimit, roomIn } from '../upstream/learned-limits.ts';
import type { MadeView, MakeViewOptions, Prepared } from './made-view.ts';
import { offerTools } from './offer-tools.ts';
import { replayedView } from './replayed.ts';
import { rollingView } from './rolling.ts';

/** @throws ApiError `body_too_large`, and what the mode itself refuses */
export async function makeView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const { request, chosen, owner, scope } = call;
  const { source } = chosen;
  const { mode } = chosen.strategy;
  const strategy = actingStrategy(chosen.strategy, upstreamCompacts(request, scope.services.config));
  const untouched = (...warnings: Warning[]): MadeView => ({
    view: undefined,
    report: idleReport(mode, source, [...chosen.warnings, ...warnings]),
  });
  if (owner.off.length > 0) return untouched(...owner.off);
  if (!edits(strategy)) return untouched();
  checkSize(request);
  if (request.tooManyMessages) return untouched('too_many_messages');
  if (request.upstreamState !== undefined) return untouched('upstream_state');
  if (!options.isAnswered && !(await mayPlan(request, scope))) return untouched('unverified_key');
  const offered = offerTools(request, strategy, scope.caller.tenant);
  const tools = offered === 'off' ? undefined : offered;
  if (summarizes(strategy)) {
    // What is wrong is told at the first request, not when the conversation has grown.
    summarizerTarget(strategy, request, scope);
    sentSummary(request);
  }

  const { caller, services } = scope;
  const { model } = request;
  const limit = options.limit ?? (caller.tenant && services.limits.of(caller.tenant.id, model));
  const asked = outlineOf(strategy, request, caller.tenant?.refs, {
    force: options.force,
    whole: options.whole ?? false,
    retrieval: tools !== undefined,
  });
  const outline = limit ? withinLimit(strategy, asked, limit) : asked;
  const warnings = warningsOf(strategy, caller);
  if (offered === 'off') warnings.push('retrieval_off');
  const allTools = tools ? toolsWith(request.tools, tools.definitions) : request.tools;
  if (!options.count && !recalls(strategy) && !mayAct(strategy, outline, allTools?.bytes ?? 0))
    return { ...untouched(...warnings), tools };

  const prepared: Prepared = {
    ...call,
    history: outline.history,
    outline,
    options,
    warnings: [...chosen.warnings, ...warnings],
    counting: () => scope.learned.counting(model),
    allTools,
  };
  const made = recalls(strategy)
    ? await rollingView(strategy, prepared)
    : await replayedView(strategy, prepared);
  return { ...made, tools, report: { ...withLimit(made.report, outline.limit), mode } };
}

/**
 * A request within what the upstream takes, where that is less than the strategy counts on. What it
 * leaves to the prompt holds at every request point: an answer's room that were looked at in the
 * end alone would move the frontier at every request.
 */
function withinLimit(strategy: EditingStrategy, asked: PlanRequest, learned: LearnedLimit): PlanRequest {
  const { window } = budgetsOf(strategy, asked.model);
  const limit = roomIn(learned, asked.answerTokens);
  if (limit >= roomIn({ tokens: window, withAnswer: true }, asked.answerTokens)) return asked;
  return { ...asked, limit, answerTokens: 0 };
}

/**
 * Says so where a learned limit, and not the strategy alone, has decided what goes up: it was the
 * window of an array that exceeds it.
 */
function withLimit(report: Report, limit: number | undefined): Report {
  const { before = 0, window } = report.tokens ?? {};
  if (window !== limit || limit === undefined || before <= limit) return report;
  return { ...report, warnings: [...new Set([...report.warnings, 'limit_learned' as const])] };
}

/** Without a tenant, placeholders name no ref, and no summary is kept. */
function warningsOf(strategy: EditingStrategy, { tenant }: Caller): Warning[] {
  return keepsContents(strategy) && !tenant ? ['no_tenant'] : [];
}
