/**
 * From a call to the view that goes upstream: guards → outline → plan → fulfil → render → report.
 * A mode that is planned around a memory recalls it before the plan.
 */

import type { ActingStrategy, EditingStrategy } from '../memory/modes/table.ts';
import { explain } from '../memory/plan/explain.ts';
import type { Plan } from '../memory/plan/plan.ts';
import { outlineOf } from '../memory/plan/plan-view.ts';
import type { PlanRequest } from '../memory/plan/planned.ts';
import { frontierOf, idleReport, type Report, reportOf, type Warning } from '../memory/plan/report.ts';
import {
  actingStrategy,
  budgetsOf,
  edits,
  keepsContents,
  recalls,
  summarizes,
  tokenMeasure,
} from '../memory/strategy/strategy.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { checkSize } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import type { ChosenStrategy } from '../request/choose-strategy.ts';
import { mayPlan } from '../request/known-key.ts';
import { ownCompactionOf, upstreamCompacts } from '../request/native-compaction.ts';
import type { RequestScope } from '../request/scope.ts';
import { checkTarget } from '../request/summarizer-target.ts';
import { userArchiveOf } from '../request/user-archive.ts';
import { searchKindOf } from '../retrieval/search-memory.ts';
import { SHORTEST_TOKEN, sha256Hex } from '../tenant/identity.ts';
import { type LearnedLimit, roomIn } from '../upstream/learned-limits.ts';
import { closedRequests } from './closed-requests.ts';
import { fulfil, recall } from './fulfil.ts';
import { type FoundRounds, findRounds } from './kept-rounds.ts';
import { learnedOf, withMoved } from './learned.ts';
import { mayActOn, offeredTools, outlines, planOf, sentTools, termsFor, viewOf } from './made-before.ts';
import type { MadeView, MakeViewOptions, ViewCall } from './made-view.ts';
import { blocksObstacle } from './memory-blocks.ts';
import { withNotices } from './notices.ts';
import { lacksOfUser, type OfferedTools, offerTools } from './offer-tools.ts';
import { passed } from './refused-view.ts';
import { reportedSummary } from './summaries.ts';

const NO_TENANT = `requests with a key of less than ${SHORTEST_TOKEN} characters, or none, get placeholders without refs, and no summary is kept; LOCAL_TENANT gives them a tenant, in a deployment that only its owner reaches`;

/** @throws ApiError `memory_budget_exceeded`, and those of `tryView` */
export async function makeView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  return passed(await tryView(call, options), call, options);
}

/**
 * A view that may be refused (`exceeded`). Nobody is refused because of the memory that its round
 * has begun with, since a newer one may be ready.
 *
 * @throws ApiError `body_too_large`, and those of `summariesOf`
 */
export async function tryView(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const made = await madeViewOf(call, options);
  if (!made.exceeded) return withMoved(made, call, options);
  if (options.dryRun || options.anew) return made;
  return tryView(call, { ...options, anew: true });
}

