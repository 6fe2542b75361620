/**
 * `rolling_summary` (docs/modes.md#rolling_summary): a memory of the rounds before the full zone,
 * made in the background, and everything after it verbatim. The array does not determine which
 * memory is ready, so nothing is replayed; the rest of the plan is a function of both.
 */
import * as z from 'zod';
import { elementAt } from '../../lib/elements.ts';
import { HeldTokens } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import { roundsOf } from '../conversation/sequence.ts';
import { showSummary } from '../edits/shown-summary.ts';
import {
  BLOCK_TOKENS,
  countedEcho,
  coveredMessages,
  Prefixes,
  type SummarizedPrefix,
  TRIM_LINE_TOKENS,
  type TrimmedSpan,
} from '../edits/summarize.ts';
import type { Replay } from '../replay/frontier.ts';
import type { Trigger } from '../replay/reasons.ts';
import { frontierUnit } from '../replay/rule.ts';
import { count, editing, seconds, summary, summaryTokens } from '../strategy/fields.ts';
import { type TokenSums, unitSums } from '../tokens/sums.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { MemoryMode, RecalledPlan, RecallRequest } from './mode.ts';
import type { BudgetExceeded, Budgets, PlanContext } from './planned.ts';

const schema = z.strictObject({
  mode: z.literal('rolling_summary'),
  ...editing,
  ...summary,
  rolling_window_size: z.int().min(2).default(14),
  summarize_after_seq: count.default(5),
  full_zone_turns: count.default(2),
  summary_max_tokens: summaryTokens.default(1000),
  total_max_tokens: count.default(10_000),
  overflow_policy: z.enum(['truncate_oldest', 'truncate_summary', 'error']).default('truncate_oldest'),
  retry_attempts: count.max(10).default(3),
  retry_backoff_base_s: seconds.max(60).default(2),
  degraded_retry_interval_s: seconds.default(30),
  recovery_backlog_limit: count.default(20),
  include_trajectory_digest: z.boolean().default(true),
});

export type RollingStrategy = z.output<typeof schema>;

export const rollingSummary = {
  schema,
  keepsContents: () => true,
  summaryFacts: ({ rolling_window_size, full_zone_turns, include_trajectory_digest }: RollingStrategy) => [
    rolling_window_size,
    full_zone_turns,
    include_trajectory_digest,
  ],
  verbatimTurns: ({ full_zone_turns }: RollingStrategy) => full_zone_turns,
  recalled: {
    most: ({ total_max_tokens }: RollingStrategy) => total_max_tokens,
    plan: (strategy: RollingStrategy, request: RecallRequest, context: PlanContext) =>
      planRolling(strategy, request, context),
  },
} as const satisfies MemoryMode<RollingStrategy>;

/**
 * Plans a request around the memory in use. Without one, the view is the array, within the same
 * budget. A limit that the upstream has stated never causes an error.
 */
function planRolling(strategy: RollingStrategy, request: RecallRequest, context: PlanContext): RecalledPlan {
  const planned = planAround(strategy, request, context);
  const { replay } = planned;
  const { history, inView } = request;
  let { moved } = replay;
  for (const { messages } of history.requestPoints) {
    inView.arrive(messages, 0);
    moved = inView.shed(0, 0) !== undefined || replay.moved;
  }
  inView.settle(frontierUnit(replay.cuts));
  return { ...planned, replay: { ...replay, after: replay.after + inView.tokens(0), moved } };
}

