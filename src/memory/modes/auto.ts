/**
 * `auto`: the settings of its phases (docs/design.md#6-edits-in-the-order-of-auto), and its plan by
 * replay.
 */

import { z } from 'zod';
import { once } from '../../lib/once.ts';
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History, Output, Unit } from '../conversation/history.ts';
import type { ToolCall } from '../conversation/message.ts';
import { type CompactContext, clearedInputs, compactInputs, compactOutput } from '../edits/compact.ts';
import { condensedOutputs, freedOver, mayCondense } from '../edits/condense/condense.ts';
import { stayingRequest } from '../edits/first-request.ts';
import { removeMedia } from '../edits/media.ts';
import { offloadOutput } from '../edits/offload.ts';
import { type OldReasoning, oldReasoning } from '../edits/old-reasoning.ts';
import { longestUnused } from '../edits/output-digest.ts';
import { LEAST_PURGED, purgesIn } from '../edits/purge.ts';
import type { Removal } from '../edits/removal.ts';
import { type Recall, type Repeat, type Repeats, repeatsIn } from '../edits/repeats.ts';
import { countedEcho, coveredMessages } from '../edits/summarize.ts';
import type { NextNeeds, PlanContext, Planned, PlanRequest } from '../plan/planned.ts';
import { Floor } from '../replay/floor.ts';
import { replay } from '../replay/frontier.ts';
import type { Recalling } from '../replay/misses.ts';
import { PhaseMover } from '../replay/phases.ts';
import { frontierUnit } from '../replay/rule.ts';
import {
  canRetrieve,
  compaction,
  count,
  editing,
  keptStepsFault,
  keptTurnsFault,
  LONGEST_PREVIEW,
  names,
  retrieval,
  retrievalFault,
  type StrategyFault,
  share,
  summarizing,
} from '../strategy/fields.ts';

import type { TokenSums } from '../tokens/sums.ts';

import { compactContext, range } from './compact.ts';
import type { MemoryMode, ReplayRequest } from './mode.ts';
import { refillsOf } from './refills.ts';
import { compactionDue, stepsDue, unitTail } from './tails.ts';

/** Tokens over which arguments are cleared (docs/design.md#the-strategy). */
const LARGE_INPUT = 500;

/** How many requests ahead the next summary is prepared. */
const REQUESTS_AHEAD = 2;

/** Where a jump stops, as a share of the budget (docs/design.md#the-strategy). */
const WATERMARK = 0.6;
/** Tokens of the smallest compacted output (docs/design.md#the-strategy). */
const MIN_TOKENS = 500;
const OFFLOAD_TOKENS = 8_000;
/** Claude Code cuts a tool output at 25 000 tokens, deepagents at 20 000. */
const OFFLOAD_FRESH_TOKENS = 20_000;
/** The largest share of the window that a single output takes when the model first sees it. */
const FRESH_SHARE = 0.5;
/** An offloaded output still has a few hundred tokens, so smaller ones would save little. */
const SMALLEST_OFFLOAD = 1_000;

/** Turns whose reasoning stays: as many as are in the tail. */
const KEEP_REASONING = 2;

const schema = z.strictObject({
  mode: z.literal('auto'),
  ...editing,
  ...compaction,
  ...summarizing,
  low_watermark_pct: share.default(WATERMARK),
  /** Absent: the floor of `floor.ts`. */
  min_reclaim_tokens: count.optional(),
  text_observation_prefixes: names.default(['Observation:']),
  compact_clear_tool_inputs: z.boolean().default(true),
  compact_purge: z.boolean().default(true),
  condense: z.boolean().default(false),
  /** Absent: where the API is known to bill old reasoning, and to do without it. */
  clear_reasoning: z.boolean().optional(),
  keep_reasoning_turns: z.int().min(1).default(KEEP_REASONING),
  compact_min_tokens: count.default(MIN_TOKENS),
  /** Absent: a share of the output. */
  compact_preview_tokens: count.max(LONGEST_PREVIEW).optional(),
  /** Absent: `tool` for requests with tools. */
  compact_retrieval: retrieval.optional(),
  offload_min_tokens: z.int().min(SMALLEST_OFFLOAD).default(OFFLOAD_TOKENS),
  /** Absent: `OFFLOAD_FRESH_TOKENS`, or `offload_min_tokens` if that is more. */
  offload_fresh_tokens: z.int().min(SMALLEST_OFFLOAD).optional(),
  offload_digest: z.enum(['preview', 'model']).default('preview'),
});

export type AutoStrategy = z.output<typeof schema>;

