/** Requests of which no view is made, each with the reason in its report. */

import { edits } from '../memory/modes/strategy.ts';
import type { ActingStrategy, EditingStrategy } from '../memory/modes/table.ts';
import { idleReport, type Warning } from '../memory/plan/report.ts';
import type { ModelRequest, OwnCompaction } from '../protocol/model-request.ts';
import { checkSize } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import type { ChosenStrategy } from '../request/choose-strategy.ts';
import { mayPlan } from '../request/known-key.ts';
import { actingOn, ownCompactionOf } from '../request/native-compaction.ts';
import { userArchiveOf } from '../request/user-archive.ts';
import { searchKindOf } from '../retrieval/search-memory.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';
import { blocksObstacle } from './memory-blocks.ts';
import { lacksOfUser, type OfferedTools, offerTools } from './offer-tools.ts';

/** A request of which a view is made. */
export interface Guarded {
  /** The one that acts. */
  readonly strategy: EditingStrategy;
  /** See `ViewCall`. */
  readonly own: OwnCompaction | undefined;
  readonly user: ReturnType<typeof userArchiveOf>;
}

/** The view of a request that is forwarded unchanged, or else what a view is made by. */
export async function guarded(call: Call, options: MakeViewOptions): Promise<MadeView | Guarded> {
  const { request, chosen, owner } = call;
  const { strategy, own } = actingFor(call, options);
  if (owner.off.length > 0) return untouched(chosen, owner.off);
  const user = userArchiveOf(call);
  if (!edits(strategy)) return withTools(untouched(chosen, unplannedWarnings(request, user)), strategy, call);
  const obstacle = await obstacleTo(call, options);
  return obstacle ? untouched(chosen, [obstacle]) : { strategy, own, user };
}

/** A request that is forwarded unchanged. */
export function untouched(
  { strategy, source, ...chosen }: ChosenStrategy,
  warnings: readonly Warning[],
): MadeView {
  const report = idleReport(strategy.mode, source, [...chosen.warnings, ...warnings]);
  return { view: undefined, report };
}

/** What the model can't reach of its user's other conversations, though the strategy lets it. */
export function userWarnings(user: Guarded['user'], tools: OfferedTools | undefined): Warning[] {
  if (typeof user === 'string') return [user];
  return user && lacksOfUser(tools, user) ? ['retrieval_off'] : [];
}

/** The strategy that acts on a request, and how the API makes its summaries, if it does. */
function actingFor(call: Call, { bare = false, unsigned = false }: MakeViewOptions) {
  const strategy = actingOn(call);
  // Other requests forward what goes back to the caller, without the beta of such a summary.
  const own = bare || unsigned ? undefined : ownCompactionOf(call);
  if (!own || !('keep_first_user' in strategy)) return { strategy, own: undefined };
  // Such a summary precedes all messages. The first request is a part of it, since after it, it
  // would be read as a later one.
  return { strategy: { ...strategy, keep_first_user: false }, own };
}

/** Of a request that no mode edits: one that goes on in a message thread says so. */
function unplannedWarnings({ protocol, upstreamState }: ModelRequest, user: Guarded['user']): Warning[] {
  const isThread = protocol === 'messages' && upstreamState !== undefined;
  return [...(isThread ? ['upstream_state' as const] : []), ...userWarnings(user, undefined)];
}

/** A request that is forwarded unchanged but for the tools that write its memory blocks. */
function withTools(made: MadeView, strategy: ActingStrategy, call: Call): MadeView {
  const { request, chosen, scope } = call;
  if (!chosen.blocks?.writable || blocksObstacle(call)) return made;
  const { tenant } = scope.caller;
  const tools = offerTools(request, strategy, tenant, searchKindOf(scope.services.config), chosen.blocks);
  if (tools !== 'off' && (!tools || request.leavesOurs)) return { ...made, tools };
  const warnings = new Set([...made.report.warnings, 'retrieval_off'] as const);
  const report = { ...made.report, warnings: [...warnings] };
  return { ...made, ...(tools === 'off' ? {} : { tools }), report };
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
