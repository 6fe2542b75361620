/**
 * From a request to its plan, in two steps: what can be said of it without a token counted, and the
 * plan itself. Both are pure; the Worker, the tests and the benchmarks call the same two.
 */

import { readHistory } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { findEcho } from '../conversation/session-summary.ts';
import type { RefNamer } from '../edits/placeholder.ts';
import type { EditingStrategy } from '../modes/table.ts';
import { cachedShare, type Price } from '../strategy/prices.ts';
import { summarizes } from '../strategy/strategy.ts';
import { type TokenCounter, type Tools, toolTokens } from '../tokens/tokens.ts';
import { type Plan, plan } from './plan.ts';
import type { PlanContext, PlanRequest } from './planned.ts';

/** A request as its plan sees it, whatever its protocol. */
interface ViewRequest {
  readonly messages: readonly Message[];
  readonly model: string | undefined;
  /** The caller's limit of the answer, in tokens; 0 without one. */
  readonly answerTokens: number;
}

/** What else decides; see `PlanRequest`. */
type ViewOptions = Partial<
  Pick<PlanRequest, 'force' | 'whole' | 'limit' | 'retrieval' | 'cachedShare' | 'memory'>
>;

/**
 * A request as far as no tokens are needed for it: the shape of its array, and what the caller has
 * asked for.
 *
 * @param refs the tenant's: a summary that has come back is known by its ref. Absent without a
 *   tenant
 */
export function outlineOf(
  strategy: EditingStrategy,
  { messages, model, answerTokens }: ViewRequest,
  refs: RefNamer | undefined,
  { force = false, whole = false, retrieval = false, ...rest }: ViewOptions = {},
): PlanRequest {
  const echo = summarizes(strategy) ? findEcho(messages, refs) : undefined;
  const history = readHistory(messages, strategy.text_observation_prefixes, echo);
  return { history, model, toolTokens: 0, answerTokens, force, whole, retrieval, ...rest };
}

/** What a plan takes from its isolate beside its context. */
interface ViewContext extends PlanContext {
  readonly counter: TokenCounter;
  /** The deployer's own prices. */
  readonly modelPrices?: readonly Price[];
}

/** The plan of a request. @param tools all that go up, ours among them */
export function planView(
  strategy: EditingStrategy,
  outline: PlanRequest,
  tools: Tools | undefined,
  { modelPrices = [], ...context }: ViewContext,
): Plan {
  const share = outline.cachedShare ?? cachedShare(outline.model, modelPrices);
  const request = { ...outline, toolTokens: toolTokens(tools, context.counter), cachedShare: share };
  return plan(strategy, request, context);
}