export const auto = {
  schema,
  edits: true,
  contradiction: (strategy: AutoStrategy) =>
    retrievalFault(strategy) ??
    digestFault(strategy) ??
    keptStepsFault(strategy) ??
    keptTurnsFault(strategy.keep_last_n_turns, 'context_limit', strategy.context_limit),
  keepsContents: () => true,
  retrieves: (strategy: AutoStrategy, hasTools: boolean) =>
    canRetrieve(strategy, (strategy.compact_retrieval ?? (hasTools ? 'tool' : 'off')) === 'tool'),
  hidesRefs: true,
  tellsIdle: true,
  summaryFacts: ({ incremental }: AutoStrategy) => [incremental],
  replayed: {
    turnsDue: (strategy: AutoStrategy) => compactionDue(strategy),
    stepsDue: (strategy: AutoStrategy) => stepsDue(strategy),
    messagesDue: ({ max_messages }: AutoStrategy) => max_messages,
    turnsLossy: ({ context_limit }: AutoStrategy) => context_limit,
    tail: (strategy: AutoStrategy) => unitTail(keptTurns(strategy), strategy),
    isReversible: ({ compact_offload }: AutoStrategy) => compact_offload,
    mayActEarly: (strategy: AutoStrategy, { history, retrieval }: PlanRequest, window: number) => {
      const most = mostAtSight(strategy, window);
      const isLarge = retrieval === true && history.messages.some(({ bytes }) => bytes > most);
      return isLarge || (strategy.condense && mayCondense(history));
    },
    plan: planAuto,
  },
} as const satisfies MemoryMode<AutoStrategy>;

/**
 * Tokens up to which an output is whole when the model first sees it. What the model has seen whole
 * stays so until the frontier passes it.
 */
function mostAtSight({ offload_fresh_tokens, offload_min_tokens }: AutoStrategy, window: number): number {
  const share = Math.floor(window * FRESH_SHARE);
  if (offload_fresh_tokens !== undefined) return Math.min(offload_fresh_tokens, share);
  return Math.max(offload_min_tokens, Math.min(OFFLOAD_FRESH_TOKENS, share));
}

/** Digests of outputs that are not offloaded. */
function digestFault({ offload_digest, compact_offload }: AutoStrategy): StrategyFault | undefined {
  if (offload_digest !== 'model' || compact_offload) return undefined;
  return {
    field: 'offload_digest',
    message:
      "memory_strategy.offload_digest must not be 'model' where memory_strategy.compact_offload is false: no output is offloaded that could have a digest.",
  };
}

/** The turns that a caller asks to keep, in either field. */
function keptTurns({ keep_last_n_turns, compact_keep }: AutoStrategy): number | undefined {
  if (keep_last_n_turns === undefined) return compact_keep;
  return Math.max(keep_last_n_turns, compact_keep ?? 0);
}

function planAuto(strategy: AutoStrategy, request: ReplayRequest, context: PlanContext): Planned {
  const { history, rule, sums, retrieval = false, terms } = request;
  const first = stayingRequest(strategy, history, rule, sums);
  const contents = compactContext(strategy, history, context);
  const old = oldReasoning(history, strategy, terms.reasoning, contents);
  // If the model can fetch the rest, the largest outputs are offloaded before it first sees them.
  const most = retrieval ? mostAtSight(strategy, rule.window) : undefined;
  const edits = new AutoEdits(history, strategy, contents, most, first?.message, old);
  const sent = sumsWithout(sums, edits.atSight);
  const settings = {
    shrinks: rule.keepSteps !== undefined,
    minReclaim: strategy.min_reclaim_tokens,
    summaryTokens: strategy.summary_max_tokens,
    echo: countedEcho(history, context.counter),
    refills: refillsOf(
      strategy,
      history,
      rule,
      context,
      Math.min(strategy.offload_min_tokens, most ?? Infinity),
    ),
    first,
    boundaries: terms.prices.boundaries && (terms.marks ? ('marked' as const) : ('unmarked' as const)),
    unsure: strategy.offload_digest === 'model' ? edits.unsure() : undefined,
  };
  const mover = new PhaseMover(history, sent, settings, new Floor(terms.prices, sums.before(0)), edits);
  const result = replay(history, rule, sent, mover);
  const { prefix } = mover.position;
  const trimmed = mover.trimmedSpan();
  const ahead = (): NextNeeds => {
    const near = result.next !== result.cuts;
    const { heavy, reasoning } = mover.position.passed;
    const until = frontierUnit(result.next);
    const upcoming = near
      ? [...mover.edits.without(edits.between(heavy, until)), ...edits.reasoningBetween(reasoning, until)]
      : [];
    // Prepare a summary if placeholders alone won't bring the next views under the budget.
    const growth = (REQUESTS_AHEAD * (result.before - sent.before(0))) / history.requestPoints.length;
    const left = upcoming.reduce((sum, { freed }) => sum - freed, result.after);
    const next = left + growth > Math.min(rule.hard ?? rule.window, rule.window) ? mover.next() : undefined;
    return { upcoming, ...(next ? { next } : {}) };
  };
  const removed = mover.removed().map((segment) => segment.map(edits.whole));
  const atSight = edits.stillAtSight(removed);
  const misses = mover.edits.list();
  return {
    replay: { ...result, before: sums.total },
    segments: [...removed, ...(atSight.length > 0 ? [atSight] : [])],
    ...(strategy.offload_digest === 'model'
      ? { newlyOffloaded: newlyOffloaded(history, edits.atSight, result.moved ? (removed.at(-1) ?? []) : []) }
      : {}),
    ahead: once(ahead),
    dropped: prefix ? coveredMessages(history, prefix) : [],
    ...(prefix ? { prefix } : {}),
    ...(trimmed ? { trimmed } : {}),
    ...(misses.length > 0 ? { misses } : {}),
  };
}

