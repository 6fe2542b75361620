/** The report to the caller about its request (docs/design.md#4-what-the-caller-gets). */

import type { RemovalReason } from '../edits/known-removal.ts';
import { NO_CALL, TEXT_OBSERVATION } from '../edits/placeholder.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import type { Mode } from '../modes/table.ts';
import type { PotentialBill } from '../money/bill-schema.ts';
import { frontierUnit, type Trigger } from '../replay/rule.ts';
import type { Plan } from './plan.ts';
import type { Receipt } from './receipt-schema.ts';
import { type ReportedMiss, reportedMisses } from './reported-misses.ts';
import type { ShownOutput } from './shown-outputs.ts';
import type { View } from './view.ts';

/** The level of precedence that the strategy comes from. */
export type StrategySource = 'request' | 'conversation' | 'agent' | 'default';

/** Codes of `x-memory-warning`. */
export type Warning =
  | 'over_budget'
  | 'waiting'
  | 'idle'
  | 'soft_budget_idle'
  | 'store_failed'
  | 'no_tenant'
  | 'unverified_key'
  | 'no_conversation'
  | 'no_user'
  | 'no_strategy'
  | 'all_recent'
  | 'nothing_to_remove'
  | 'settings_without_user'
  | 'user_archive_off'
  | 'too_many_messages'
  | 'summary_degraded'
  | 'summary_pending'
  | 'stale_summary'
  | 'retrieval_off'
  | 'capture_off'
  | 'upstream_state'
  | 'limit_learned'
  | 'thinking_dropped'
  | 'embeddings_failed';

export type AppliedEdit =
  | {
      readonly type: 'condense';
      readonly condensed_tool_results: number;
      /** Of these results, as they came and in the view. */
      readonly tokens_before: number;
      readonly tokens_after: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'offload';
      readonly cleared_tool_results: number;
      readonly cleared_tokens: number;
      /** How many of them have a digest by a model. Absent if none has. */
      readonly digests?: number;
      /** The summarizer's usage for digests in this request. Absent if it was not called. */
      readonly usage?: TokenUsage;
    }
  | {
      readonly type: 'dedupe';
      readonly cleared_tool_results: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'clear_reasoning';
      /** Messages whose reasoning has left the view. */
      readonly messages: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'compact';
      readonly cleared_tool_results: number;
      readonly cleared_tool_inputs: number;
      /** Inline images and files. Absent if there are none. */
      readonly cleared_parts?: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'summarize';
      readonly messages: number;
      readonly cleared_tokens: number;
      /** The ids of the stored memory and of its base. Absent if nothing is stored. */
      readonly memory_id?: number;
      readonly base_memory_id?: number | null;
    }
  | { readonly type: 'trim'; readonly messages: number; readonly cleared_tokens: number };

/**
 * The summary in the view. A caller that wants to keep it itself needs its text, coverage and hash
 * (`memory_summary`).
 */
export interface ReportedSummary {
  readonly text: string;
  /** The first and the last message of the caller's array that it covers. */
  readonly covers: readonly [number, number];
  readonly prefix_hash: string;
  readonly ref?: string;
  /**
   * `degraded`: a digest, since the summarizer failed. `pending`: a digest, since the summary is
   * not ready.
   */
  readonly status: 'completed' | 'degraded' | 'pending';
  readonly memory_id?: number;
  readonly base_memory_id?: number | null;
  /** The outputs behind the summary, oldest first. Absent if there are none. */
  readonly rehydrated?: readonly ReportedOutput[];
  /** The summarizer's usage for this request. */
  readonly usage: TokenUsage;
}

/** Tokens as counted by an upstream. All are 0 for a summary that needed no call. */
export interface TokenUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** Input that the upstream had in its prompt cache. Absent if it reports none. */
  readonly cached_tokens?: number;
  /** Input that the upstream wrote to it. Absent if it reports none. */
  readonly cache_write_tokens?: number;
  /**
   * The summarizer's price in nanodollars, of each call by itself; null if it is not known. Absent
   * for other models, and if there was no call.
   */
  readonly cost?: number | null;
}

/** The contents that the model has fetched for its answer. */
interface ReportedRetrieval {
  /** The number of further requests to the upstream. */
  readonly rounds: number;
  /** The refs that were fetched, each once, in order. */
  readonly refs: readonly string[];
  /** Usage of all rounds together. Absent if the upstream reports none. */
  readonly usage?: TokenUsage;
  /** The id with which a stored conversation continues, if the response has another one. */
  readonly response_id?: string;
}

/** A tool output that stands behind the summary. */
interface ReportedOutput {
  /** Index in the caller's array. */
  readonly message: number;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly tokens: number;
  /** Absent if the content is not stored by itself. */
  readonly ref?: string;
}

interface ReportedRef {
  readonly ref: string;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly tokens: number;
  readonly bytes: number;
}

