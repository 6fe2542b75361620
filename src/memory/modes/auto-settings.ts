/** The settings of `auto` (docs/strategy-reference.md#auto). */
import * as z from 'zod';
import {
  compaction,
  count,
  editing,
  LONGEST_PREVIEW,
  names,
  offloadFault,
  retrievalFault,
  type StrategyFault,
  share,
  summarizing,
  tailFault,
} from '../strategy/fields.ts';
import { RETIRED_FIELDS } from '../strategy/retired.ts';

/** Where a jump stops, as a share of the budget (docs/strategy-reference.md). */
const WATERMARK = 0.6;
/** Tokens of the smallest compacted output (docs/modes.md#auto). */
const MIN_TOKENS = 500;
const OFFLOAD_TOKENS = 8_000;
/**
 * Claude Code cuts a tool output at 25,000 tokens. With less, coding agents miss what they have
 * just read (docs/benchmark.md#when-large-outputs-leave).
 */
const OFFLOAD_FRESH_TOKENS = 25_000;
/** The largest share of the window that a single output takes when the model first sees it. */
const FRESH_SHARE = 0.5;
/** An offloaded output still has a few hundred tokens, so smaller ones would save little. */
export const SMALLEST_OFFLOAD = 1_000;

/** Turns whose reasoning stays: as many as are in the tail. */
const KEEP_REASONING = 2;

export const schema = z.strictObject({
  mode: z.literal('auto'),
  ...editing,
  ...compaction,
  ...summarizing,
  low_watermark_pct: share.default(WATERMARK),
  /** Absent: the floor of `floor.ts`, or 0 for models of the deployer's own. */
  min_reclaim_tokens: count.optional(),
  text_observation_prefixes: names.default(['Observation:']),
  compact_clear_tool_inputs: z.boolean().default(true),
  compact_purge: z.boolean().default(true),
  ...RETIRED_FIELDS,
  /** Absent: where the API is known to bill old reasoning, and to do without it. */
  clear_reasoning: z.boolean().optional(),
  keep_reasoning_turns: z.int().min(1).default(KEEP_REASONING),
  compact_min_tokens: count.default(MIN_TOKENS),
  /** Absent: a share of the output. */
  compact_preview_tokens: count.max(LONGEST_PREVIEW).optional(),
  offload_min_tokens: z.int().min(SMALLEST_OFFLOAD).default(OFFLOAD_TOKENS),
  /** Absent: `OFFLOAD_FRESH_TOKENS`, or `offload_min_tokens` if that is more. */
  offload_fresh_tokens: z.int().min(SMALLEST_OFFLOAD).optional(),
  offload_digest: z.enum(['preview', 'model']).default('preview'),
  /** `hard`: a limit of each view. `goal`: a move over it may wait until it pays. */
  budget: z.enum(['goal', 'hard']).default('goal'),
  /** A move that waits is made when the upstream's cache has expired. */
  cold_moves: z.boolean().default(true),
});

export type AutoStrategy = z.output<typeof schema>;

/**
 * Tokens up to which an output is whole when the model first sees it. What the model has seen whole
 * stays so until the frontier passes it.
 */
export function mostAtSight(
  { offload_fresh_tokens, offload_min_tokens }: AutoStrategy,
  window: number,
): number {
  const share = Math.floor(window * FRESH_SHARE);
  if (offload_fresh_tokens !== undefined) return Math.min(offload_fresh_tokens, share);
  return Math.max(offload_min_tokens, Math.min(OFFLOAD_FRESH_TOKENS, share));
}

/** The turns that a caller asks to keep, in either field. */
export function keptTurns({ keep_last_n_turns, compact_keep }: AutoStrategy): number | undefined {
  if (keep_last_n_turns === undefined) return compact_keep;
  return Math.max(keep_last_n_turns, compact_keep ?? 0);
}

/** Fields that contradict each other. */
export function contradiction(strategy: AutoStrategy): StrategyFault | undefined {
  return (
    retrievalFault(strategy) ??
    offloadFault(strategy, 'offload_digest', 'model', 'no output is offloaded that could have a digest') ??
    tailFault(strategy, 'compact_keep_steps', 'compact_trigger_steps') ??
    tailFault(strategy, 'keep_last_n_turns', 'context_limit')
  );
}
