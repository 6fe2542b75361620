/**
 * `memory_strategy`: parsing, and questions that apply to all modes.
 *
 * Each mode has a strict schema. An unknown field is refused, and the error names the nearest known
 * one: a setting that is silently ignored would cost its caller money until somebody notices.
 */
import type { z } from 'zod';
import { Latest } from '../../lib/latest.ts';
import type { Result } from '../../lib/result.ts';
import { measureOf, type TokenFactor, type TokenMeasure } from '../models/facts.ts';
import { type ModelTables, type ModelTerms, termsOf } from '../models/terms.ts';
import {
  type CacheMarksChoice,
  fault,
  hasBudget,
  type StrategyFault,
  type UpstreamApiChoice,
  withoutNulls,
} from '../strategy/fields.ts';
import { fieldsAt, hintFor, inWords, quote } from '../strategy/hint.ts';
import { modeHere, namesHere, placeBeside } from '../strategy/other-names.ts';
import { RETIRED_FIELDS } from '../strategy/retired.ts';
import type { Budgets } from './planned.ts';
import { type SummarizeStrategy, summarize } from './summarize.ts';
import {
  type ActingStrategy,
  type EditingStrategy,
  type MemoryStrategy,
  type Mode,
  modeOf,
  modes,
  type RecallingStrategy,
  type RetrievingStrategy,
  type SummarizingStrategy,
} from './table.ts';

export const MODES = Object.keys(modes) as Mode[];

/** Share of the window to leave free, for a strategy without budget and percentage. */
const DEFAULT_REMAINING_PCT = 0.2;

const FIELDS: readonly string[] = [...new Set(MODES.flatMap(knownFields))];

/**
 * Whether an object names no strategy: its mode is null, and so is each field beside it. A field
 * that is set without a mode is a fault.
 */
export function namesNone(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || !('mode' in input)) return false;
  return Object.keys(withoutNulls(input, FIELDS)).length === 0;
}

/**
 * Parses a strategy as a caller wrote it: an object, or a mode's name. Null is the default of a
 * field, also of one that another mode has: clients write out all fields of their settings.
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
  if (mode === undefined || mode === null)
    return fault('mode', `memory_strategy.mode is missing; it is one of ${MODES.join(', ')}.`);
  if (typeof mode !== 'string' || !isMode(mode)) {
    const meant = typeof mode === 'string' ? modeHere(mode.slice(0, LONGEST_NAME)) : undefined;
    const hint = meant === undefined ? 'it is' : `it is called '${meant}' here,`;
    return fault(
      'mode',
      `Unknown mode ${quote(mode)} in memory_strategy.mode; ${hint} one of ${MODES.join(', ')}.`,
    );
  }
  const parsed = modes[mode].schema.safeParse(withoutNulls(object, FIELDS), { error: inWords });
  if (!parsed.success) return { ok: false, reason: describe(mode, parsed.error.issues[0]) };
  const contradiction = modeOf(parsed.data).contradiction?.(parsed.data);
  return contradiction ? { ok: false, reason: contradiction } : { ok: true, value: parsed.data };
}

/** Whether the strategy edits the view. */
export function edits(strategy: MemoryStrategy): strategy is EditingStrategy {
  return modeOf(strategy).replayed !== undefined || recalls(strategy);
}

/**
 * How tokens are counted under a strategy.
 *
 * @param factors see `measureOf`
 */
export function tokenMeasure(
  strategy: MemoryStrategy,
  model: string | undefined,
  factors: readonly TokenFactor[],
): TokenMeasure {
  const measure = () => measureOf(model, edits(strategy) ? strategy.token_estimator : undefined, factors);
  return measures.of(strategy, [model, factors], measure);
}

const measures = new Latest<MemoryStrategy, TokenMeasure>();

/** Whether its view is planned around a memory, which has to be recalled before. */
export function recalls(strategy: MemoryStrategy): strategy is RecallingStrategy {
  return modeOf(strategy).recalled !== undefined;
}

/** Whether a model writes its summaries. */
export function summarizes(strategy: MemoryStrategy): strategy is SummarizingStrategy {
  return modeOf(strategy).summaryFacts !== undefined;
}

/** Whether requests are forwarded unchanged, whatever the upstream. */
export function passesThrough(strategy: Pick<MemoryStrategy, 'mode' | 'cache_marks'>): boolean {
  return modeOf(strategy).passesThrough === true && !asksForMarks(strategy);
}

