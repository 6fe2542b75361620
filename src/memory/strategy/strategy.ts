/**
 * `memory_strategy`: what a caller may say, with its defaults (design §3).
 *
 * One strict schema per mode. A field that no schema knows is refused with the nearest one that exists: a strategy that is
 * silently ignored would cost its caller money for as long as nobody looks.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { windowOf } from './models.ts';

const count = z.int().nonnegative();
const share = z.number().min(0).max(1);
/** Tokens of the longest preview that may be asked for. */
export const LONGEST_PREVIEW = 1_000;

/** Tokens of the shortest and of the longest summary that may be asked for. */
const SHORTEST_SUMMARY = 64;
const LONGEST_SUMMARY = 32_000;
/** A focus is a hint of a few sentences. In characters. */
const LONGEST_FOCUS = 2_000;

const summaryTokens = z.int().min(SHORTEST_SUMMARY).max(LONGEST_SUMMARY);
const seconds = z.number().nonnegative().max(3_600);

/** Of the modes that summarise. */
const summary = {
  summarizer_model: z.string().min(1).max(200).optional(),
  summary_focus: z.string().max(LONGEST_FOCUS).optional(),
};

/** Names and prefixes are compared with every output, so there are not more of them than a person writes. */
const names = z.array(z.string().min(1)).max(100).default([]);

/** Where a jump of `auto` stops, as a share of the budget (design §3). */
const AUTO_WATERMARK = 0.6;
/** What `auto` compacts, and what it shows of it, in tokens (design §3). */
const AUTO_MIN_TOKENS = 500;
const AUTO_PREVIEW_TOKENS = 48;
const AUTO_OFFLOAD_TOKENS = 8_000;
/** An output is offloaded to a few hundred tokens: what is not much larger would hardly be smaller. */
const SMALLEST_OFFLOAD = 1_000;

/** Of every mode that edits. */
const common = {
  token_budget: count.optional(),
  token_soft_budget: count.optional(),
  context_window_tokens: z.int().positive().optional(),
  token_remaining_pct: share.optional(),
  token_soft_remaining_pct: share.optional(),
  low_watermark_pct: share.default(0),
  frontier: z.enum(['jump', 'slide']).optional(),
  min_reclaim_tokens: count.default(0),
  text_observation_prefixes: names,
  archive: z.boolean().default(false),
};

const retrieval = z.enum(['off', 'tool']);
/** More rounds of retrieval than this would only be a loop. */
const MOST_ROUNDS = 20;

/** Of the modes that compact. */
const compaction = {
  compact_trigger_turns: count.optional(),
  compact_keep: count.optional(),
  compact_keep_steps: count.optional(),
  compact_clear_tool_inputs: z.boolean().default(false),
  compact_exclude_tools: names,
  compact_include_tools: names,
  compact_min_tokens: count.default(0),
  compact_offload: z.boolean().default(true),
  compact_preview_tokens: count.max(LONGEST_PREVIEW).default(0),
  compact_retrieval: retrieval.default('off'),
  retrieval_max_rounds: count.max(MOST_ROUNDS).default(3),
};

/** Of the modes whose summary stands for a prefix. */
const summarizing = {
  ...summary,
  context_limit: count.optional(),
  keep_last_n_turns: count.optional(),
  summary_max_tokens: summaryTokens.default(2048),
  incremental: z.boolean().default(true),
};