/** What the strategy would have done to a request that was only observed. */
export interface Potential
  extends Pick<Report, 'trigger' | 'tokens' | 'frontier' | 'applied_edits' | 'warnings'> {
  /** The number of contents that would be kept under refs. */
  readonly refs: number;
  /**
   * What the array has cost, and what the view would have. Null if there is no price. Absent before
   * the answer has ended.
   */
  readonly bill?: PotentialBill | null;
  /** The code of the error that the request would have been refused with. */
  readonly error?: string;
}

/** A memory block that the model has written. */
export interface WrittenBlock {
  readonly label: string;
  readonly version: number;
}

/** A memory block in the view. Version 0: there is none of this label. */
export interface ReportedBlock extends WrittenBlock {
  readonly tokens: number;
}

interface ReportedBlocks {
  /** Of the message that shows them. */
  readonly tokens: number;
  readonly blocks: readonly ReportedBlock[];
  /** Absent if the model has written none. */
  readonly written?: readonly WrittenBlock[];
}

/** The `memory` object of a response. Sizes are in tokens. */
export interface Report {
  readonly mode: Mode;
  readonly source: StrategySource;
  readonly trigger: Trigger;
  /** Absent if nothing was counted. */
  readonly tokens?: {
    readonly before: number;
    readonly after: number;
    readonly budget: number | null;
    readonly window: number;
  };
  readonly frontier: { readonly unit: number; readonly moved: boolean };
  readonly applied_edits: readonly AppliedEdit[];
  readonly refs: readonly ReportedRef[];
  readonly summary?: ReportedSummary;
  /** Absent if nothing was fetched. */
  readonly retrieval?: ReportedRetrieval;
  /** The newest, oldest first. Absent if there are none. */
  readonly misses?: readonly ReportedMiss[];
  /** The injected block of cross-session memory. */
  readonly injection?: { readonly tokens: number; readonly text: string };
  /** The memory blocks in the view. */
  readonly memory_blocks?: ReportedBlocks;
  /** Present if the request was only observed. */
  readonly potential?: Potential;
  readonly warnings: readonly Warning[];
  /** Absent without a tenant, and for a large body. */
  readonly receipt?: Receipt;
}

/** The report of an unchanged request. */
export function idleReport(mode: Mode, source: StrategySource, warnings: readonly Warning[] = []): Report {
  return {
    mode,
    source,
    trigger: 'none',
    frontier: { unit: 0, moved: false },
    applied_edits: [],
    refs: [],
    warnings: [...new Set(warnings)],
  };
}

/**
 * The report of a plan and its view.
 *
 * @param made the summary in the view, and the summarizer's usage for digests
 */
export function reportOf(
  plan: Plan,
  view: View,
  source: StrategySource,
  warnings: readonly Warning[],
  made: MadeWords = {},
): Report {
  const { summary } = made;
  const { replay, budgets, strategy } = plan;
  const budget = budgets.hard ?? budgets.soft ?? null;
  const over = view.tokens > (budgets.hard ?? budgets.window);
  const waits = replay.refused.some(({ because }) => because === 'floor' || because === 'regret');
  const edits = appliedEdits(plan, view, made);
  // Where nothing could be stored, nothing is edited, whatever was planned. But a late result may
  // bring back all that earlier requests have removed, and that changes the view too.
  const isUntouched = edits.length === 0 && (view.incomplete || replay.moves.length === 0);
  const isIdle = !plan.actsOnSoft && replay.before > (budgets.soft ?? Number.POSITIVE_INFINITY);
  return {
    mode: strategy.mode,
    source,
    trigger: replay.trigger,
    tokens: { before: replay.before, after: view.tokens, budget, window: budgets.window },
    frontier: isUntouched ? { unit: 0, moved: false } : frontierOf(plan),
    applied_edits: edits,
    refs: refsOf(view),
    ...(summary ? { summary } : {}),
    ...(plan.misses ? { misses: reportedMisses(plan.history, plan.misses) } : {}),
    warnings: [
      ...new Set([
        ...warnings,
        ...(waits ? ['waiting' as const] : over ? ['over_budget' as const] : []),
        ...(isIdle ? ['soft_budget_idle' as const] : []),
        ...(view.incomplete ? ['store_failed' as const] : []),
      ]),
    ],
  };
}

/** The words of a model that a request has got. */
interface MadeWords {
  readonly summary?: ReportedSummary | undefined;
  /** Usage for digests. Absent if the summarizer was not called. */
  readonly digestUsage?: TokenUsage | undefined;
}

