/**
 * Rolling memory (docs/design.md#8-summaries): a summary of the rounds before the full zone, made
 * in the background, and everything after it verbatim. Which memory is there is the one thing that
 * the array does not tell; all else is a function of it.
 */

import { heldMessages } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import type { Boundary } from '../conversation/passage.ts';
import { type Round, windowStart } from '../conversation/sequence.ts';
import { BLOCK_TOKENS, coveredMessages, prefixesOf, type SummarizedPrefix } from '../edits/summarize.ts';
import type { Replay } from '../replay/frontier.ts';
import { type Budgets, budgetsOf, type RollingStrategy } from '../strategy/strategy.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { tokensIn, tokensOfAll } from '../tokens/sums.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { Plan } from './plan.ts';
import { type ShownSummary, type SummaryWords, showSummary } from './view.ts';

/** A memory that is due: over which sequence numbers, and up to which message. */
export interface DueMemory {
  readonly start: number;
  readonly boundary: Boundary;
}

/**
 * The memory to be made after an answered round. `full_zone_turns: 0`: 5 → (0,5), 13 → (0,13), 15 →
 * (2,15), 19 → (6,19).
 *
 * @param over boundaries behind the rounds that are over, ascending; the last one has just been
 *   answered
 */
export function dueMemory(strategy: RollingStrategy, over: readonly Boundary[]): DueMemory | undefined {
  const last = over.at(-1);
  const boundary = over.at(-1 - strategy.full_zone_turns);
  if (!last || !boundary || last.sequence < strategy.summarize_after_seq) return undefined;
  return { start: windowStart(boundary.sequence, strategy.rolling_window_size), boundary };
}

/** A memory in use. */
export interface UsedMemory extends SummaryWords {
  /** The messages before this index are covered. */
  readonly end: number;
  /** Whether another memory was in use at the request before. */
  readonly moved: boolean;
}

export interface RollingPlan {
  readonly plan: Plan;
  /**
   * The memory as it is shown, shortened where the budget asked for that; undefined when nothing
   * would be shorter.
   */
  readonly shown: ShownSummary | undefined;
  /** Messages of the oldest verbatim rounds that had to go. */
  readonly trimmed: number;
}

export type BudgetExceeded = { readonly tokens: number; readonly budget: number };

/**
 * Plans a request around the memory in use; without one nothing changes. Returns what exceeds the
 * budget where the policy is `error`.
 *
 * @param learned tokens that the upstream takes at the most, where it has said so. Nothing is
 *   refused for that, and without a memory the oldest rounds go, where the policy lets them
 */
export function planRolling(
  strategy: RollingStrategy,
  history: History,
  rounds: readonly Round[],
  model: string | undefined,
  sums: TokenSums,
  memory: UsedMemory | undefined,
  counter: TokenCounter,
  learned?: number,
): RollingPlan | BudgetExceeded {
  const before = tokensOfAll(sums);
  const fixed = before - tokensBetween(history, sums, 0, history.messages.length);
  const limit = strategy.overflow_policy === 'error' ? undefined : learned;
  const budgets = budgetsIn(strategy, model, fixed, limit);
  const base = { strategy, history, segments: [], upcoming: [] };
  const covered = memory && prefixAt(history, sums, memory.end, strategy.summary_max_tokens, counter);
  const whole = memory && covered && showSummary(history, covered, { ...memory, to: memory.end }, counter);
  // Nothing is ever replaced by something longer.
  if (!memory || !whole || whole.tokens >= covered.covered) {
    const raw = rawView(strategy, history, rounds, sums, limit === undefined ? undefined : limit - fixed);
    const plan = { ...base, budgets: withinLimit(budgetsOf(strategy, model), limit), ...raw };
    return { plan, shown: undefined, trimmed: 0 };
  }

  const allowed = (budgets.hard ?? budgets.window) - fixed;
  const fitted = (messages: number): Fitted => {
    const verbatim =
      tokensBetween(history, sums, memory.end, messages) + heldTokens(history, sums, memory.end);
    const over = whole.tokens + verbatim - allowed;
    const asItIs = { text: memory.text, end: memory.end, tokens: whole.tokens + verbatim, over };
    if (over <= 0) return asItIs;
    if (strategy.overflow_policy === 'truncate_oldest') {
      const begun = rounds.filter(({ first }) => first < messages);
      return { ...asItIs, end: endBehindOldest(history, begun, sums, memory.end, over) };
    }
    const text = truncated(memory.text, counter.text(memory.text) - over, counter);
    return strategy.overflow_policy === 'truncate_summary' ? { ...asItIs, text } : asItIs;
  };
  const fit = fitted(history.messages.length);
  if (fit.over > 0 && strategy.overflow_policy === 'error') return { tokens: fit.tokens, budget: allowed };

  const prefix = prefixAt(history, sums, fit.end, strategy.summary_max_tokens, counter);
  const dropped = coveredMessages(history, prefix);
  const trimmed = dropped.filter((index) => index >= memory.end).length;
  const after = before - prefix.covered + prefix.limit + BLOCK_TOKENS;
  // What the policies take out follows the conversation's end: the request before may have been
  // shown more.
  const earlier = history.requestPoints.at(-2)?.messages ?? 0;
  const former = earlier > memory.end ? fitted(earlier) : fit;
  const moved = memory.moved || former.end !== fit.end || former.text !== fit.text;
  const cuts = { turn: prefix.unit, step: prefix.unit };
  const trigger = fit.over > 0 && budgets.hard === limit ? 'upstream_limit' : 'turns';
  const replay: Replay = { ...still(before), after, moved, trigger, cuts, next: cuts };
  const words = { ...memory, text: fit.text, to: memory.end };
  return {
    plan: { ...base, budgets, replay, prefix, dropped },
    shown: showSummary(history, prefix, words, counter),
    trimmed,
  };
}