/**
 * The offloaded outputs that no earlier request can have offloaded: those after the last answer,
 * and those of the move.
 */
function newlyOffloaded(
  { requestPoints }: History,
  atSight: readonly Removal[],
  moved: readonly Removal[],
): ReadonlySet<number> {
  const answered = requestPoints.at(-2)?.messages ?? 0;
  const fresh = atSight.filter(({ message }) => message >= answered);
  return new Set([...fresh, ...moved].flatMap(({ message, digest }) => (digest ? [message] : [])));
}

/** The possible removals of each unit, computed on demand. */
class AutoEdits implements Recalling {
  /** Removed wherever the frontier is. */
  readonly atSight: readonly Removal[];
  private readonly history: History;
  private readonly strategy: AutoStrategy;
  private readonly context: CompactContext;
  private readonly first: number | undefined;
  private readonly offloaded: ReadonlyMap<number, Removal>;
  private readonly offloadedAtSight: ReadonlySet<number>;
  readonly old: OldReasoning | undefined;
  private readonly condensed: ReadonlyMap<number, Removal>;
  private readonly compacted: (readonly Removal[])[] = [];
  private readonly replaced = new Map<number, Removal | undefined>();
  private repeats: Repeats | undefined;
  private purges: ReadonlyMap<ToolCall, number> | undefined;

  /**
   * @param mostAtSight tokens of the largest output that the model first sees whole; absent if it
   *   sees all of them so
   * @param first the first request, if it stays as it came
   * @param old absent if all reasoning stays
   */
  constructor(
    history: History,
    strategy: AutoStrategy,
    context: CompactContext,
    mostAtSight: number | undefined,
    first: number | undefined,
    old: OldReasoning | undefined,
  ) {
    this.history = history;
    this.strategy = strategy;
    this.context = context;
    this.first = first;
    this.old = old;
    const outputs = history.units.flatMap((unit) => unit.outputs);
    const over = (most: number, some: readonly Output[]) =>
      some.flatMap((output) => offloadOutput(history, output, strategy, context, most) ?? []);
    const tooLarge = mostAtSight === undefined ? [] : over(mostAtSight, outputs);
    this.offloadedAtSight = new Set(tooLarge.map(({ message }) => message));
    const others = outputs.filter(({ message }) => !this.offloadedAtSight.has(message));
    const large = [...tooLarge, ...over(strategy.offload_min_tokens, others)];
    this.offloaded = new Map(large.map((removal) => [removal.message, removal]));
    const condensed = strategy.condense
      ? condensedOutputs(history, strategy, context, this.offloadedAtSight)
      : [];
    this.condensed = new Map(condensed.map((removal) => [removal.message, removal]));
    this.atSight = [...tooLarge, ...condensed];
  }

  /** A removal of `light` or `heavy` with all that it frees of the caller's array. */
  readonly whole = (removal: Removal): Removal => {
    const condensed = removal.kind === 'output' ? this.condensed.get(removal.message) : undefined;
    return condensed ? { ...removal, freed: removal.freed + condensed.freed } : removal;
  };

  /** What is removed at sight, without the condensed outputs that are removed by now. */
  stillAtSight(removed: readonly (readonly Removal[])[]): readonly Removal[] {
    if (this.condensed.size === 0) return this.atSight;
    const gone = new Set(
      removed.flatMap((segment) =>
        segment.flatMap(({ kind, message }) => (kind === 'output' ? [message] : [])),
      ),
    );
    return this.atSight.filter(({ message }) => !gone.has(message));
  }

