/**
 * The report: what was done to a request, told to the caller
 * (docs/design.md#4-what-the-caller-gets).
 */

import type { MarkerReason } from '../edits/placeholder.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import type { Mode } from '../modes/table.ts';
import { frontierUnit, type Trigger } from '../replay/rule.ts';
import type { Plan } from './plan.ts';
import type { View } from './view.ts';

/** Which level of the precedence the strategy comes from. */
export type StrategySource = 'request' | 'conversation' | 'agent' | 'default';

/** Codes of `x-memory-warning`. */
export type Warning =
  | 'over_budget'
  | 'store_failed'
  | 'no_tenant'
  | 'unverified_key'
  | 'no_conversation'
  | 'no_user'
  | 'too_many_messages'
  | 'summary_degraded'
  | 'summary_pending'
  | 'stale_summary'
  | 'retrieval_off'
  | 'upstream_state'
  | 'limit_learned';

type AppliedEdit =
  | {
      readonly type: 'offload' | 'dedupe';
      readonly cleared_tool_results: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'compact';
      readonly cleared_tool_results: number;
      readonly cleared_tool_inputs: number;
      /** Inline images and files; absent without any. */
      readonly cleared_parts?: number;
      readonly cleared_tokens: number;
    }
  | {
      readonly type: 'summarize';
      readonly messages: number;
      readonly cleared_tokens: number;
      /**
       * The row of the conversation's memory, and the one that it was made of; absent for what is
       * kept nowhere.
       */
      readonly memory_id?: number;
      readonly base_memory_id?: number | null;
    }
  | { readonly type: 'trim'; readonly messages: number; readonly cleared_tokens: number };

/**
 * The summary in the view. Its text, coverage and hash are all that a caller needs to hold it
 * (`memory_summary`).
 */
export interface ReportedSummary {
  readonly text: string;
  /** The first and the last message of the caller's array that it stands for. */
  readonly covers: readonly [number, number];
  readonly prefix_hash: string;
  readonly ref?: string;
  /**
   * `degraded`: made by code, since the summarizer failed. `pending`: made by code, since it is not
   * ready.
   */
  readonly status: 'completed' | 'degraded' | 'pending';
  readonly memory_id?: number;
  readonly base_memory_id?: number | null;
  /** What this request has spent on the summarizer. */
  readonly usage: TokenUsage;
}

/** Tokens that an upstream has counted; for a summary all 0 when no summarizer was asked. */
export interface TokenUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** What the model has fetched on the way to its answer. */
interface ReportedRetrieval {
  /** How often the upstream was asked again. */
  readonly rounds: number;
  /** The refs that were given out, each once, in order. */
  readonly refs: readonly string[];
  /** Of all rounds together, as the upstream has counted; absent where it has not. */
  readonly usage?: TokenUsage;
  /** The id from which a stored conversation goes on, where the response has another one. */
  readonly response_id?: string;
}

interface ReportedRef {
  readonly ref: string;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly tokens: number;
  readonly bytes: number;
}

/** The `memory` object of a response; sizes in tokens. */
export interface Report {
  readonly mode: Mode;
  readonly source: StrategySource;
  readonly trigger: Trigger;
  /** Absent when nothing was counted. */
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
  /** Absent when nothing was fetched. */
  readonly retrieval?: ReportedRetrieval;
  /** The block of cross-session memory that was put in. */
  readonly injection?: { readonly tokens: number };
  readonly warnings: readonly Warning[];
}

/** The report of a request that nothing was done to. */
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
 * The report of a plan and of the view that became of it.
 *
 * @param summary the summary in the view
 */
export function reportOf(
  plan: Plan,
  view: View,
  source: StrategySource,
  warnings: readonly Warning[],
  summary?: ReportedSummary,
): Report {
  const { replay, budgets, strategy } = plan;
  const budget = budgets.hard ?? budgets.soft ?? null;
  const over = view.tokens > (budgets.hard ?? budgets.window);
  return {
    mode: strategy.mode,
    source,
    trigger: replay.trigger,
    tokens: { before: replay.before, after: view.tokens, budget, window: budgets.window },
    frontier: { unit: frontierUnit(replay.cuts), moved: replay.moved },
    applied_edits: appliedEdits(plan, view, summary),
    refs: refsOf(view),
    ...(summary ? { summary } : {}),
    warnings: [
      ...new Set([
        ...warnings,
        ...(over ? ['over_budget' as const] : []),
        ...(view.incomplete ? ['store_failed' as const] : []),
      ]),
    ],
  };
}

function appliedEdits(plan: Plan, view: View, summary: ReportedSummary | undefined): AppliedEdit[] {
  const removals = [...view.removals.values()].flat();
  const edits = [
    ...dropIns('offload', removals, ['offloaded']),
    ...dropIns('dedupe', removals, ['duplicate', 'superseded']),
    ...compaction(removals.filter(({ reason }) => reason === 'context_compaction')),
  ];
  if (view.dropped.size === 0) return edits;
  const cleared_tokens = plan.replay.before - view.tokens - freedBy(removals);
  return [...edits, ...leftOut(view, cleared_tokens, summary)];
}

function dropIns(
  type: 'offload' | 'dedupe',
  all: readonly Removal[],
  reasons: readonly MarkerReason[],
): AppliedEdit[] {
  const removals = all.filter(({ reason }) => reasons.includes(reason));
  if (removals.length === 0) return [];
  return [{ type, cleared_tool_results: removals.length, cleared_tokens: freedBy(removals) }];
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
      // How the freed tokens divide between the two is nobody's question: they are told once.
      ...(trimmed > 0 ? [{ type: 'trim' as const, messages: trimmed, cleared_tokens: 0 }] : []),
    ];
  }
  return [{ type: 'trim', messages: view.dropped.size, cleared_tokens }];
}

/** Each ref once, in the order of the view. */
function refsOf(view: View): ReportedRef[] {
  const refs = new Map<string, ReportedRef>();
  for (const removal of [...view.removals.values()].flat())
    if (removal.ref !== undefined) add(refs, removal, removal.ref);
  const trimmed = view.trim?.kept;
  if (trimmed) refs.set(trimmed.ref, { ...trimmed, tool_name: 'session_transcript', tool_call_id: 'none' });
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
