/**
 * The plan: what is edited in a request, as a pure function of the request and the strategy (design §1).
 *
 *     history ─ prices ─▶ replay ─▶ cuts ─▶ removals, dropped messages ─▶ render ─▶ view
 *
 * Storage comes between plan and view only to say which removals may be made: a placeholder must never name a ref that
 * can't be fetched.
 */

import { HeldTokens } from '../conversation/bonds.ts';
import { type History, messagesOf } from '../conversation/history.ts';
import type { CountedEcho } from '../conversation/session-summary.ts';
import { type CompactContext, compactUnit } from '../edits/compact.ts';
import { createPreviewWriter } from '../edits/preview.ts';
import type { Removal } from '../edits/removal.ts';
import { coveredMessages, PrefixCursor, Prefixes } from '../edits/summarize.ts';
import { goesWithSteps, trimmedMessages } from '../edits/trim.ts';
import { CursorMover, type Effect, type Prices, replay } from '../replay/frontier.ts';
import { type Cuts, frontierUnit, type ReplayRule } from '../replay/rule.ts';
import { UnitCursor } from '../replay/unit-cursor.ts';
import {
  type AutoStrategy,
  type Budgets,
  budgetsOf,
  type CompactStrategy,
  DEFAULT_COMPACT_KEEP,
  DEFAULT_KEEP_STEPS,
  DEFAULT_KEEP_TURNS,
  type EditingStrategy,
  frontierOf,
  type ReplayedStrategy,
  type SummarizeStrategy,
  type TrimStrategy,
} from '../strategy/strategy.ts';
import { ANSWER_OVERHEAD, type TokenCounter } from '../tokens/tokens.ts';
import { planAuto } from '../modes/auto.ts';
import type { PlanContext, Planned, PlanRequest } from './planned.ts';

export type { PlanContext, PlanRequest } from './planned.ts';

export interface Plan extends Planned {
  readonly strategy: EditingStrategy;
  readonly history: History;
  readonly budgets: Budgets;
}

/**
 * Whether a strategy can have any effect on this history: false is certain, true is not. It counts no tokens, since a
 * count is at most the number of bytes.
 *
 * @param toolBytes bytes of the tools' definitions
 */
export function mayAct(strategy: EditingStrategy, request: PlanRequest, toolBytes: number): boolean {
  if (request.force || strategy.mode === 'rolling_summary') return true;
  const due = turnsDueOf(strategy);
  if (due !== undefined && request.history.turns.length >= due) return true;
  if (strategy.mode === 'auto' && request.retrieval) {
    const { offload_min_tokens } = strategy;
    if (request.history.messages.some(({ bytes }) => bytes > offload_min_tokens)) return true;
  }
  const { hard, soft, window } = budgetsWithin(strategy, request);
  const limit = Math.min(hard ?? window, soft ?? window, window - answerRoom(request.answerTokens, window));
  const most = request.history.messages.reduce((sum, message) => sum + message.bytes + message.flatTokens, 0);
  // Punctuation of the JSON outweighs the overhead of messages; that of tools is doubled to be safe.
  return most + 2 * toolBytes + ANSWER_OVERHEAD > limit;
}