/** Whether a strategy that edits nothing asks for marks of the prompt cache. */
export function asksForMarks({ cache_marks }: Pick<MemoryStrategy, 'cache_marks'>): boolean {
  return cache_marks === 'auto';
}

/**
 * The API that chat requests are sent over. A mode that edits nothing leaves them on chat, unless
 * the strategy says otherwise.
 */
export function upstreamApiOf(strategy: MemoryStrategy): UpstreamApiChoice {
  return strategy.upstream_api ?? (modeOf(strategy).passesThrough === true ? 'chat' : 'auto');
}

/** Who marks what the upstream's prompt cache keeps; only modes that edit add marks unasked. */
export function marksChoiceOf(strategy: MemoryStrategy): CacheMarksChoice {
  return strategy.cache_marks ?? (passesThrough(strategy) ? 'callers' : 'auto');
}

/** The strategy that edits the view: this one, or the one that acts for it. */
export function actingStrategy(strategy: MemoryStrategy, upstreamCompacts: boolean): ActingStrategy {
  const { actsAs } = modeOf(strategy);
  return actsAs ? actsAs(strategy, upstreamCompacts) : (strategy as ActingStrategy);
}

/** Whether the first request stays in every view. */
export function keepsFirstRequest(strategy: MemoryStrategy): boolean {
  return 'keep_first_user' in strategy && strategy.keep_first_user;
}

/**
 * A strategy that summarizes the whole array, with this strategy's summary settings and text
 * observations.
 */
export function wholeSummary(strategy: MemoryStrategy): SummarizeStrategy {
  const bare = summarize.schema.parse({ mode: 'summarize', keep_last_n_turns: 0, keep_first_user: false });
  if (!edits(strategy)) return bare;
  const { context_window_tokens, token_estimator, text_observation_prefixes } = strategy;
  const whole = { ...bare, context_window_tokens, token_estimator, text_observation_prefixes };
  if (!summarizes(strategy)) return whole;
  const { summarizer_model, summary_focus, summary_instructions, summary_max_tokens } = strategy;
  return { ...whole, summarizer_model, summary_focus, summary_instructions, summary_max_tokens };
}

/**
 * The strategy's budgets for a model, with percentages resolved. If both forms are set, the smaller
 * one applies. If none is set, the view stays below the step of the model's price, less the room
 * for an answer, which the next request sends again. Where the price has no step, the model has a
 * goal.
 */
export function budgetsOf(strategy: EditingStrategy, terms: ModelTerms): Budgets {
  const window = strategy.context_window_tokens ?? terms.window;
  const { token_budget, token_soft_budget, token_remaining_pct, token_soft_remaining_pct } = strategy;
  const none = !hasBudget(strategy);
  const step = none ? terms.prices.step?.above : undefined;
  const hard = smaller(
    smaller(token_budget, step === undefined ? undefined : step - answerRoomOf(terms.answer, step)),
    shareOf(window, token_remaining_pct ?? (none ? DEFAULT_REMAINING_PCT : undefined)),
  );
  const soft = smaller(token_soft_budget, shareOf(window, token_soft_remaining_pct));
  const goal = none && (terms.goal ?? window) < (hard ?? window) ? terms.goal : undefined;
  return {
    window,
    ...(hard === undefined ? {} : { hard }),
    ...(soft === undefined ? {} : { soft }),
    ...(goal === undefined ? {} : { goal }),
    ...(step === undefined ? {} : { step }),
  };
}

/**
 * Whether a strategy names neither a budget nor a trigger, so that its view is edited only where
 * the model's window, or a step of its price, demands it.
 */
export function waitsForWindow(strategy: EditingStrategy): boolean {
  const { replayed } = modeOf(strategy);
  if (!replayed || hasBudget(strategy)) return false;
  return Object.values(replayed.triggers(strategy)).every((due) => due === undefined);
}

/**
 * The largest room for an answer that the request does not limit: tokens, and a share of the
 * window. Some models may write an answer as long as their window.
 */
const MOST_ANSWER_TOKENS = 20_000;
const MOST_ANSWER_SHARE = DEFAULT_REMAINING_PCT;

/**
 * The room for an answer in tokens.
 *
 * @param longest the model's longest answer, if it is known
 * @param limit on the prompt
 */
export function answerRoomOf(longest: number | undefined, limit: number): number {
  return Math.min(longest ?? MOST_ANSWER_TOKENS, MOST_ANSWER_TOKENS, Math.floor(limit * MOST_ANSWER_SHARE));
}

