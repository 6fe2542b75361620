/**
 * `memory_strategy`: how it is read, and what may be asked of it, whatever its mode.
 *
 * Each mode has a strict schema. A field that it does not name is refused with the nearest one that
 * exists: a strategy that is silently ignored would cost its caller money for as long as nobody
 * looks.
 */
import type { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { type SummarizeStrategy, summarize } from '../modes/summarize.ts';
import {
  type ActingStrategy,
  type EditingStrategy,
  type MemoryStrategy,
  type Mode,
  modeOf,
  modes,
  type ReplayedStrategy,
  type RetrievingStrategy,
  type SummarizingStrategy,
} from '../modes/table.ts';
import type { StrategyFault } from './fields.ts';
import { windowOf } from './models.ts';

export type { AutoStrategy } from '../modes/auto.ts';
export type { CompactStrategy } from '../modes/compact.ts';
export type { NativeStrategy } from '../modes/native.ts';
export type { RollingStrategy } from '../modes/rolling-summary.ts';
export type { SummarizeStrategy } from '../modes/summarize.ts';
export type {
  ActingStrategy,
  EditingStrategy,
  MemoryStrategy,
  MemoryStrategyRequest,
  Mode,
  ReplayedStrategy,
  RetrievingStrategy,
  SummarizingStrategy,
} from '../modes/table.ts';
export type { StrategyFault } from './fields.ts';

/** The modes that exist. */
export const MODES = Object.keys(modes) as Mode[];

/**
 * Share of the model's window that is left free, when a strategy names neither a budget nor a
 * percentage.
 */
const DEFAULT_REMAINING_PCT = 0.2;

/**
 * Reads a strategy as a caller wrote it: an object, or a mode's name.
 *
 * @param input the decoded JSON
 */
export function parseStrategy(input: unknown): Result<MemoryStrategy, StrategyFault> {
  const object = typeof input === 'string' ? { mode: input } : input;
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    return fault(
      '',
      `memory_strategy must be an object with a mode, or the name of one: ${MODES.join(', ')}.`,
    );
  const mode = (object as { mode?: unknown }).mode;
  if (mode === undefined)
    return fault('mode', `memory_strategy.mode is missing; it is one of ${MODES.join(', ')}.`);
  if (typeof mode !== 'string' || !isMode(mode))
    return fault(
      'mode',
      `Unknown mode ${quote(mode)} in memory_strategy.mode; it is one of ${MODES.join(', ')}.`,
    );
  const parsed = modes[mode].schema.safeParse(object);
  if (!parsed.success) return { ok: false, reason: describe(mode, parsed.error.issues[0]) };
  const contradiction = modeOf(parsed.data).contradiction?.(parsed.data);
  return contradiction ? { ok: false, reason: contradiction } : { ok: true, value: parsed.data };
}

/** Whether a strategy says how the view is edited. */
export function edits(strategy: MemoryStrategy): strategy is EditingStrategy {
  return modeOf(strategy).edits;
}

/** Whether its view is found by replaying the array. */
export function isReplayed(strategy: MemoryStrategy): strategy is ReplayedStrategy {
  return modeOf(strategy).replayed !== undefined;
}

/** Whether a model writes its summaries. */
export function summarizes(strategy: MemoryStrategy): strategy is SummarizingStrategy {
  return modeOf(strategy).summaryFacts !== undefined;
}

/** Whether requests go up as they came, whatever the upstream is. */
export function passesThrough(strategy: { readonly mode: Mode }): boolean {
  return modeOf(strategy).passesThrough === true;
}

/** Whether what leaves the view is kept, where there is a tenant. */
export function keepsContents(strategy: MemoryStrategy): boolean {
  return modeOf(strategy).keepsContents?.(strategy) ?? false;
}

/**
 * What makes two summaries of the same messages differ, beside the fields of all modes that
 * summarise.
 */
export function summaryFacts(strategy: SummarizingStrategy): readonly unknown[] {
  return modeOf(strategy).summaryFacts?.(strategy) ?? [];
}

/**
 * The newest turns that no summary ever covers; infinite where all that is not covered is recent.
 */
export function verbatimTurns(strategy: MemoryStrategy): number {
  return modeOf(strategy).verbatimTurns?.(strategy) ?? Number.POSITIVE_INFINITY;
}

/** The compaction that the upstream is asked for, if any. */
export function upstreamCompaction(
  strategy: MemoryStrategy,
): { readonly threshold: number | undefined } | undefined {
  return modeOf(strategy).upstreamCompaction?.(strategy);
}

/** What is done to the view: by the strategy itself, or by the one that stands in for it. */
export function actingStrategy(strategy: MemoryStrategy, upstreamCompacts: boolean): ActingStrategy {
  const { actsAs } = modeOf(strategy);
  return actsAs ? actsAs(strategy, upstreamCompacts) : (strategy as ActingStrategy);
}

/**
 * A summary of all that there is, by what a strategy says of its summaries and of what is a turn.
 */
export function wholeSummary(strategy: MemoryStrategy): SummarizeStrategy {
  const bare = summarize.schema.parse({ mode: 'summarize', keep_last_n_turns: 0 });
  if (!edits(strategy)) return bare;
  const { context_window_tokens, text_observation_prefixes } = strategy;
  const whole = { ...bare, context_window_tokens, text_observation_prefixes };
  if (!summarizes(strategy)) return whole;
  const { summarizer_model, summary_focus, summary_max_tokens } = strategy;
  return { ...whole, summarizer_model, summary_focus, summary_max_tokens };
}

/** Budgets in tokens, for a model. */
export interface Budgets {
  /** Over this, every phase of the mode may run. Absent when only a soft budget is given. */
  readonly hard?: number;
  /** Over this, only the reversible phases run. */
  readonly soft?: number;
  readonly window: number;
}

/**
 * The strategy's budgets for a model, percentages resolved. Where a budget is given both ways, the
 * smaller one holds.
 */
export function budgetsOf(strategy: EditingStrategy, model: string | undefined): Budgets {
  const window = strategy.context_window_tokens ?? windowOf(model);
  const { token_budget, token_soft_budget, token_remaining_pct, token_soft_remaining_pct } = strategy;
  const none =
    token_budget === undefined &&
    token_soft_budget === undefined &&
    token_remaining_pct === undefined &&
    token_soft_remaining_pct === undefined;
  const hard = smaller(
    token_budget,
    shareOf(window, token_remaining_pct ?? (none ? DEFAULT_REMAINING_PCT : undefined)),
  );
  const soft = smaller(token_soft_budget, shareOf(window, token_soft_remaining_pct));
  return {
    window,
    ...(hard === undefined ? {} : { hard }),
    ...(soft === undefined ? {} : { soft }),
  };
}

/**
 * Whether the model is given a tool to fetch what was removed
 * (docs/design.md#3-what-the-caller-says).
 *
 * @param hasTools whether the caller's request has tools
 */
export function retrieves(strategy: MemoryStrategy, hasTools: boolean): strategy is RetrievingStrategy {
  return modeOf(strategy).retrieves?.(strategy, hasTools) ?? false;
}

/** Checks what depends on the model's window: a soft budget over the hard one. */
export function budgetFault(strategy: MemoryStrategy, model: string | undefined): StrategyFault | undefined {
  if (!edits(strategy)) return undefined;
  const { hard, soft } = budgetsOf(strategy, model);
  if (hard === undefined || soft === undefined || soft <= hard) return undefined;
  const field = strategy.token_soft_budget === undefined ? 'token_soft_remaining_pct' : 'token_soft_budget';
  return {
    field,
    message: `memory_strategy.${field} sets a soft budget of ${soft} tokens, over the hard budget of ${hard}; it must not be larger.`,
  };
}

/** How the frontier moves: as the strategy says; else as its mode does. */
export function frontierOf(strategy: EditingStrategy): 'jump' | 'slide' {
  if (strategy.frontier) return strategy.frontier;
  return modeOf(strategy).replayed?.slides?.(strategy) ? 'slide' : 'jump';
}

function isMode(name: string): name is Mode {
  return Object.hasOwn(modes, name);
}

function fault(field: string, message: string): { ok: false; reason: StrategyFault } {
  return { ok: false, reason: { field, message } };
}

function describe(mode: Mode, issue: z.core.$ZodIssue | undefined): StrategyFault {
  if (!issue) return { field: '', message: 'memory_strategy is not valid.' };
  const field = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? '';
    const known = knownFields(mode);
    return {
      field: unknown,
      message: `Unknown field ${quote(unknown)} in memory_strategy with mode '${mode}'; the nearest known one is '${nearest(unknown, known)}'.`,
    };
  }
  return { field, message: `memory_strategy.${field} is not valid: ${issue.message}.` };
}

/** The fields that a strategy of a mode may have. */
export function knownFields(mode: Mode): string[] {
  return Object.keys(modes[mode].schema.shape);
}

/**
 * The known word with the smallest edit distance; one that holds the word as it stands comes before
 * all others.
 */
function nearest(word: string, known: readonly string[]): string {
  const short = word.slice(0, 64);
  const ranked = known.map((candidate) => ({
    candidate,
    distance: editDistance(short, candidate) - (candidate.includes(short) ? candidate.length : 0),
  }));
  return ranked.reduce((best, next) => (next.distance < best.distance ? next : best)).candidate;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function shareOf(window: number, remaining: number | undefined): number | undefined {
  return remaining === undefined ? undefined : Math.round(window * (1 - remaining));
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** A caller's value in a message: a short string as it is, anything else by its type. */
export function quote(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 64)}'` : `of type ${typeof value}`;
}
