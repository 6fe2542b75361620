/** The settings for replays of recorded conversations. */
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import type { ViewOptions } from '../support/laws/view-of.ts';

export const STRATEGIES: Readonly<Record<string, MemoryStrategyRequest>> = {
  'compact, turns, slide': { mode: 'compact', compact_trigger_turns: 2, compact_keep: 1 },
  'compact, turns, jump': { mode: 'compact', compact_trigger_turns: 4, frontier: 'jump' },
  'compact, 32 k': { mode: 'compact', token_budget: 32_000 },
  'compact, 16 k to 60 %, inputs, previews': {
    mode: 'compact',
    token_budget: 16_000,
    low_watermark_pct: 0.6,
    compact_clear_tool_inputs: true,
    compact_preview_tokens: 48,
    text_observation_prefixes: ['Observation:', '[aider console]', '[File:'],
  },
  'compact, 8 k, slide, no refs': {
    mode: 'compact',
    token_budget: 8_000,
    frontier: 'slide',
    compact_offload: false,
    compact_keep_steps: 1,
  },
  'compact, all but what is fresh': {
    mode: 'compact',
    token_budget: 0,
    compact_keep: 0,
    compact_keep_steps: 0,
  },
  'trim, 6 turns to 2': { mode: 'trim', max_turns: 6, keep_last_n_turns: 2 },
  'trim, 24 k': { mode: 'trim', token_budget: 24_000 },
  'trim, 24 k to 50 %, reclaim 2 k': {
    mode: 'trim',
    token_budget: 24_000,
    low_watermark_pct: 0.5,
    min_reclaim_tokens: 2_000,
  },
  'summarize, 6 turns to 2': { mode: 'summarize', context_limit: 6, keep_last_n_turns: 2 },
  'summarize, 24 k to 50 %, reclaim 2 k': {
    mode: 'summarize',
    token_budget: 24_000,
    low_watermark_pct: 0.5,
    min_reclaim_tokens: 2_000,
  },
  'summarize, 24 k, rehydrated': { mode: 'summarize', token_budget: 24_000, rehydrate: true },
  'auto, 32 k': { mode: 'auto', token_budget: 32_000 },
  'auto, 24 k to 50 %, rehydrated': {
    mode: 'auto',
    token_budget: 24_000,
    low_watermark_pct: 0.5,
    rehydrate: { items: 8, max_tokens: 10_000 },
  },
  'auto, 16 k to 30 %, no floor, retrieval': {
    mode: 'auto',
    token_budget: 16_000,
    low_watermark_pct: 0.3,
    min_reclaim_tokens: 0,
    text_observation_prefixes: ['Observation:', '[aider console]', '[File:'],
  },
  'auto, 16 k, digests, retrieval': { mode: 'auto', token_budget: 16_000, offload_digest: 'model' },
};

/** Options beside a strategy. */
export function optionsOf(name: string): ViewOptions {
  return name.endsWith('retrieval') ? { retrieval: true } : {};
}