function planAround(
  strategy: RollingStrategy,
  request: RecallRequest,
  { counter }: PlanContext,
): RecalledPlan {
  const { history, memory, sums } = request;
  const limit = strategy.overflow_policy === 'error' ? undefined : request.limit;
  const before = sums.total;
  const fixed = before - tokensBetween(history, sums, 0, history.messages.length);
  const prefixBefore = (end: number) => prefixAt(history, sums, end, strategy.summary_max_tokens, counter);
  const covered = memory && prefixBefore(memory.end);
  const whole = memory && covered && showSummary(history, covered, { ...memory, to: memory.end }, counter);
  const budgets = budgetsIn(strategy, request.budgets, fixed, limit);
  const budget = (budgets.hard ?? budgets.window) - fixed;
  // A replacement is never longer than what it replaces.
  if (!memory || !whole || whole.tokens >= covered.covered) {
    const exceeded = exceededBy(strategy, before - fixed, budget);
    const trigger = budgets.hard === limit ? 'upstream_limit' : 'token_budget';
    const view = exceeded ? undefined : rawView(history, sums, budget, trigger);
    return { segments: [], budgets, exceeded, dropped: [], ...(view ?? { replay: still(before) }) };
  }

  const said = counter.text(memory.text);
  const shortened = (over: number): string =>
    over > 0 ? truncated(memory.text, said - over, counter) : memory.text;
  const held = heldTokens(history, sums);
  const fitted = (messages: number): Fitted => {
    const verbatim = (end: number): number =>
      tokensBetween(history, sums, end, messages) + held(unitAt(history, end));
    const tokens = whole.tokens + verbatim(memory.end);
    const uncut = { text: memory.text, end: memory.end, tokens, over: tokens - budget };
    const { over } = uncut;
    if (over <= 0 || strategy.overflow_policy === 'error') return uncut;
    const endFor = (rest: number): number => endAfterOldest(history, sums, held, memory.end, messages, rest);
    // What the policy doesn't name leaves too where the rest would still be over the budget.
    if (strategy.overflow_policy === 'truncate_summary') {
      const text = shortened(over);
      return { ...uncut, text, end: endFor(over - (said - counter.text(text))) };
    }
    const end = endFor(over);
    const line = end === memory.end ? 0 : TRIM_LINE_TOKENS;
    return { ...uncut, end, text: shortened(whole.tokens + line + verbatim(end) - budget) };
  };
  const fit = fitted(history.messages.length);
  const prefix = prefixBefore(fit.end);
  const trimmed = trimmedSpan(history, memory.end, prefix, prefix.covered - covered.covered);
  const line = trimmed ? TRIM_LINE_TOKENS : 0;
  const after = before - prefix.covered + prefix.limit + BLOCK_TOKENS + line;
  // What a policy removes depends on the end of the conversation, so the previous request may have
  // contained more.
  const earlier = history.requestPoints.at(-2)?.messages ?? 0;
  const former = earlier > memory.end ? fitted(earlier) : fit;
  const moved = memory.moved || former.end !== fit.end || former.text !== fit.text;
  const cuts = { turn: prefix.unit, step: prefix.unit };
  const trigger = fit.over > 0 && budgets.hard === limit ? 'upstream_limit' : 'turns';
  return {
    segments: [],
    budgets,
    replay: { ...still(before), after, moved, trigger, cuts, next: cuts },
    prefix,
    dropped: coveredMessages(history, covered),
    ...(trimmed ? { trimmed } : {}),
    shown: showSummary(history, prefix, { ...memory, text: fit.text, to: memory.end }, counter),
    exceeded: exceededBy(strategy, fit.tokens, budget),
  };
}

/** The error of a view over its budget, where the policy asks for one. */
function exceededBy(
  { overflow_policy }: RollingStrategy,
  tokens: number,
  budget: number,
): BudgetExceeded | undefined {
  return tokens > budget && overflow_policy === 'error' ? { tokens, budget } : undefined;
}

/** A memory, and where the verbatim messages begin, within the budget. */
interface Fitted {
  readonly text: string;
  readonly end: number;
  /** Tokens of both before the policy applies, and by how many they exceed the budget. */
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
  const settings = { summaryTokens: maxTokens, echo: countedEcho(history, counter) };
  const prefixes = new Prefixes(history, sums, settings);
  prefixes.held.arrive(history.messages.length);
  return { ...prefixes.at(unitAt(history, end)), request: undefined };
}

/** The budget for memory and verbatim messages together, plus the tokens that can't be removed. */
function budgetsIn(
  { total_max_tokens }: RollingStrategy,
  budgets: Budgets,
  fixed: number,
  limit: number | undefined,
): Budgets {
  const { window, hard = window } = budgets;
  const most = limit ?? Number.POSITIVE_INFINITY;
  return { ...budgets, hard: Math.min(hard, total_max_tokens + fixed, most), window: Math.min(window, most) };
}

/**
 * The view without a memory: the array without the oldest rounds that the budget has no room for.
 * There is no memory to shorten, so every policy but `error` leaves them out.
 *
 * @param budget tokens for all messages but the preamble
 */
