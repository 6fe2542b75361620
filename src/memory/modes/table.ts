/** The modes that exist, and what follows from the table for the types of strategies. */
import type { z } from 'zod';
import { auto } from './auto.ts';
import { compact } from './compact.ts';
import type { MemoryMode } from './mode.ts';
import { native } from './native.ts';
import { none } from './none.ts';
import { rollingSummary } from './rolling-summary.ts';
import { summarize } from './summarize.ts';
import { trim } from './trim.ts';

/** By the name that a caller writes. */
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
/** The strategies of the modes that have something. */
type StrategyWith<Trait> = {
  [Name in Mode]: (typeof modes)[Name] extends Trait ? StrategyOf<Name> : never;
}[Mode];

export type MemoryStrategy = { [Name in Mode]: StrategyOf<Name> }[Mode];
/** A strategy that says how a view is edited. */
export type EditingStrategy = StrategyWith<{ readonly edits: true }>;
/** A strategy whose view is found by replaying the array. */
export type ReplayedStrategy = StrategyWith<{ readonly replayed: unknown }>;
/** A strategy whose view is planned around a memory. */
export type RecallingStrategy = StrategyWith<{ readonly recalled: unknown }>;
/** A strategy that has a model write. */
export type SummarizingStrategy = StrategyWith<{ readonly summaryFacts: unknown }>;
/** A strategy that may have the model fetch what was removed. */
export type RetrievingStrategy = StrategyWith<{ readonly retrieves: unknown }>;
/** What is done to a view. */
export type ActingStrategy = Exclude<MemoryStrategy, StrategyWith<{ readonly actsAs: unknown }>>;

/** A strategy as a caller writes it, defaults left out. */
export type MemoryStrategyRequest = { [Name in Mode]: z.input<(typeof modes)[Name]['schema']> }[Mode];

/** The mode of a strategy. Its functions take that strategy alone. */
export function modeOf({ mode }: { readonly mode: Mode }): MemoryMode<MemoryStrategy, ActingStrategy> {
  return modes[mode];
}