/** Plans a request. `rolling_summary` is planned elsewhere, since its boundary is whatever memory is there (see `rolling.ts`). */
export function plan(strategy: ReplayedStrategy, request: PlanRequest, context: PlanContext): Plan {
  const { history } = request;
  const budgets = budgetsWithin(strategy, request);
  const prices = pricesOf(history, request.toolTokens, context.counter);
  const rule = ruleOf(strategy, budgets, request, context);

  if (strategy.mode === 'trim') {
    const effect = trimEffect(history, prices);
    const cursor = new UnitCursor(history, rule, effect, new HeldTokens(history, effect.whole));
    const result = replay(history, rule, prices, new CursorMover(rule, cursor));
    return {
      strategy,
      history,
      budgets,
      replay: result,
      segments: [],
      upcoming: [],
      dropped: trimmedMessages(history, result.cuts),
    };
  }

  if (strategy.mode === 'summarize') {
    const prefixes = prefixesOf(history, prices, strategy.summary_max_tokens, context.counter);
    const result = replay(history, rule, prices, new CursorMover(rule, new PrefixCursor(history, prefixes)));
    const unit = frontierUnit(result.cuts);
    const planned = { strategy, history, budgets, replay: result, segments: [], upcoming: [] };
    if (unit === 0) return { ...planned, dropped: [] };
    const prefix = prefixes.at(unit);
    return { ...planned, prefix, dropped: coveredMessages(history, prefix) };
  }

  const compactContext: CompactContext = {
    ...context,
    keep: strategy.compact_offload,
    writer: createPreviewWriter(history.messages, context),
  };
  if (strategy.mode === 'auto') {
    const { retrieval = false, cachedShare = DEFAULT_CACHED_SHARE } = request;
    const echo = countedEcho(history, context.counter);
    const auto = { history, retrieval, cachedShare, echo };
    return { strategy, history, budgets, ...planAuto(strategy, auto, rule, prices, compactContext) };
  }

  const removals = removalsBy(history, strategy, compactContext);
  const freed = (unit: number): number => removals(unit).reduce((sum, removal) => sum + removal.freed, 0);
  const cursor = new UnitCursor(history, rule, { whole: freed, step: freed });
  const result = replay(history, rule, prices, new CursorMover(rule, cursor));
  const collect = (from: Cuts, to: Cuts): Removal[] =>
    range(frontierUnit(from), frontierUnit(to)).flatMap((unit) => removals(unit));
  return {
    strategy,
    history,
    budgets,
    replay: result,
    segments: result.moves.map((cuts, index) => collect(result.moves[index - 1] ?? START, cuts)),
    upcoming: collect(result.cuts, result.next),
    dropped: [],
  };
}

/** The price of cached input for a model that nobody knows (design §3). */
const DEFAULT_CACHED_SHARE = 0.1;

const START: Cuts = { turn: 0, step: 0 };

/** The strategy's budgets, within what the upstream is known to take. */
function budgetsWithin(strategy: EditingStrategy, { model, limit }: PlanRequest): Budgets {
  const budgets = budgetsOf(strategy, model);
  return { ...budgets, window: Math.min(budgets.window, limit ?? budgets.window) };
}

/** The removals of each unit, found when first asked for. */
function removalsBy(
  history: History,
  strategy: CompactStrategy,
  context: CompactContext,
): (unit: number) => readonly Removal[] {
  const known: Removal[][] = [];
  return (index) => {
    const unit = history.units[index];
    if (!unit) return [];
    known[index] ??= compactUnit(history, unit, strategy, context);
    return known[index];
  };
}

function trimEffect(history: History, prices: Prices): Effect {
  const whole = (index: number): number => {
    const unit = history.units[index];
    if (!unit) return 0;
    return messagesOf(history, unit).reduce((sum, at) => sum + (prices[at + 1] ?? 0) - (prices[at] ?? 0), 0);
  };
  const step = (index: number): number => {
    const unit = history.units[index];
    return unit && goesWithSteps(unit) ? whole(index) : 0;
  };
  return { whole, step };
}

/** Weighs the prefixes of a history; a summary that came back among them counts as it is. */
export function prefixesOf(
  history: History,
  prices: Prices,
  maxTokens: number,
  counter: TokenCounter,
): Prefixes {
  return new Prefixes(history, prices, maxTokens, countedEcho(history, counter));
}

function countedEcho({ echo }: History, counter: TokenCounter): CountedEcho | undefined {
  return echo && { ...echo, tokens: counter.text(echo.text) };
}