function rawView(
  history: History,
  sums: TokenSums,
  budget: number,
  trigger: Trigger,
): Pick<RecalledPlan, 'replay' | 'trimmed'> | undefined {
  const before = sums.total;
  const from = afterEcho(history);
  const held = heldTokens(history, sums);
  const endAt = (messages: number): number => {
    const over = tokensBetween(history, sums, 0, messages) - budget;
    return endAfterOldest(history, sums, held, from, messages, over);
  };
  const end = endAt(history.messages.length);
  if (end === from) return undefined;
  const unit = unitAt(history, end);
  const cuts = { turn: unit, step: unit };
  const freed = tokensBetween(history, sums, from, end) - heldTokens(history, sums, from)(unit);
  const after = before - freed + TRIM_LINE_TOKENS;
  const moved = endAt(history.requestPoints.at(-2)?.messages ?? 0) !== end;
  const stays = { unit, end, request: undefined, first: undefined };
  const all = trimmedSpan(history, from, stays, freed);
  const trimmed = all && { ...all, dropped: all.dropped.filter((message) => message >= from) };
  return {
    replay: { ...still(before), cuts, next: cuts, moved, trigger, after },
    ...(trimmed && { trimmed }),
  };
}

/**
 * The rounds that leave the view without a memory of them. One line names their transcript.
 *
 * @param from the first message after the memory, or after an earlier summary of the caller's
 * @param freed their tokens
 */
function trimmedSpan(
  history: History,
  from: number,
  prefix: Pick<SummarizedPrefix, 'unit' | 'end' | 'request' | 'first'>,
  freed: number,
): TrimmedSpan | undefined {
  const { end } = prefix;
  if (end === from) return undefined;
  return {
    from: history.messages.findIndex(({ role }, at) => role !== 'preamble' && at >= from),
    ends: [end],
    place: { opens: end },
    dropped: coveredMessages(history, prefix),
    prefix: undefined,
    freed: freed - TRIM_LINE_TOKENS,
  };
}

/** The first message after a summary that the caller has sent back. */
function afterEcho(history: History): number {
  const { echo } = history;
  if (!echo) return 0;
  return echo.first === echo.last ? (roundsOf(history)[0]?.end ?? 0) : echo.last + 1;
}

/**
 * The first message that stays. Whole rounds leave the view, oldest first, if they have more tokens
 * than the line that names them. The last round that has begun at a request stays, since it is
 * being worked on.
 */
function endAfterOldest(
  history: History,
  sums: TokenSums,
  held: (unit: number) => number,
  from: number,
  messages: number,
  over: number,
): number {
  if (over <= 0) return from;
  const begun = roundsOf(history).filter(({ first }) => first < messages);
  let end = from;
  let unit = unitAt(history, from);
  let freed = -TRIM_LINE_TOKENS;
  for (const [index, round] of begun.slice(0, -1).entries()) {
    if (round.end <= from) continue;
    if (freed >= over) break;
    const next = elementAt(history.turns, index + 1);
    freed += tokensBetween(history, sums, end, round.end) + held(unit) - held(next);
    end = round.end;
    unit = next;
  }
  return freed > 0 ? end : from;
}

/**
 * Tokens of the units before one that stay because their calls or results do.
 *
 * @param from only the units that begin here or later count
 */
function heldTokens(history: History, sums: TokenSums, from = 0): (unit: number) => number {
  const { bonds, units, messages } = history;
  if (bonds.length === 0) return () => 0;
  const tokens = unitSums(history, sums);
  const tokensOf = (unit: number) => (elementAt(units, unit).first < from ? 0 : tokens.at(unit));
  const held = new HeldTokens(history, tokensOf);
  held.arrive(messages.length);
  return (unit) => held.before(unit);
}

/** The first unit at a message or after it. */
function unitAt({ units }: History, message: number): number {
  const unit = units.findIndex(({ first }) => first >= message);
  return unit < 0 ? units.length : unit;
}

/** Replaces a memory of which no line fits. */
const NOTHING_FITS = '(none)';

/** The first lines, as many as fit. */
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

/** Tokens of the messages in a range, without the preamble's. */
function tokensBetween(history: History, sums: TokenSums, from: number, to: number): number {
  let tokens = sums.between(from, to);
  for (let at = from; at < to; at++) if (history.messages[at]?.role === 'preamble') tokens -= sums.at(at);
  return tokens;
}

function still(tokens: number): Replay {
  const cuts = { turn: 0, step: 0 };
  const same = { before: tokens, after: tokens, next: cuts };
  return { cuts, moves: [], moved: false, refused: [], trigger: 'none', waited: [], ...same };
}
