/**
 * `native`: the upstream's own compaction. If it has none, a summary of the prefix is used instead.
 */
import * as z from 'zod';
import { archiveField, cacheMarks, upstreamApi } from '../strategy/fields.ts';
import type { MemoryMode } from './mode.ts';
import type { NoneStrategy } from './none.ts';
import { type SummarizeStrategy, summarize } from './summarize.ts';

const schema = z.strictObject({
  mode: z.literal('native'),
  compact_threshold: z.int().positive().optional(),
  archive: archiveField.optional(),
  cache_marks: cacheMarks,
  upstream_api: upstreamApi,
});

type NativeStrategy = z.output<typeof schema>;

export const native = {
  schema,
  actsAs: (
    { compact_threshold, cache_marks }: NativeStrategy,
    upstreamCompacts: boolean,
  ): NoneStrategy | SummarizeStrategy =>
    upstreamCompacts
      ? { mode: 'none', cache_marks }
      : summarize.schema.parse({ mode: 'summarize', token_budget: compact_threshold, cache_marks }),
  upstreamCompaction: ({ compact_threshold }: NativeStrategy) => ({ threshold: compact_threshold }),
} as const satisfies MemoryMode<NativeStrategy, NoneStrategy | SummarizeStrategy>;
