/**
 * Compaction by the upstream (`context_management`), and the mode `native` (docs/modes.md#native).
 */
import type { Config } from '../config.ts';
import { mayCompactItself, summarizesOnDemand } from '../memory/models/upstream-apis.ts';
import { actingStrategy, passesThrough } from '../memory/modes/strategy.ts';
import { type ActingStrategy, type MemoryStrategy, modeOf } from '../memory/modes/table.ts';
import type { Additions, ModelRequest, OwnCompaction } from '../protocol/model-request.ts';
import type { Call } from './call.ts';
import type { ChosenStrategy } from './choose-strategy.ts';
import { isRefused } from './model-refusals.ts';

type Upstream = Pick<Config, 'nativeCompaction'>;

/** Whether the upstream can compact this request's conversation. */
export function upstreamCompacts(
  { hasCompaction, model }: Pick<ModelRequest, 'hasCompaction' | 'model'>,
  { nativeCompaction }: Upstream,
): boolean {
  return hasCompaction && nativeCompaction && mayCompactItself(model);
}

/** The strategy that edits the view of a request: the chosen one, or the one that acts for it. */
export function actingOn({ request, chosen, scope }: Call): ActingStrategy {
  return actingStrategy(chosen.strategy, upstreamCompacts(request, scope.services.config));
}

/**
 * If the request asks for a compaction that the upstream can't make, and nothing else sets a
 * strategy, the strategy is `native`.
 */
export function withCompaction(
  chosen: ChosenStrategy,
  request: ModelRequest,
  upstream: Upstream,
): ChosenStrategy {
  const { compaction } = request;
  const isOpen = chosen.source === 'default' && passesThrough(chosen.strategy);
  if (!compaction || !isOpen || upstreamCompacts(request, upstream)) return chosen;
  return {
    ...chosen,
    source: 'request',
    strategy: { mode: 'native', compact_threshold: compaction.threshold },
  };
}

/** What the body that goes upstream says of a compaction: the caller's entry cut, or one added. */
export function compactionOf(
  strategy: MemoryStrategy,
  request: ModelRequest,
  upstream: Upstream,
): Additions['compaction'] {
  if (passesThrough(strategy)) return undefined;
  if (!upstreamCompacts(request, upstream)) return request.compaction && 'cut';
  return request.compaction ? undefined : modeOf(strategy).upstreamCompaction?.(strategy);
}

/**
 * How the upstream summarizes this conversation on demand, in the mode `native`. Undefined where it
 * can't, or where another summary of its own rules it out: a summary by Precis replaces it.
 */
export function ownCompactionOf({ request, chosen, scope }: Call): OwnCompaction | undefined {
  const { caller } = scope;
  if (chosen.strategy.mode !== 'native' || !caller.tenant || caller.isClosed) return undefined;
  if (!summarizesOnDemand(request.model)) return undefined;
  if (isRefused('signed', request, scope)) return undefined;
  return request.ownCompaction;
}
