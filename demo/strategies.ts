/** The strategies of the demo, by mode. */

/** Each is set so that the recorded run, of up to 51,000 tokens, shows what it does. */
export const STRATEGIES = {
  auto: { mode: 'auto', token_budget: 12_000 },
  compact: { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5 },
  summarize: { mode: 'summarize', token_budget: 20_000, low_watermark_pct: 0.5, summary_max_tokens: 800 },
  // Each round is in the memory as soon as it is closed.
  rolling_summary: {
    mode: 'rolling_summary',
    full_zone_turns: 0,
    summarize_after_seq: 1,
    summary_max_tokens: 2_000,
    total_max_tokens: 60_000,
  },
  trim: { mode: 'trim', token_budget: 20_000, low_watermark_pct: 0.5 },
  none: { mode: 'none' },
} as const;

export type DemoMode = keyof typeof STRATEGIES;

/** Modes in which the model gets no tool from Precis, so that the agent brings one that fetches. */
export const FETCHING_AGENTS: ReadonlySet<DemoMode> = new Set(['summarize', 'rolling_summary']);

/** Whether a mode has a strategy here. */
export function isDemoMode(mode: string): mode is DemoMode {
  return Object.hasOwn(STRATEGIES, mode);
}
