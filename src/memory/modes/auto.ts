/** `auto`: its plan by replay (docs/design.md#6-edits-in-the-order-of-auto). */

import { elementAt } from '../../lib/elements.ts';
import { once } from '../../lib/once.ts';
import { answeredBefore, type History, type Output } from '../conversation/history.ts';
import { reasoningByMessage } from '../conversation/kept-reasoning.ts';
import { runningRequests, stayingRequest } from '../edits/first-request.ts';
import { oldReasoning } from '../edits/old-reasoning.ts';
import type { Removal } from '../edits/removal.ts';
import { countedEcho, coveredMessages } from '../edits/summarize.ts';
import { Floor } from '../replay/floor.ts';
import type { Replay } from '../replay/frontier.ts';
import { replayOn } from '../replay/known-replay.ts';
import { PhaseView } from '../replay/phase-view.ts';
import { PhaseMover } from '../replay/phases.ts';
import { refillsOf } from '../replay/prefix-cursor.ts';
import { frontierUnit } from '../replay/rule.ts';
import { canRetrieve } from '../strategy/fields.ts';
import { mostFitting } from '../tokens/fitting.ts';
import { sumsWithout, type TokenSums } from '../tokens/sums.ts';
import { AutoEdits } from './auto-edits.ts';
import { type AutoStrategy, contradiction, keptTurns, mostAtSight, schema } from './auto-settings.ts';
import { mediaOfUnit, withinBytes } from './byte-limit.ts';
import { compactContext } from './compact.ts';
import type { MemoryMode, ReplayRequest } from './mode.ts';
import type { NextNeeds, PlanContext, Planned, PlanRequest } from './planned.ts';
import { above, readingTail } from './tails.ts';

/** Answers after which an output over `offload_min_tokens` may leave (docs/benchmark.md). */
const ANSWERS_TO_LEAVE = 4;

/** How many requests ahead the next summary is prepared. */
const REQUESTS_AHEAD = 2;

export const auto = {
  schema,
  contradiction,
  keepsContents: () => true,
  retrieves: (strategy: AutoStrategy, hasTools: boolean) => canRetrieve(strategy, hasTools),
  hidesRefs: true,
  summaryFacts: ({ incremental }: AutoStrategy) => [incremental],
  replayed: {
    triggers: (strategy: AutoStrategy) => ({
      turnsDue: above(strategy.compact_trigger_turns),
      turnsLossy: strategy.context_limit,
      stepsDue: above(strategy.compact_trigger_steps),
      messagesDue: strategy.max_messages,
    }),
    tail: (strategy: AutoStrategy) => readingTail(keptTurns(strategy), strategy),
    isReversible: ({ compact_offload }: AutoStrategy) => compact_offload,
    paysOff: true,
    mayActEarly: (strategy: AutoStrategy, { history, retrieval }: PlanRequest, window: number) =>
      retrieval === true && mayOffload(strategy, history, window),
    plan: planAuto,
  },
} as const satisfies MemoryMode<AutoStrategy>;

/** Whether an output may be offloaded whatever the budget. False is certain, true is not. */
function mayOffload(strategy: AutoStrategy, { messages, requestPoints }: History, window: number): boolean {
  const atSight = mostAtSight(strategy, window);
  const seen = requestPoints.at(-1 - ANSWERS_TO_LEAVE)?.messages ?? 0;
  const most = Math.min(strategy.offload_min_tokens, atSight);
  return messages.some(({ bytes }, index) => bytes > (index < seen ? most : atSight));
}