/** A memory and where the verbatim messages begin, within the budget. */
interface Fitted {
  readonly text: string;
  readonly end: number;
  /** Tokens of both, before anything was taken out, and how many of them are too many. */
  readonly tokens: number;
  readonly over: number;
}

/** The prefix of a history that ends between two rounds. */
function prefixAt(
  history: History,
  sums: TokenSums,
  end: number,
  maxTokens: number,
  counter: TokenCounter,
): SummarizedPrefix {
  const next = history.units.findIndex((unit) => unit.first >= end);
  const prefixes = prefixesOf(history, sums, maxTokens, counter);
  prefixes.held.arrive(history.messages.length);
  return { ...prefixes.at(next < 0 ? history.units.length : next), request: undefined };
}

/**
 * What memory and verbatim messages may have together counts as budget, beside what nobody can take
 * out.
 */
function budgetsIn(
  strategy: RollingStrategy,
  model: string | undefined,
  fixed: number,
  limit: number | undefined,
): Budgets {
  const budgets = budgetsOf(strategy, model);
  const hard = Math.min(budgets.hard ?? budgets.window, strategy.total_max_tokens + fixed);
  return withinLimit({ ...budgets, hard }, limit);
}

function withinLimit(budgets: Budgets, limit: number | undefined): Budgets {
  if (limit === undefined) return budgets;
  const { hard = limit, window } = budgets;
  return { ...budgets, hard: Math.min(hard, limit), window: Math.min(window, limit) };
}

/**
 * What goes up where there is no memory: all of it; within a learned limit, what the policy leaves.
 *
 * @param allowed tokens that the limit leaves, beside what nobody can take out
 */
function rawView(
  strategy: RollingStrategy,
  history: History,
  rounds: readonly Round[],
  sums: TokenSums,
  allowed: number | undefined,
): Pick<Plan, 'replay' | 'dropped'> {
  const before = tokensOfAll(sums);
  if (allowed === undefined || strategy.overflow_policy !== 'truncate_oldest')
    return { replay: still(before), dropped: [] };
  const from = behindEcho(history, rounds);
  const endAt = (messages: number): number => {
    const begun = rounds.filter(({ first }) => first < messages);
    return endBehindOldest(history, begun, sums, from, tokensBetween(history, sums, 0, messages) - allowed);
  };
  const end = endAt(history.messages.length);
  if (end === from) return { replay: still(before), dropped: [] };
  const unit = history.units.findIndex(({ first }) => first >= end);
  const cuts = { turn: unit, step: unit };
  const held = heldMessages(history, unit);
  const after = before - tokensBetween(history, sums, from, end) + heldTokens(history, sums, end, from);
  const moved = endAt(history.requestPoints.at(-2)?.messages ?? 0) !== end;
  const dropped = history.messages.flatMap(({ role }, index) =>
    index >= from && index < end && role !== 'preamble' && !held.has(index) ? [index] : [],
  );
  return { replay: { ...still(before), cuts, next: cuts, moved, trigger: 'upstream_limit', after }, dropped };
}

/** The first message that may go without taking along a summary that came back. */
function behindEcho({ echo }: History, rounds: readonly Round[]): number {
  if (!echo) return 0;
  return echo.first === echo.last ? (rounds[0]?.end ?? 0) : echo.last + 1;
}

/** Whole rounds go, oldest first; the last one is being worked on, and stays. */
function endBehindOldest(
  history: History,
  rounds: readonly Round[],
  sums: TokenSums,
  from: number,
  over: number,
): number {
  let end = from;
  let freed = 0;
  for (const round of rounds.slice(0, -1)) {
    if (round.end <= from) continue;
    if (freed >= over) break;
    freed += tokensBetween(history, sums, end, round.end);
    freed += heldTokens(history, sums, end) - heldTokens(history, sums, round.end);
    end = round.end;
  }
  return end;
}

/**
 * Tokens of the messages from one to another that stay for their calls, or their results, where the
 * others leave.
 */
function heldTokens(history: History, sums: TokenSums, end: number, from = 0): number {
  if (history.bonds.length === 0) return 0;
  const unit = history.units.findIndex(({ first }) => first >= end);
  let tokens = 0;
  for (const message of heldMessages(history, unit < 0 ? history.units.length : unit))
    if (message >= from) tokens += tokensIn(sums, message);
  return tokens;
}

function preambleBetween(history: History, sums: TokenSums, from: number, to: number): number {
  let tokens = 0;
  for (let at = from; at < to; at++)
    if (history.messages[at]?.role === 'preamble') tokens += tokensIn(sums, at);
  return tokens;
}

/** What stands for a memory of which no line fits. */
const NOTHING_FITS = '(none)';

/** The lines that fit, from the first one on. */
function truncated(text: string, most: number, counter: TokenCounter): string {
  const kept: string[] = [];
  let tokens = 0;
  for (const line of text.split('\n')) {
    tokens += counter.text(`${line}\n`);
    if (tokens > most) break;
    kept.push(line);
  }
  return kept.length === 0 ? NOTHING_FITS : kept.join('\n');
}

function tokensBetween(history: History, sums: TokenSums, from: number, to: number): number {
  return tokensIn(sums, from, to) - preambleBetween(history, sums, from, to);
}

function still(tokens: number): Replay {
  const cuts = { turn: 0, step: 0 };
  return { cuts, moves: [], moved: false, trigger: 'none', before: tokens, after: tokens, next: cuts };
}
