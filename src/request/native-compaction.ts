/**
 * Compaction that a request asks its upstream for (`context_management`), and the mode `native`
 * (docs/design.md#3-what-the-caller-says).
 */
import type { Config } from '../config.ts';
import { type MemoryStrategy, passesThrough, upstreamCompaction } from '../memory/strategy/strategy.ts';
import type { Beside, ModelRequest } from '../protocol/model-request.ts';
import type { ChosenStrategy } from './choose-strategy.ts';

type Upstream = Pick<Config, 'nativeCompaction'>;

/** Whether the upstream compacts this request's conversation by itself, when it is asked to. */
export function upstreamCompacts({ hasCompaction }: ModelRequest, { nativeCompaction }: Upstream): boolean {
  return hasCompaction && nativeCompaction;
}

/**
 * A wish for a compaction that the upstream can't fulfil is the strategy, where nothing else says
 * what to do.
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

/** What becomes of the wish in the body that goes up. */
export function compactionOf(
  strategy: MemoryStrategy,
  request: ModelRequest,
  upstream: Upstream,
): Beside['compaction'] {
  if (passesThrough(strategy)) return undefined;
  if (!upstreamCompacts(request, upstream)) return request.compaction && 'cut';
  return request.compaction ? undefined : upstreamCompaction(strategy);
}