function planAuto(strategy: AutoStrategy, request: ReplayRequest, context: PlanContext): Planned {
  const { history, rule, sums, retrieval = false, closed = [], terms, inView, reasoning } = request;
  const first = stayingRequest(strategy, history, rule, sums);
  const contents = compactContext(strategy, history, context);
  const old = oldReasoning(strategy, terms.reasoning, contents, reasoningByMessage(reasoning));
  // If the model can fetch the rest, the largest outputs are offloaded before it first sees them.
  const most = retrieval ? mostAtSight(strategy, rule.window) : undefined;
  const isWhole = seenAt(history, closed);
  const edits = new AutoEdits(contents, most, first?.message, old, isWhole);
  const sent = sumsWith(edits.atSight, sums);
  const keepsTail = strategy.compact_keep_steps !== undefined || keptTurns(strategy) !== undefined;
  const settings = {
    shrinks: rule.keepSteps !== undefined,
    // Nothing is to be saved by waiting, and the budget is the machine's.
    minReclaim: strategy.min_reclaim_tokens ?? (terms.prices.free ? 0 : undefined),
    summaryTokens: strategy.summary_max_tokens,
    outputPrice: terms.prices.output,
    echo: countedEcho(history, context.counter),
    refills: refillsOf(
      strategy,
      history,
      rule,
      context,
      Math.min(strategy.offload_min_tokens, most ?? Infinity),
    ),
    first,
    running: runningRequests(strategy, history, rule, sums, first),
    boundaries: terms.prices.boundaries && (terms.marks ? ('marked' as const) : ('unmarked' as const)),
    unsure: strategy.offload_digest === 'model' ? edits.unsure() : undefined,
    early: retrieval ? { outputs: edits.largeOutputs(), answers: ANSWERS_TO_LEAVE, keepsTail } : undefined,
    fresh: retrieval
      ? { budget: Math.min(rule.hard ?? rule.window, rule.window), window: rule.window }
      : undefined,
    closed: new Set(closed),
  };
  const floor = new Floor(terms.prices, sums.before(0));
  const mover = new PhaseMover(new PhaseView(history, sent, settings, inView), floor, edits);
  const result = replayOn(request, sent, mover, contents.settings, first);
  const { prefix } = mover.position;
  const trimmed = mover.trimmedSpan();
  const misses = mover.edits.list();
  const planned = {
    replay: { ...result, before: sums.total },
    segments: [...mover.removed(), ...(edits.atSight.length > 0 ? [edits.atSight] : [])],
    ...(strategy.offload_digest === 'model'
      ? {
          newlyOffloaded: newlyOffloaded(
            edits.atSight,
            answeredBefore(history),
            mover.removedAt(history.messages.length),
          ),
        }
      : {}),
    ahead: once(() => aheadOf(request, result, mover, edits, sent.before(0))),
    dropped: prefix ? coveredMessages(history, prefix) : [],
    ...(prefix ? { prefix } : {}),
    ...(trimmed ? { trimmed } : {}),
    ...(misses.length > 0 ? { misses } : {}),
  };
  const staying = first && history.units.findIndex((unit) => unit.first === first.message);
  const mediaOf = (unit: number) => (unit === staying ? [] : mediaOfUnit(unit, contents));
  return withinBytes(planned, request, mediaOf);
}

/** Whether the first request with an output is one of those whose arrays have these lengths. */
function seenAt({ requestPoints }: History, requests: readonly number[]): (output: Output) => boolean {
  if (requests.length === 0) return () => false;
  const points = requestPoints.map(({ messages }) => messages);
  const found = new Set(requests);
  return ({ message }) =>
    found.has(points[mostFitting(points.length, (count) => elementAt(points, count - 1) <= message)] ?? 0);
}

/** @param fixed tokens before the first message */
function aheadOf(
  { history, rule }: ReplayRequest,
  result: Replay,
  mover: PhaseMover,
  edits: AutoEdits,
  fixed: number,
): NextNeeds {
  const near = result.next !== result.cuts;
  const { heavy, reasoning } = mover.position.passed;
  const until = frontierUnit(result.next);
  const ofMove = near
    ? [...mover.edits.without(edits.between(heavy, until)), ...edits.reasoningBetween(reasoning, until)]
    : [];
  const outputs = new Set(ofMove.flatMap(({ kind, message }) => (kind === 'output' ? [message] : [])));
  const leaving = mover.leavingNext(history.requestPoints.length - 1);
  const upcoming = [...ofMove, ...leaving.filter(({ message }) => !outputs.has(message))];
  // Prepare a summary if placeholders alone won't bring the next views under the budget.
  const growth = (REQUESTS_AHEAD * (result.before - fixed)) / history.requestPoints.length;
  const left = upcoming.reduce((sum, { freed }) => sum - freed, result.after);
  const next = left + growth > Math.min(rule.hard ?? rule.window, rule.window) ? mover.next() : undefined;
  return { upcoming, ...(next ? { next } : {}) };
}

/**
 * The offloaded outputs that no earlier request can have offloaded: those that no answer has
 * followed, and those that were removed for this request.
 */
function newlyOffloaded(
  atSight: readonly Removal[],
  answered: number,
  moved: readonly Removal[],
): ReadonlySet<number> {
  const fresh = atSight.filter(({ message }) => message >= answered);
  return new Set([...fresh, ...moved].flatMap(({ message, digest }) => (digest ? [message] : [])));
}

/** The prefix sums of an array with removals. */
function sumsWith(removals: readonly Removal[], sums: TokenSums): TokenSums {
  if (removals.length === 0) return sums;
  const freed = new Map(removals.map((removal) => [removal.message, removal.freed]));
  return sumsWithout(sums, (message) => freed.get(message) ?? 0);
}