/**
 * Whether the model gets a tool to fetch removed content (docs/refs-and-retrieval.md#retrieval).
 *
 * @param hasTools whether the caller's request has tools
 */
export function retrieves(strategy: MemoryStrategy, hasTools: boolean): strategy is RetrievingStrategy {
  return modeOf(strategy).retrieves?.(strategy, hasTools) ?? false;
}

/** Whether the strategy itself asks for an archive. */
export function asksForArchive(strategy: MemoryStrategy): boolean {
  return strategy.archive !== undefined && strategy.archive !== false;
}

/** Checks that the soft budget is not over the hard one, which depends on the model's window. */
export function budgetFault(
  strategy: MemoryStrategy,
  model: string | undefined,
  tables?: ModelTables,
): StrategyFault | undefined {
  if (!edits(strategy)) return undefined;
  if (strategy.token_soft_budget === undefined && strategy.token_soft_remaining_pct === undefined)
    return undefined;
  const { hard, soft } = budgetsOf(strategy, termsOf(model, tables));
  if (hard === undefined || soft === undefined || soft <= hard) return undefined;
  const field = strategy.token_soft_budget === undefined ? 'token_soft_remaining_pct' : 'token_soft_budget';
  return {
    field,
    message: `memory_strategy.${field} sets a soft budget of ${soft} tokens, over the hard budget of ${hard}; it must not be larger.`,
  };
}

/** How the frontier moves: the strategy's choice, else the mode's default. */
export function frontierOf(strategy: EditingStrategy): 'jump' | 'slide' {
  if (strategy.frontier) return strategy.frontier;
  return modeOf(strategy).replayed?.slides?.(strategy) ? 'slide' : 'jump';
}

function isMode(name: string): name is Mode {
  return Object.hasOwn(modes, name);
}

function describe(mode: Mode, issue: z.core.$ZodIssue | undefined): StrategyFault {
  if (!issue) return { field: '', message: 'memory_strategy is not valid.' };
  const field = issue.path.join('.');
  const inside = issue.code === 'invalid_union' ? issueInside(issue) : undefined;
  if (inside) return describe(mode, { ...inside, path: [...issue.path, ...inside.path] });
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? '';
    if (field !== '')
      return {
        field: `${field}.${unknown}`,
        message: `Unknown field ${quote(unknown)} in memory_strategy.${field}; ${hintFor(unknown, fieldsAt(modes[mode].schema, issue.path), 'its fields')}.`,
      };
    return {
      field: unknown,
      message: `Unknown field ${quote(unknown)} in memory_strategy with mode '${mode}'; ${hintIn(mode, unknown)}.`,
    };
  }
  return {
    field,
    message: `memory_strategy.${field} ${issue.code === 'custom' ? `is not valid: ${issue.message}` : issue.message}.`,
  };
}

/** In characters: longer names are none of anybody's. */
const LONGEST_NAME = 64;

/** What a caller probably meant by a field that the mode does not have. */
function hintIn(mode: Mode, unknown: string): string {
  const fields = knownFields(mode).filter((field) => !Object.hasOwn(RETIRED_FIELDS, field));
  if (unknown.length > LONGEST_NAME) return hintFor(unknown, fields, "the mode's fields");
  const modesWith = (field: string): Mode[] => MODES.filter((other) => knownFields(other).includes(field));
  const meant = namesHere(unknown).filter((field) => modesWith(field).length > 0);
  const here = meant.find((field) => fields.includes(field));
  const instead = `${mode} has ${here === undefined ? fields.join(', ') : `'${here}'`}`;
  const beside = placeBeside(unknown);
  if (beside !== undefined) return beside;
  const others = modesWith(unknown);
  if (others.length > 0) return `it is a field of ${others.join(', ')}; ${instead}`;
  if (here !== undefined) return `it is called '${here}' here`;
  const [elsewhere] = meant;
  if (elsewhere !== undefined)
    return `it is called '${elsewhere}' in ${modesWith(elsewhere).join(', ')}; ${instead}`;
  return hintFor(unknown, fields, "the mode's fields");
}

/** The fault of a member, if a value is an object where another type is allowed too. */
function issueInside({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined {
  return errors.flat().find(({ path, code }) => path.length > 0 || code === 'unrecognized_keys');
}

export function knownFields(mode: Mode): string[] {
  return Object.keys(modes[mode].schema.shape);
}

function shareOf(window: number, remaining: number | undefined): number | undefined {
  return remaining === undefined ? undefined : Math.round(window * (1 - remaining));
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
