/**
 * `rolling_summary`: a memory of the rounds before the full zone, made in the background. Its view
 * is planned around the memory that is ready (`plan/rolling.ts`), and not by replay.
 */
import * as z from 'zod';
import type { PlanContext } from '../plan/planned.ts';
import { planRolling } from '../plan/rolling.ts';
import { count, editing, seconds, summary, summaryTokens } from '../strategy/fields.ts';
import type { MemoryMode, RecallRequest } from './mode.ts';

const schema = z.strictObject({
  mode: z.literal('rolling_summary'),
  ...editing,
  ...summary,
  rolling_window_size: z.int().min(2).default(14),
  summarize_after_seq: count.default(5),
  full_zone_turns: count.default(2),
  summary_max_tokens: summaryTokens.default(1000),
  total_max_tokens: count.default(10_000),
  overflow_policy: z.enum(['truncate_oldest', 'truncate_summary', 'error']).default('truncate_oldest'),
  retry_attempts: count.max(10).default(3),
  retry_backoff_base_s: seconds.max(60).default(2),
  degraded_retry_interval_s: seconds.default(30),
  recovery_backlog_limit: count.default(20),
  include_trajectory_digest: z.boolean().default(true),
});

export type RollingStrategy = z.output<typeof schema>;

export const rollingSummary = {
  schema,
  edits: true,
  keepsContents: () => true,
  summaryFacts: ({ rolling_window_size, full_zone_turns, include_trajectory_digest }: RollingStrategy) => [
    rolling_window_size,
    full_zone_turns,
    include_trajectory_digest,
  ],
  verbatimTurns: ({ full_zone_turns }: RollingStrategy) => full_zone_turns,
  recalled: {
    most: ({ total_max_tokens }: RollingStrategy) => total_max_tokens,
    plan: (strategy: RollingStrategy, request: RecallRequest, context: PlanContext) =>
      planRolling(strategy, request, context),
  },
} as const satisfies MemoryMode<RollingStrategy>;
