/** The strategies that can be tried, and the numbers of each that a person wants to move. */

/** A number of a strategy. The ranges are those in which something changes, not those allowed. */
export interface Knob {
  readonly field: string;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly initial: number;
}

const budget: Knob = {
  field: 'token_budget',
  label: 'Token budget',
  min: 500,
  max: 200_000,
  step: 500,
  initial: 32_000,
};
const watermark = (initial: number): Knob => ({
  field: 'low_watermark_pct',
  label: 'Low watermark, as a share of the budget',
  min: 0,
  max: 1,
  step: 0.05,
  initial,
});
const tokens = (field: string, label: string, min: number, max: number, initial: number): Knob => {
  return { field, label, min, max, step: 50, initial };
};
const turns = (field: string, label: string, initial: number, min = 0): Knob => {
  return { field, label, min, max: 20, step: 1, initial };
};

/** Knobs by mode. `none` has no number. */
export const KNOBS = {
  auto: [
    budget,
    watermark(0.6),
    turns('compact_keep', 'Turns in the tail', 2),
    tokens('compact_min_tokens', 'Smaller outputs stay, in tokens', 0, 5_000, 500),
    tokens('offload_min_tokens', 'Truncate larger outputs that were seen, in tokens', 1_000, 30_000, 8_000),
    tokens('offload_fresh_tokens', 'Truncate larger new outputs, in tokens', 1_000, 60_000, 25_000),
  ],
  compact: [
    budget,
    watermark(0),
    turns('compact_keep', 'Turns in the tail', 2),
    tokens('compact_min_tokens', 'Smaller outputs stay, in tokens', 0, 5_000, 0),
  ],
  summarize: [
    budget,
    watermark(0),
    turns('keep_last_n_turns', 'Turns that stay', 3),
    tokens('summary_max_tokens', 'Longest summary, in tokens', 64, 8_000, 2_048),
  ],
  rolling_summary: [
    { ...budget, field: 'total_max_tokens', label: 'Most tokens in total' },
    turns('full_zone_turns', 'Turns that stay', 2, 1),
  ],
  trim: [budget, watermark(0), turns('keep_last_n_turns', 'Turns that stay', 3)],
  none: [],
} as const satisfies Readonly<Record<string, readonly Knob[]>>;

export type TriedMode = keyof typeof KNOBS;
export const TRIED_MODES = Object.keys(KNOBS) as TriedMode[];

export type Settings = Readonly<Record<string, number>>;

/**
 * The strategy to send. Numbers that were not moved are left out, so that the mode's own defaults
 * hold, except for the budget, without which nothing happens to a short array.
 */
export function strategyOf(mode: TriedMode, settings: Settings): Record<string, string | number> {
  const knobs: readonly Knob[] = KNOBS[mode];
  const chosen = knobs.flatMap(({ field, initial }, at) => {
    const value = settings[field] ?? (at === 0 ? initial : undefined);
    return value === undefined ? [] : [[field, value] as const];
  });
  return { mode, ...Object.fromEntries(chosen) };
}

/** A round budget of about this many tokens, in the range of its slider. */
export function firstBudget(tokens: number): number {
  const { min, max, step } = budget;
  return Math.min(max, Math.max(min, Math.round(tokens / step) * step));
}