const schemas = {
  none: z.strictObject({ mode: z.literal('none') }),
  trim: z.strictObject({
    mode: z.literal('trim'),
    ...common,
    max_turns: count.optional(),
    keep_last_n_turns: count.optional(),
  }),
  compact: z.strictObject({
    mode: z.literal('compact'),
    ...common,
    ...compaction,
  }),
  summarize: z.strictObject({
    mode: z.literal('summarize'),
    ...common,
    ...summarizing,
  }),
  rolling_summary: z.strictObject({
    mode: z.literal('rolling_summary'),
    ...common,
    ...summary,
    rolling_window_size: z.int().min(2).default(14),
    summarize_after_seq: count.default(5),
    full_zone_turns: count.default(5),
    summary_max_tokens: summaryTokens.default(1000),
    total_max_tokens: count.default(10_000),
    overflow_policy: z.enum(['truncate_oldest', 'truncate_summary', 'error']).default('truncate_oldest'),
    retry_attempts: count.max(10).default(3),
    retry_backoff_base_s: seconds.max(60).default(2),
    degraded_retry_interval_s: seconds.default(30),
    recovery_backlog_limit: count.default(20),
    include_trajectory_digest: z.boolean().default(true),
  }),
  auto: z.strictObject({
    mode: z.literal('auto'),
    ...common,
    ...compaction,
    ...summarizing,
    low_watermark_pct: share.default(AUTO_WATERMARK),
    /** Absent: the floor of `floor.ts`. */
    min_reclaim_tokens: count.optional(),
    text_observation_prefixes: names.default(['Observation:']),
    compact_clear_tool_inputs: z.boolean().default(true),
    compact_min_tokens: count.default(AUTO_MIN_TOKENS),
    compact_preview_tokens: count.max(LONGEST_PREVIEW).default(AUTO_PREVIEW_TOKENS),
    /** Absent: `tool` for a request with tools. */
    compact_retrieval: retrieval.optional(),
    offload_min_tokens: z.int().min(SMALLEST_OFFLOAD).default(AUTO_OFFLOAD_TOKENS),
  }),
  native: z.strictObject({ mode: z.literal('native'), compact_threshold: z.int().positive().optional() }),
};

/** The modes that exist. */
export const MODES = Object.keys(schemas) as Mode[];

export type Mode = keyof typeof schemas;
type NoneStrategy = z.output<typeof schemas.none>;
export type NativeStrategy = z.output<typeof schemas.native>;
export type TrimStrategy = z.output<typeof schemas.trim>;
export type CompactStrategy = z.output<typeof schemas.compact>;
export type SummarizeStrategy = z.output<typeof schemas.summarize>;
export type RollingStrategy = z.output<typeof schemas.rolling_summary>;
export type AutoStrategy = z.output<typeof schemas.auto>;
/** A strategy whose view is found by replaying the array. */
export type ReplayedStrategy = TrimStrategy | CompactStrategy | SummarizeStrategy | AutoStrategy;
/** A strategy that has a model write. */
export type SummarizingStrategy = SummarizeStrategy | AutoStrategy | RollingStrategy;
/** What compaction is done by. */
export type CompactSettings = Omit<CompactStrategy, 'mode' | 'compact_retrieval' | keyof typeof common>;
export type EditingStrategy = ReplayedStrategy | RollingStrategy;
export type MemoryStrategy = NoneStrategy | NativeStrategy | EditingStrategy;
/** What is done to a view: nothing where the upstream itself does it. */
export type ActingStrategy = NoneStrategy | EditingStrategy;

/** A strategy as a caller writes it, defaults left out. */
export type MemoryStrategyRequest = { [Name in Mode]: z.input<(typeof schemas)[Name]> }[Mode];

/** What is wrong with a strategy: the field, as a path from `memory_strategy` on, and a sentence that says what would be right. */
export interface StrategyFault {
  readonly field: string;
  readonly message: string;
}

/** Turns in the tail, and steps, when a strategy does not name them (design §3). */
export const DEFAULT_COMPACT_KEEP = 2;
export const DEFAULT_KEEP_STEPS = 3;
export const DEFAULT_KEEP_TURNS = 3;

/** Share of the model's window that is left free, when a strategy names neither a budget nor a percentage. */
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
  const parsed = schemas[mode].safeParse(object);
  if (!parsed.success) return { ok: false, reason: describe(mode, parsed.error.issues[0]) };
  const contradiction = edits(parsed.data) ? contradictionIn(parsed.data) : undefined;
  return contradiction ? { ok: false, reason: contradiction } : { ok: true, value: parsed.data };
}