function appliedEdits(plan: Plan, view: View, { summary, digestUsage }: MadeWords): AppliedEdit[] {
  const removals = [...view.removals.values()].flat();
  const edits = [
    ...condensed(removals.filter(({ reason }) => reason === 'condensed')),
    ...offloads(removals, digestUsage),
    ...dropIns('dedupe', removals, ['duplicate', 'superseded']),
    ...clearedReasoning(removals.filter(({ kind }) => kind === 'reasoning')),
    ...compaction(removals.filter(({ reason }) => reason === 'context_compaction')),
  ];
  if (view.dropped.size === 0) return edits;
  const cleared_tokens = plan.replay.before - view.tokens - freedBy(removals);
  return [...edits, ...leftOut(view, cleared_tokens, summary)];
}

function condensed(removals: readonly Removal[]): AppliedEdit[] {
  if (removals.length === 0) return [];
  const tokens_before = removals.reduce((sum, { tokens }) => sum + tokens, 0);
  const cleared_tokens = freedBy(removals);
  return [
    {
      type: 'condense',
      condensed_tool_results: removals.length,
      tokens_before,
      tokens_after: tokens_before - cleared_tokens,
      cleared_tokens,
    },
  ];
}

function offloads(all: readonly Removal[], usage: TokenUsage | undefined): AppliedEdit[] {
  const digests = all.filter(({ isDigested }) => isDigested).length;
  const more = { ...(digests > 0 ? { digests } : {}), ...(usage ? { usage } : {}) };
  return dropIns('offload', all, ['offloaded']).map((edit) => ({ ...edit, ...more }));
}

function dropIns<Type extends 'offload' | 'dedupe'>(
  type: Type,
  all: readonly Removal[],
  reasons: readonly RemovalReason[],
): {
  readonly type: Type;
  readonly cleared_tool_results: number;
  readonly cleared_tokens: number;
}[] {
  const removals = all.filter(({ reason }) => reasons.includes(reason));
  if (removals.length === 0) return [];
  return [{ type, cleared_tool_results: removals.length, cleared_tokens: freedBy(removals) }];
}

function clearedReasoning(removals: readonly Removal[]): AppliedEdit[] {
  if (removals.length === 0) return [];
  return [{ type: 'clear_reasoning', messages: removals.length, cleared_tokens: freedBy(removals) }];
}

function compaction(removals: readonly Removal[]): AppliedEdit[] {
  if (removals.length === 0) return [];
  const count = (kind: Removal['kind']): number => removals.filter((removal) => removal.kind === kind).length;
  const parts = count('part');
  return [
    {
      type: 'compact',
      cleared_tool_results: count('output'),
      cleared_tool_inputs: count('input'),
      ...(parts > 0 ? { cleared_parts: parts } : {}),
      cleared_tokens: freedBy(removals),
    },
  ];
}

function leftOut(view: View, cleared_tokens: number, summary: ReportedSummary | undefined): AppliedEdit[] {
  if (view.summary) {
    const { memory_id, base_memory_id } = summary ?? {};
    const [, last] = view.summary.covers;
    const trimmed = [...view.dropped].filter((message) => message > last).length;
    const messages = view.dropped.size - trimmed;
    return [
      {
        type: 'summarize',
        messages,
        cleared_tokens,
        ...(memory_id === undefined ? {} : { memory_id, base_memory_id: base_memory_id ?? null }),
      },
      // The freed tokens of both edits are reported once, together.
      ...(trimmed > 0 ? [{ type: 'trim' as const, messages: trimmed, cleared_tokens: 0 }] : []),
    ];
  }
  return [{ type: 'trim', messages: view.dropped.size, cleared_tokens }];
}

/** The outputs behind a summary. */
export function reportedOutputs(outputs: readonly ShownOutput[]): ReportedOutput[] {
  return outputs.map(({ message, call, tokens, removal }) => ({
    message,
    tool_name: call?.name ?? TEXT_OBSERVATION,
    tool_call_id: call?.id ?? NO_CALL,
    tokens,
    ...(removal?.ref === undefined ? {} : { ref: removal.ref }),
  }));
}

/** Each ref once, in the order of the view. */
/** The frontier of a plan. */
export function frontierOf({ replay }: Pick<Plan, 'replay'>): Report['frontier'] {
  return { unit: frontierUnit(replay.cuts), moved: replay.moved };
}

function refsOf(view: View): ReportedRef[] {
  const refs = new Map<string, ReportedRef>();
  for (const { removal } of view.summary?.rehydrated ?? [])
    if (removal?.ref !== undefined) add(refs, removal, removal.ref);
  for (const removal of [...view.removals.values()].flat())
    if (removal.ref !== undefined) add(refs, removal, removal.ref);
  const trimmed = view.trim?.kept;
  if (trimmed) refs.set(trimmed.ref, { ...trimmed, tool_name: 'session_transcript', tool_call_id: NO_CALL });
  return [...refs.values()];
}

function add(refs: Map<string, ReportedRef>, removal: Removal, ref: string): void {
  if (refs.has(ref)) return;
  refs.set(ref, {
    ref,
    tool_name: removal.tool,
    tool_call_id: removal.callId,
    tokens: removal.tokens,
    bytes: removal.bytes,
  });
}
