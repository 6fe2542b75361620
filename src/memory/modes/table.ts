/** The table of all modes, and the strategy types derived from it. */
import type { z } from 'zod';
import type { WithNulls } from '../strategy/fields.ts';
import { auto } from './auto.ts';
import { compact } from './compact.ts';
import type { MemoryMode } from './mode.ts';
import { native } from './native.ts';
import { none } from './none.ts';
import { rollingSummary } from './rolling-summary.ts';
import { summarize } from './summarize.ts';
import { trim } from './trim.ts';

/** By the name that callers write. */
export const modes = {
  none,
  trim,
  compact,
  summarize,
  rolling_summary: rollingSummary,
  auto,
  native,
} as const;

export type Mode = keyof typeof modes;
type StrategyOf<Name extends Mode> = z.output<(typeof modes)[Name]['schema']>;
type StrategyWith<Trait> = {
  [Name in Mode]: (typeof modes)[Name] extends Trait ? StrategyOf<Name> : never;
}[Mode];

export type MemoryStrategy = { [Name in Mode]: StrategyOf<Name> }[Mode];
/** Of a mode that edits views, which has the fields `editing`. */
export type EditingStrategy = StrategyWith<{ readonly replayed: unknown }> | RecallingStrategy;
/** A strategy whose view is planned around a memory that is ready. */
export type RecallingStrategy = StrategyWith<{ readonly recalled: unknown }>;
/** A strategy whose summaries a model writes. */
export type SummarizingStrategy = StrategyWith<{ readonly summaryFacts: unknown }>;
/** A strategy that may let the model fetch removed content. */
export type RetrievingStrategy = StrategyWith<{ readonly retrieves: unknown }>;
export type ActingStrategy = Exclude<MemoryStrategy, StrategyWith<{ readonly actsAs: unknown }>>;

/** A strategy as callers write it, without defaults. */
export type MemoryStrategyRequest = {
  [Name in Mode]: WithNulls<z.input<(typeof modes)[Name]['schema']>, 'mode'>;
}[Mode];

/** The mode of a strategy. Its functions only take that strategy. */
export function modeOf({ mode }: { readonly mode: Mode }): MemoryMode<MemoryStrategy, ActingStrategy> {
  return modes[mode];
}