/** Whether a strategy has a model write. */
export function summarizes(strategy: EditingStrategy): strategy is SummarizingStrategy {
  return ['summarize', 'rolling_summary', 'auto'].includes(strategy.mode);
}

/** Whether a strategy says how the view is edited. */
export function edits(strategy: MemoryStrategy): strategy is EditingStrategy {
  return strategy.mode !== 'none' && strategy.mode !== 'native';
}

/**
 * What a strategy does to the view. `native` leaves it to an upstream that compacts; for any other it is a summary of the prefix once the
 * threshold is passed.
 */
export function actingStrategy(strategy: MemoryStrategy, upstreamCompacts: boolean): ActingStrategy {
  if (strategy.mode !== 'native') return strategy;
  if (upstreamCompacts) return { mode: 'none' };
  return schemas.summarize.parse({ mode: 'summarize', token_budget: strategy.compact_threshold });
}

/** A summary of all that there is, by what a strategy says of its summaries and of what is a turn. */
export function wholeSummary(strategy: MemoryStrategy): SummarizeStrategy {
  const bare = schemas.summarize.parse({ mode: 'summarize', keep_last_n_turns: 0 });
  if (!edits(strategy)) return bare;
  const { context_window_tokens, text_observation_prefixes } = strategy;
  const whole = { ...bare, context_window_tokens, text_observation_prefixes };
  if (strategy.mode === 'trim' || strategy.mode === 'compact') return whole;
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

/** The strategy's budgets for a model, percentages resolved. Where a budget is given both ways, the smaller one holds. */
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
 * Whether the model is given a tool to fetch what was removed (design §3).
 *
 * @param hasTools whether the caller's request has tools
 */
export function retrieves(
  strategy: MemoryStrategy,
  hasTools: boolean,
): strategy is CompactStrategy | AutoStrategy {
  if (strategy.mode !== 'compact' && strategy.mode !== 'auto') return false;
  const { compact_retrieval = hasTools ? 'tool' : 'off', compact_offload, retrieval_max_rounds } = strategy;
  return compact_retrieval === 'tool' && compact_offload && retrieval_max_rounds > 0;
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

/** How the frontier moves: as the strategy says; else a turn trigger alone slides in `compact`, and all else jumps. */
export function frontierOf(strategy: EditingStrategy): 'jump' | 'slide' {
  if (strategy.frontier) return strategy.frontier;
  if (strategy.mode !== 'compact' || strategy.compact_trigger_turns === undefined) return 'jump';
  const budgeted =
    strategy.token_budget ??
    strategy.token_soft_budget ??
    strategy.token_remaining_pct ??
    strategy.token_soft_remaining_pct;
  return budgeted === undefined ? 'slide' : 'jump';
}

function contradictionIn(strategy: EditingStrategy): StrategyFault | undefined {
  if ('compact_retrieval' in strategy && strategy.compact_retrieval === 'tool' && !strategy.compact_offload)
    return {
      field: 'compact_retrieval',
      message:
        "memory_strategy.compact_retrieval must not be 'tool' where memory_strategy.compact_offload is false: nothing is kept that could be retrieved.",
    };
  if (strategy.mode === 'compact' || strategy.mode === 'rolling_summary') return undefined;
  const keep = strategy.keep_last_n_turns;
  const [limit, most] =
    strategy.mode === 'trim' ? ['max_turns', strategy.max_turns] : ['context_limit', strategy.context_limit];
  if (keep === undefined || most === undefined || keep <= most) return undefined;
  return {
    field: 'keep_last_n_turns',
    message: `memory_strategy.keep_last_n_turns (${keep}) must not be larger than memory_strategy.${limit} (${most}).`,
  };
}

function isMode(name: string): name is Mode {
  return Object.hasOwn(schemas, name);
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
  return Object.keys(schemas[mode].shape);
}

/** The known word with the smallest edit distance; one that holds the word as it stands comes before all others. */
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