async function madeViewOf(call: Call, options: MakeViewOptions): Promise<MadeView> {
  const { request, chosen, owner, scope } = call;
  const { tenant } = scope.caller;
  const { config } = scope.services;
  const { strategy, own } = actingOn(call, options);
  if (owner.off.length > 0) return untouched(chosen, owner.off);
  const user = userArchiveOf(call);
  if (!edits(strategy)) return withTools(untouched(chosen, unplannedWarnings(request, user)), strategy, call);
  const obstacle = await obstacleTo(call, options);
  if (obstacle) return untouched(chosen, [obstacle]);
  const reached = typeof user === 'string' ? undefined : user;
  const offered = offeredTools(request, strategy, tenant, searchKindOf(config), chosen.blocks, reached);
  const tools = offered === 'off' ? undefined : offered;
  // A fault is reported at the first request, not when the conversation has grown.
  if (summarizes(strategy)) checkTarget(strategy, scope);
  const allTools = sentTools(request, tools);
  const { warnings, ...learned } = learnedOf(call, strategy, options);
  warnings.push(...tenantWarnings(strategy, scope));
  if (offered === 'off' || isClosed(tools, call)) warnings.push('retrieval_off');
  warnings.push(...userWarnings(user, tools));

  const measure = tokenMeasure(strategy, request.model, config.tokenFactors);
  const within = limitOf(call, options);
  const terms = termsFor(request, chosen.strategy, config);
  const known = { measure, terms, retrieval: tools?.retrieves === true };
  const asked = limitedOutline(strategy, call, options, known, within);
  const { history, limit } = asked;
  const viewCall: ViewCall = { ...call, history, options, tools, own };
  const recalled = recalls(strategy) ? await recall(strategy, viewCall) : undefined;
  const rounds = await findRounds(strategy, tools, viewCall);
  const memory = recalled?.memory;
  warnings.push(...(recalled?.warnings ?? []));
  const made = { ...learned, tools, limit: within, ...(recalled ? { remember: recalled.remember } : {}) };
  if (!options.count && !mayActOn(strategy, asked, { memory, rounds: rounds?.kept }, allTools)) {
    const unchanged = untouched(chosen, warnings);
    const report = withNotices(unchanged.report, strategy, asked, viewCall);
    return { ...unchanged, report, ...made };
  }

  const counting = await scope.caches.counting(measure);
  const isolate = { ...counting, refs: tenant?.refs, digest: sha256Hex, unedited: learned.unedited };
  const closed = closedRequests(viewCall);
  const planned = () => planOf(strategy, asked, { memory, rounds: rounds?.kept, closed }, allTools, isolate);
  const { plan, messages } = await withRounds(planned, rounds, scope);
  const { exceeded } = plan;
  if (exceeded) return { ...made, ...untouched(chosen, warnings), history, exceeded };
  const { words, digestUsage, prepareNext, ...fulfilled } = await fulfil(plan, viewCall, counting.counter);
  const view = viewOf(plan, { ...words, rounds: messages }, counting.counter);
  const shown = memory ?? words.summary;
  const summary = shown && view.summary && reportedSummary(shown, view.summary);
  const allWarnings = [...chosen.warnings, ...warnings, ...fulfilled.warnings];
  const report = reportOf(plan, view, chosen.source, allWarnings, { summary, digestUsage });
  const told = withNotices(adjusted(report, limit, rounds), strategy, asked, viewCall);
  return {
    ...made,
    view,
    repeated: plan.repeated,
    planned: { trigger: plan.replay.trigger, frontier: frontierOf(plan) },
    movedAt: plan.replay.moves.at(-1)?.messages,
    history,
    refused: plan.replay.refused,
    rounds: rounds?.kept,
    report: { ...told, mode: chosen.strategy.mode },
    ...(options.explain ? { explanation: explain(plan, view, counting.counter) } : {}),
    prepareNext,
  };
}

/** The strategy that acts on a request, and how the API makes its summaries, if it does. */
function actingOn(call: Call, { bare = false, unsigned = false }: MakeViewOptions) {
  const { request, chosen, scope } = call;
  const strategy = actingStrategy(chosen.strategy, upstreamCompacts(request, scope.services.config));
  // What goes back to the caller goes up by other requests, without the beta of such a summary.
  const own = bare || unsigned ? undefined : ownCompactionOf(call);
  if (!own || !('keep_first_user' in strategy)) return { strategy, own: undefined };
  // Such a summary stands before all messages. The first request is a part of it, since it would be
  // told as a later one behind it.
  return { strategy: { ...strategy, keep_first_user: false }, own };
}

/** A plan whose rounds of ours can be shown, and their messages by key. */
async function withRounds(planned: () => Plan, rounds: FoundRounds | undefined, { timings }: RequestScope) {
  for (;;) {
    const plan = timings.time('plan', planned);
    const messages = await rounds?.read(plan.rounds ?? []);
    if (messages) rounds?.tell(plan);
    if (!rounds || messages) return { plan, messages };
  }
}

/** The report of a view within a limit that the upstream has stated, and with rounds of ours. */
function adjusted(report: Report, limit: number | undefined, rounds: FoundRounds | undefined): Report {
  return withLimit(withRoundsBack(report, rounds), limit);
}

/** A view with rounds that an earlier one lacked is another one. */
function withRoundsBack(report: Report, rounds: FoundRounds | undefined): Report {
  if (!rounds?.areBack) return report;
  return { ...report, frontier: { ...report.frontier, moved: true } };
}

/** A request that is forwarded unchanged. */
function untouched({ strategy, source, ...chosen }: ChosenStrategy, warnings: readonly Warning[]): MadeView {
  const report = idleReport(strategy.mode, source, [...chosen.warnings, ...warnings]);
  return { view: undefined, report };
}

