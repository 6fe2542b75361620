/**
 * The plan: what is edited in a request, as a pure function of the request and the strategy (design §1).
 *
 *     history ─ prices ─▶ replay ─▶ cuts ─▶ removals, dropped messages ─▶ render ─▶ view
 *
 * Storage comes between plan and view only to say which removals may be made: a placeholder must never name a ref that
 * can't be fetched.
 */
import { type CompactContext, type ContentFacts, compactUnit } from './edits/compact.ts';
import type { Removal } from './edits/removal.ts';
import { PrefixCursor, Prefixes, type SummarizedPrefix } from './edits/summarize.ts';
import { trimmedMessages } from './edits/trim.ts';
import {
  type Cuts,
  type Effect,
  frontierUnit,
  type Prices,
  type Replay,
  type ReplayRule,
  replay,
  UnitCursor,
} from './frontier.ts';
import { type History, messagesOf } from './history.ts';
import type { Digest, RefNamer } from './placeholder.ts';
import { createPreviewWriter, type WrittenPreviews } from './preview.ts';
import {
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
} from './strategy.ts';
import { ANSWER_OVERHEAD, type TokenCounter } from './tokens.ts';

/** The request, as far as the plan sees it. */
export interface PlanRequest {
  readonly history: History;
  readonly model: string | undefined;
  /** Tokens of the tools. */
  readonly toolTokens: number;
  /** Tokens that the answer may take, as the caller limits them; 0 when it doesn't. */
  readonly answerTokens: number;
  /** Triggers count as met. */
  readonly force: boolean;
}

/** What the plan takes from its isolate: functions and memories, never state. */
export interface PlanContext {
  readonly counter: TokenCounter;
  /** The tenant's refs; absent when there is no place to keep anything. */
  readonly refs: RefNamer | undefined;
  readonly digest: Digest;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
}

export interface Plan {
  readonly strategy: EditingStrategy;
  readonly history: History;
  readonly budgets: Budgets;
  readonly replay: Replay;
  /** What becomes a placeholder, by segment: the units between two frontiers. */
  readonly segments: readonly (readonly Removal[])[];
  /** What the next move would make a placeholder; it may be stored ahead. */
  readonly upcoming: readonly Removal[];
  /** Messages that leave the view, ascending. */
  readonly dropped: readonly number[];
  /** What a summary is to stand for. */
  readonly prefix?: SummarizedPrefix;
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
  const { hard, soft, window } = budgetsOf(strategy, request.model);
  const limit = Math.min(hard ?? window, soft ?? window, window - answerRoom(request.answerTokens, window));
  const most = request.history.messages.reduce((sum, message) => sum + message.bytes + message.flatTokens, 0);
  // Punctuation of the JSON outweighs the overhead of messages; that of tools is doubled to be safe.
  return most + 2 * toolBytes + ANSWER_OVERHEAD > limit;
}

/** Plans a request. `rolling_summary` is planned elsewhere, since its boundary is whatever memory is there (see `rolling.ts`). */
export function plan(strategy: ReplayedStrategy, request: PlanRequest, context: PlanContext): Plan {
  const { history } = request;
  const budgets = budgetsOf(strategy, request.model);
  const prices = pricesOf(history, request.toolTokens, context.counter);
  const rule = ruleOf(strategy, budgets, request, context);

  if (strategy.mode === 'trim') {
    const result = replay(history, rule, prices, new UnitCursor(history, rule, trimEffect(history, prices)));
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
    const result = replay(history, rule, prices, new PrefixCursor(history, prefixes));
    const unit = frontierUnit(result.cuts);
    const planned = { strategy, history, budgets, replay: result, segments: [], upcoming: [] };
    if (unit === 0) return { ...planned, dropped: [] };
    const prefix = prefixes.at(unit);
    return { ...planned, prefix, dropped: coveredMessages(history, prefix) };
  }

  const removals = removalsBy(history, strategy, context);
  const freed = (unit: number): number => removals(unit).reduce((sum, removal) => sum + removal.freed, 0);
  const cursor = new UnitCursor(history, rule, { whole: freed, step: freed });
  const result = replay(history, rule, prices, cursor);
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

const START: Cuts = { turn: 0, step: 0 };

/** The removals of each unit, found when first asked for. */
function removalsBy(
  history: History,
  strategy: CompactStrategy,
  context: PlanContext,
): (unit: number) => readonly Removal[] {
  const known: Removal[][] = [];
  const compactContext: CompactContext = {
    ...context,
    keep: strategy.compact_offload,
    writer: createPreviewWriter(history.messages, context),
  };
  return (index) => {
    const unit = history.units[index];
    if (!unit) return [];
    known[index] ??= compactUnit(history, unit, strategy, compactContext);
    return known[index];
  };
}

function trimEffect(history: History, prices: Prices): Effect {
  const whole = (index: number): number => {
    const unit = history.units[index];
    if (!unit) return 0;
    return messagesOf(history, unit).reduce((sum, at) => sum + (prices[at + 1] ?? 0) - (prices[at] ?? 0), 0);
  };
  return { whole, step: (index) => (history.units[index]?.step ? whole(index) : 0) };
}

/** Weighs the prefixes of a history; a summary that came back among them counts as it is. */
export function prefixesOf(
  history: History,
  prices: Prices,
  maxTokens: number,
  counter: TokenCounter,
): Prefixes {
  const { echo } = history;
  return new Prefixes(history, prices, maxTokens, echo && { ...echo, tokens: counter.text(echo.text) });
}

/** The messages that a summary takes the place of, ascending. */
export function coveredMessages(history: History, { end, request }: SummarizedPrefix): number[] {
  return range(0, end).filter((index) => history.messages[index]?.role !== 'preamble' && index !== request);
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
    turnsDue: turnsDueOf(strategy),
    hard: budgets.hard,
    soft: isReversible(strategy, context) ? budgets.soft : undefined,
    watermark: strategy.low_watermark_pct,
    minReclaim: strategy.min_reclaim_tokens,
    window: budgets.window,
    answer: answerRoom(request.answerTokens, budgets.window),
    force: request.force,
    ...tailOf(strategy),
  };
}

/** The tail. A caller who sets the turns and not the steps forbids that it shrinks (design §3). */
function tailOf(strategy: ReplayedStrategy): Pick<ReplayRule, 'keepTurns' | 'keepSteps' | 'stops'> {
  if (strategy.mode === 'compact')
    return {
      stops: 'unit',
      keepTurns: strategy.compact_keep ?? DEFAULT_COMPACT_KEEP,
      keepSteps:
        strategy.compact_keep_steps ?? (strategy.compact_keep === undefined ? DEFAULT_KEEP_STEPS : undefined),
    };
  return {
    stops: 'turn',
    keepTurns: keptTurns(strategy),
    keepSteps: strategy.keep_last_n_turns === undefined ? DEFAULT_KEEP_STEPS : undefined,
  };
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
  return strategy.compact_trigger_turns === undefined ? undefined : strategy.compact_trigger_turns + 1;
}

/** Under the soft budget only what loses nothing may run. */
function isReversible(strategy: ReplayedStrategy, { refs }: PlanContext): boolean {
  return strategy.mode === 'compact' && strategy.compact_offload && refs !== undefined;
}

/** An answer limit that would leave no room at all is not one. */
function answerRoom(answer: number, window: number): number {
  return answer < window ? answer : 0;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
