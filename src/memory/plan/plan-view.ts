/**
 * From a request to its plan, in two pure steps: the outline, which needs no token counts, and the
 * plan. The Worker, the tests and the benchmarks call the same two functions.
 */

import { readHistory } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import type { RefNamer } from '../conversation/refs.ts';
import { findEcho } from '../conversation/session-summary.ts';
import { withTurnHeads } from '../conversation/turn-heads.ts';
import { termsOf } from '../models/terms.ts';
import type { PlanContext, PlanRequest } from '../modes/planned.ts';
import { summarizes } from '../modes/strategy.ts';
import type { EditingStrategy } from '../modes/table.ts';
import { type Tools, toolTokens } from '../tokens/tokens.ts';
import { type Plan, plan } from './plan.ts';

/** The part of a request that a plan needs, in either protocol. */
interface ViewRequest {
  readonly messages: readonly Message[];
  readonly model: string | undefined;
  /** The caller's limit for the answer in tokens, or 0 without one. */
  readonly answerTokens: number;
  /** See `ModelRequest`. */
  readonly beginsThinking?: boolean;
}

/** See `PlanRequest`. */
type ViewOptions = Partial<Omit<PlanRequest, 'history' | 'answerTokens' | 'toolTokens' | 'toolBytes'>>;

/**
 * The shape of a request's array, and the options of its caller. It counts no tokens.
 *
 * @param refs the tenant's, which identify a summary that the caller has sent back; absent without
 *   a tenant
 */
export function outlineOf(
  strategy: EditingStrategy,
  { messages, model, answerTokens, beginsThinking = false }: ViewRequest,
  refs: RefNamer | undefined,
  { force = false, whole = false, retrieval = false, ...rest }: ViewOptions = {},
): PlanRequest {
  const echo = summarizes(strategy) ? findEcho(messages, refs) : undefined;
  const read = readHistory(messages, strategy.text_observation_prefixes, echo);
  const history = beginsThinking && !whole ? withTurnHeads(read) : read;
  const terms = rest.terms ?? termsOf(model);
  return { history, toolTokens: 0, answerTokens, force, whole, retrieval, ...rest, terms };
}

/** The plan of a request. @param tools all that are sent upstream, including Precis's */
export function planView(
  strategy: EditingStrategy,
  outline: PlanRequest,
  tools: Tools | undefined,
  context: PlanContext,
): Plan {
  const ofTools = { toolTokens: toolTokens(tools, context.counter), toolBytes: tools?.bytes ?? 0 };
  return plan(strategy, { ...outline, ...ofTools }, context);
}
