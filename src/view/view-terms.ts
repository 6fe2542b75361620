/** What a view is made with: outline, limit, our tools, and what was learned of its upstream. */
import type { TokenMeasure } from '../memory/models/facts.ts';
import type { PlanRequest } from '../memory/modes/planned.ts';
import { budgetsOf, summarizes, tokenMeasure } from '../memory/modes/strategy.ts';
import { type EditingStrategy, modeOf } from '../memory/modes/table.ts';
import { outlineOf } from '../memory/plan/plan.ts';
import type { Warning } from '../memory/plan/report.ts';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { Call } from '../request/call.ts';
import type { RequestScope } from '../request/scope.ts';
import { checkTarget } from '../request/summarizer-target.ts';
import { searchKindOf } from '../retrieval/search-memory.ts';
import { SHORTEST_TOKEN } from '../tenant/identity.ts';
import { type LearnedLimit, roomIn } from '../upstream/learned-limits.ts';
import { type Guarded, userWarnings } from './guards.ts';
import { byteLimitOf, learnedOf } from './learned.ts';
import { offeredTools, outlines, sentTools, termsFor } from './made-before.ts';
import type { MadeView, MakeViewOptions, ViewCall } from './made-view.ts';

const NO_TENANT = `requests with a key of less than ${SHORTEST_TOKEN} characters, or none, get placeholders without refs, and no summary is kept; LOCAL_TENANT gives them a tenant, in a deployment that only its owner reaches`;

export interface ViewTerms {
  readonly strategy: EditingStrategy;
  readonly call: ViewCall;
  readonly outline: PlanRequest;
  readonly measure: TokenMeasure;
  /** All tools that are sent upstream, including Precis's. */
  readonly tools: Tools | undefined;
  /** What the view has of them. */
  readonly made: Pick<MadeView, 'tools' | 'limit' | 'byteLimit' | 'unedited' | 'movesInstructions'>;
  /** Whether a refusal has shown how many bytes a body may have. */
  readonly isByteLimitLearned: boolean;
  readonly warnings: readonly Warning[];
}

/** @throws ApiError if the summarizer of the strategy can't be asked */
export function viewTermsOf(
  { strategy, own, user }: Guarded,
  call: Call,
  options: MakeViewOptions,
): ViewTerms {
  const { request, chosen, scope } = call;
  const { config } = scope.services;
  const reached = typeof user === 'string' ? undefined : user;
  const offered = offeredTools(
    request,
    strategy,
    scope.caller.tenant,
    searchKindOf(config),
    chosen.blocks,
    reached,
  );
  const tools = offered === 'off' ? undefined : offered;
  // A fault is reported at the first request, not when the conversation has grown.
  if (summarizes(strategy)) checkTarget(strategy, scope);
  const { warnings: learned, ...made } = learnedOf(call, strategy, options);
  const isOff = offered === 'off' || (tools !== undefined && !request.leavesOurs);
  const warnings: readonly Warning[] = [
    ...learned,
    ...tenantWarnings(strategy, scope),
    ...(isOff ? ['retrieval_off' as const] : []),
    ...userWarnings(user, tools),
  ];
  const limit = limitOf(call, options);
  const measure = tokenMeasure(strategy, request.model, config.tokenFactors);
  const terms = termsFor(request, chosen.strategy, config);
  const known = { measure, terms, retrieval: tools?.retrieves === true };
  const large = byteLimitOf(call, options);
  const outline = outlineWithin({ limit, byteLimit: large?.limit }, strategy, call, options, known);
  return {
    strategy,
    call: { ...call, history: outline.history, options, tools, own },
    outline,
    measure,
    tools: sentTools(request, tools),
    made: { ...made, tools, limit, ...(large ? { byteLimit: large.limit } : {}) },
    isByteLimitLearned: large?.isLearned === true,
    warnings,
  };
}

function tenantWarnings(strategy: EditingStrategy, { caller, services }: RequestScope): Warning[] {
  if (caller.tenant || !modeOf(strategy).keepsContents?.(strategy)) return [];
  services.explain('no_tenant', NO_TENANT);
  return ['no_tenant'];
}

function limitOf({ request, scope }: Call, { limit }: MakeViewOptions): LearnedLimit | undefined {
  const { caller, services } = scope;
  if (limit !== undefined) return limit === 'none' ? undefined : limit;
  return (
    caller.tenant && services.memory.of('learnedLimits').get(caller.tenant.id, request.model ?? '')?.value
  );
}

/** The outline of a request, within the limits that the upstream has stated. */
function outlineWithin(
  { limit, byteLimit }: { readonly limit: LearnedLimit | undefined; readonly byteLimit: number | undefined },
  strategy: EditingStrategy,
  { request, scope }: Call,
  { force, whole = false }: MakeViewOptions,
  known: Pick<PlanRequest, 'measure' | 'retrieval' | 'terms'>,
): PlanRequest {
  const refs = scope.caller.tenant?.refs;
  const { measure, retrieval, terms } = known;
  return outlines.of(
    request,
    [strategy, refs, force, whole, measure, retrieval, terms, limit?.tokens, limit?.withAnswer, byteLimit],
    () => {
      const outline = outlineOf(strategy, request, refs, { force, whole, byteLimit, ...known });
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