  readonly light = (index: number, until: number): readonly Removal[] => {
    const unit = this.history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs.flatMap((output) => {
      const offloaded = this.offloaded.get(output.message);
      if (this.offloadedAtSight.has(output.message)) return [];
      if (offloaded) return this.over(offloaded) ?? [];
      const repeat = this.repeatOf(output.message);
      if (!repeat || repeat.by >= until) return [];
      const repeated = this.repeatedOutput(output, repeat);
      return (repeated && this.over(repeated)) ?? [];
    });
    return [...this.purged(unit, until), ...outputs];
  };

  readonly heavy = (index: number, light: readonly Removal[]): readonly Removal[] => {
    this.compacted[index] ??= this.compact(index);
    const gone = new Set(light.map(({ message, call }) => `${message}:${call}`));
    return this.compacted[index].filter(({ message, call }) => !gone.has(`${message}:${call}`));
  };

  readonly media = (index: number): readonly Removal[] => {
    const unit = this.history.units[index];
    return unit && unit.first !== this.first
      ? removeMedia(this.history, unit, this.strategy, this.context)
      : [];
  };

  /** Per unit, the tokens counted for digests of offloaded outputs that may not come. */
  unsure(): PrefixSums {
    const { offloaded, context } = this;
    const of = ({ message }: Output): number => {
      const removal = offloaded.get(message);
      return removal ? longestUnused(removal, context.counter) : 0;
    };
    return new PrefixSums(
      this.history.units.map(({ outputs }) => outputs.reduce((sum, output) => sum + of(output), 0)),
    );
  }

  /** What the next move would remove in these units. */
  between(from: number, to: number): Removal[] {
    return range(from, to).flatMap((unit) => {
      const light = this.light(unit, this.history.messages.length);
      return [...light, ...this.heavy(unit, light)];
    });
  }

  /** Of these units, the reasoning that is old by now. */
  reasoningBetween(from: number, to: number): Removal[] {
    const { history, old } = this;
    if (!old) return [];
    return range(from, Math.min(to, old.staysFrom(history.turns.length))).flatMap((unit) => old.in(unit));
  }

  private compact(index: number): readonly Removal[] {
    const { history, strategy, context } = this;
    const unit = history.units[index];
    if (!unit) return [];
    const outputs = unit.outputs
      .filter(({ message }) => !this.offloaded.has(message))
      .flatMap((output) => {
        const compacted = compactOutput(history, output, strategy, context);
        return (compacted && this.over(compacted)) ?? [];
      });
    return [...compactInputs(history, unit, strategy, context, LARGE_INPUT + 1), ...outputs];
  }

  /** Of arguments that are of no more use among the messages before `until`. */
  private purged(unit: Unit, until: number): readonly Removal[] {
    const { history, strategy, context } = this;
    if (!strategy.compact_purge) return [];
    this.purges ??= purgesIn(history);
    const { purges } = this;
    const calls = history.messages[unit.first]?.calls ?? [];
    const purged = calls.map((call) => (purges.get(call) ?? until) < until);
    if (!purged.includes(true)) return [];
    return clearedInputs(history, unit, strategy, context, LEAST_PURGED).filter(({ call }) => purged[call]);
  }

  private over(removal: Removal): Removal | undefined {
    return freedOver(removal, this.condensed.get(removal.message));
  }

  private repeatedOutput(output: Output, { reason }: Repeat): Removal | undefined {
    const { history, strategy, context, replaced } = this;
    if (!replaced.has(output.message))
      replaced.set(output.message, compactOutput(history, output, strategy, context, reason, 0));
    return replaced.get(output.message);
  }

  recalls(): ReadonlyMap<number, Recall> {
    return this.repeated().recalls;
  }

  private repeatOf(message: number): Repeat | undefined {
    return this.repeated().repeats.get(message);
  }

  private repeated(): Repeats {
    this.repeats ??= repeatsIn(this.history, this.context);
    return this.repeats;
  }
}

/** The prefix sums of an array with removals. */
function sumsWithout(sums: TokenSums, removals: readonly Removal[]): TokenSums {
  if (removals.length === 0) return sums;
  const freed = new Map(removals.map((removal) => [removal.message, removal.freed]));
  const rest = new PrefixSums([], sums.before(0));
  for (let at = 0; at < sums.length; at++) rest.push(sums.at(at) - (freed.get(at) ?? 0));
  return rest;
}
