/**
 * Which rolling memory (docs/design.md#8-summaries) is to be made after an answered round.
 */
import type { Boundary } from '../conversation/passage.ts';
import { windowStart } from '../conversation/sequence.ts';
import type { RollingStrategy } from '../modes/rolling-summary.ts';

/** A memory that is due: over which sequence numbers, and up to which message. */
export interface DueMemory {
  readonly start: number;
  readonly boundary: Boundary;
}

/**
 * The memory to be made after an answered round. `full_zone_turns: 0`: 5 → (0,5), 13 → (0,13), 15 →
 * (2,15), 19 → (6,19).
 *
 * @param over boundaries behind the rounds that are over, ascending; the last one has just been
 *   answered
 */
export function dueMemory(strategy: RollingStrategy, over: readonly Boundary[]): DueMemory | undefined {
  const last = over.at(-1);
  const boundary = over.at(-1 - strategy.full_zone_turns);
  if (!last || !boundary || last.sequence < strategy.summarize_after_seq) return undefined;
  return { start: windowStart(boundary.sequence, strategy.rolling_window_size), boundary };
}