/** The price of the array up to each message. */
export function pricesOf(history: History, toolTokens: number, counter: TokenCounter): Prices {
  const prices = new Float64Array(history.messages.length + 1);
  prices[0] = toolTokens + ANSWER_OVERHEAD;
  for (const [index, message] of history.messages.entries())
    prices[index + 1] = (prices[index] ?? 0) + counter.message(message);
  return prices;
}

function ruleOf(
  strategy: ReplayedStrategy,
  budgets: Budgets,
  request: PlanRequest,
  context: PlanContext,
): ReplayRule {
  return {
    frontier: frontierOf(strategy),
    turnsDue: strategy.mode === 'auto' ? compactionDue(strategy) : turnsDueOf(strategy),
    turnsLossy: strategy.mode === 'auto' ? strategy.context_limit : undefined,
    hard: budgets.hard,
    soft: isReversible(strategy, context) ? budgets.soft : undefined,
    watermark: strategy.low_watermark_pct,
    minReclaim: strategy.min_reclaim_tokens ?? 0,
    window: budgets.window,
    learned: request.limit !== undefined && request.limit <= budgets.window,
    answer: answerRoom(request.answerTokens, budgets.window),
    force: request.force,
    ...(request.whole ? NO_TAIL : tailOf(strategy)),
  };
}

const NO_TAIL = { stops: 'unit', keepTurns: 0, keepSteps: 0 } as const;

/** The tail. A caller who sets the turns and not the steps forbids that it shrinks (design §3). */
function tailOf(strategy: ReplayedStrategy): Pick<ReplayRule, 'keepTurns' | 'keepSteps' | 'stops'> {
  if (strategy.mode === 'compact' || strategy.mode === 'auto') {
    const kept = keptOf(strategy);
    return {
      stops: 'unit',
      keepTurns: kept ?? DEFAULT_COMPACT_KEEP,
      keepSteps: strategy.compact_keep_steps ?? (kept === undefined ? DEFAULT_KEEP_STEPS : undefined),
    };
  }
  return {
    stops: 'turn',
    keepTurns: keptTurns(strategy),
    keepSteps: strategy.keep_last_n_turns === undefined ? DEFAULT_KEEP_STEPS : undefined,
  };
}

/** The turns that a caller has asked to keep; `auto` has two fields for that. */
function keptOf(strategy: CompactStrategy | AutoStrategy): number | undefined {
  if (strategy.mode === 'compact' || strategy.keep_last_n_turns === undefined) return strategy.compact_keep;
  return Math.max(strategy.keep_last_n_turns, strategy.compact_keep ?? 0);
}

/** The turn that is being worked on always stays: a view without it would ask for nothing. */
function keptTurns(strategy: TrimStrategy | SummarizeStrategy): number {
  const keep =
    strategy.keep_last_n_turns ?? Math.min(DEFAULT_KEEP_TURNS, turnsDueOf(strategy) ?? DEFAULT_KEEP_TURNS);
  return Math.max(1, keep);
}

/** `compact` acts over its trigger, `trim` and `summarize` at it (design §3). */
function turnsDueOf(strategy: ReplayedStrategy): number | undefined {
  if (strategy.mode === 'trim') return strategy.max_turns;
  if (strategy.mode === 'summarize') return strategy.context_limit;
  const compaction = compactionDue(strategy);
  if (strategy.mode === 'compact' || strategy.context_limit === undefined) return compaction;
  return Math.min(compaction ?? strategy.context_limit, strategy.context_limit);
}

function compactionDue({
  compact_trigger_turns: turns,
}: Pick<CompactStrategy, 'compact_trigger_turns'>): number | undefined {
  return turns === undefined ? undefined : turns + 1;
}

/** Under the soft budget only what loses nothing may run. */
function isReversible(strategy: ReplayedStrategy, { refs }: PlanContext): boolean {
  if (strategy.mode !== 'compact' && strategy.mode !== 'auto') return false;
  return strategy.compact_offload && refs !== undefined;
}

/** An answer limit that would leave no room at all is not one. */
function answerRoom(answer: number, window: number): number {
  return answer < window ? answer : 0;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
