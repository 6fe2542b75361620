/** The strategies to measure. */
import type { MemoryStrategyRequest } from '../src/memory/modes/table.ts';

export const STRATEGIES = {
  'compact, 32k': { mode: 'compact', token_budget: 32_000 },
  'compact, 100k to 50 %': { mode: 'compact', token_budget: 100_000, low_watermark_pct: 0.5 },
  'compact, 32k, previews, inputs': {
    mode: 'compact',
    token_budget: 32_000,
    compact_preview_tokens: 48,
    compact_clear_tool_inputs: true,
  },
  'auto, 32k': { mode: 'auto', token_budget: 32_000 },
  'trim, 32k': { mode: 'trim', token_budget: 32_000 },
} as const satisfies Readonly<Record<string, MemoryStrategyRequest>>;

export const NONE: MemoryStrategyRequest = { mode: 'none' };