function tenantWarnings(strategy: EditingStrategy, { caller, services }: RequestScope): Warning[] {
  if (!keepsContents(strategy) || caller.tenant) return [];
  services.explain('no_tenant', NO_TENANT);
  return ['no_tenant'];
}

/** What the model can't reach of its user's other conversations, though the strategy lets it. */
function userWarnings(user: ReturnType<typeof userArchiveOf>, tools: OfferedTools | undefined): Warning[] {
  if (typeof user === 'string') return [user];
  return user && lacksOfUser(tools, user) ? ['retrieval_off'] : [];
}

/** Of a request that no mode edits: one that goes on in a message thread says so. */
function unplannedWarnings(
  { protocol, upstreamState }: ModelRequest,
  user: ReturnType<typeof userArchiveOf>,
): Warning[] {
  const isThread = protocol === 'messages' && upstreamState !== undefined;
  return [...(isThread ? ['upstream_state' as const] : []), ...userWarnings(user, undefined)];
}

/** A request that is forwarded unchanged but for the tools that write its memory blocks. */
function withTools(made: MadeView, strategy: ActingStrategy, call: Call): MadeView {
  const { request, chosen, scope } = call;
  if (!chosen.blocks?.writable || blocksObstacle(call)) return made;
  const { tenant } = scope.caller;
  const tools = offerTools(request, strategy, tenant, searchKindOf(scope.services.config), chosen.blocks);
  if (tools !== 'off' && !isClosed(tools, call)) return { ...made, tools };
  const { report } = made;
  const warnings = new Set([...report.warnings, 'retrieval_off'] as const);
  const told = { ...report, warnings: [...warnings] };
  return { ...made, ...(tools === 'off' ? {} : { tools }), report: told };
}

/** Whether the caller's choice of tools keeps the model from calling ours. */
function isClosed(tools: OfferedTools | undefined, { request }: Call): boolean {
  return tools !== undefined && !request.leavesOurs;
}

/** Why no view can be made of a request. @throws ApiError `body_too_large` */
async function obstacleTo(
  { request, scope }: Call,
  { isAnswered }: MakeViewOptions,
): Promise<Warning | undefined> {
  checkSize(request);
  if (request.tooManyMessages) return 'too_many_messages';
  if (request.upstreamState !== undefined) return 'upstream_state';
  return isAnswered || (await mayPlan(request, scope)) ? undefined : 'unverified_key';
}

/** The limit that the upstream has stated. */
function limitOf({ request, scope }: Call, { limit }: MakeViewOptions): LearnedLimit | undefined {
  const { caller, services } = scope;
  if (limit !== undefined) return limit === 'none' ? undefined : limit;
  return caller.tenant && services.limits.of(caller.tenant.id, request.model);
}

/** The outline of a request, within the limit that the upstream has stated. */
function limitedOutline(
  strategy: EditingStrategy,
  { request, scope }: Call,
  { force, whole = false }: MakeViewOptions,
  known: Pick<PlanRequest, 'measure' | 'retrieval' | 'terms'>,
  limit: LearnedLimit | undefined,
): PlanRequest {
  const refs = scope.caller.tenant?.refs;
  const { measure, retrieval, terms } = known;
  return outlines.of(
    request,
    [strategy, refs, force, whole, measure, retrieval, terms, limit?.tokens, limit?.withAnswer],
    () => {
      const outline = outlineOf(strategy, request, refs, { force, whole, ...known });
      return limit ? withinLimit(strategy, outline, limit) : outline;
    },
  );
}

/**
 * Applies a learned limit that is smaller than the strategy's window. The room that it leaves for
 * the prompt holds at every request point. If the room for the answer counted at the last point
 * alone, the frontier would move at every request.
 */
function withinLimit(strategy: EditingStrategy, asked: PlanRequest, learned: LearnedLimit): PlanRequest {
  const { window } = budgetsOf(strategy, asked.terms);
  const limit = roomIn(learned, asked.answerTokens);
  if (limit >= roomIn({ tokens: window, withAnswer: true }, asked.answerTokens)) return asked;
  return { ...asked, limit, answerTokens: 0 };
}

/**
 * Adds a warning if a learned limit has shaped the view: it was the window, and the array exceeds
 * it.
 */
function withLimit(report: Report, limit: number | undefined): Report {
  const { before = 0, window } = report.tokens ?? {};
  if (window !== limit || limit === undefined || before <= limit) return report;
  return { ...report, warnings: [...new Set([...report.warnings, 'limit_learned' as const])] };
}
