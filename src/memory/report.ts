/** The report: what was done to a request, told to the caller (design §4). */
import type { Removal } from './edits/removal.ts';
import { frontierUnit, type Trigger } from './frontier.ts';
import type { Plan } from './plan.ts';
import type { Mode } from './strategy.ts';
import type { View } from './view.ts';

/** Which level of the precedence the strategy comes from. */
export type StrategySource = 'request' | 'conversation' | 'agent' | 'default';

/** Codes of `x-memory-warning`. */
export type Warning = 'over_budget' | 'store_failed' | 'no_tenant' | 'too_many_messages';

export type AppliedEdit =
  | {
      readonly type: 'compact';
      readonly cleared_tool_results: number;
      readonly cleared_tool_inputs: number;
      readonly cleared_tokens: number;
    }
  | { readonly type: 'trim'; readonly messages: number; readonly cleared_tokens: number };

export interface ReportedRef {
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
    warnings,
  };
}

/** The report of a plan and of the view that became of it. */
export function reportOf(
  plan: Plan,
  view: View,
  source: StrategySource,
  warnings: readonly Warning[],
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
    applied_edits: appliedEdits(plan, view),
    refs: refsOf(view),
    warnings: [
      ...warnings,
      ...(over ? ['over_budget' as const] : []),
      ...(view.incomplete ? ['store_failed' as const] : []),
    ],
  };
}

function appliedEdits(plan: Plan, view: View): AppliedEdit[] {
  const removals = [...view.removals.values()].flat();
  if (removals.length > 0) {
    const outputs = removals.filter((removal) => removal.kind === 'output').length;
    const cleared_tokens = removals.reduce((sum, removal) => sum + removal.freed, 0);
    return [
      {
        type: 'compact',
        cleared_tool_results: outputs,
        cleared_tool_inputs: removals.length - outputs,
        cleared_tokens,
      },
    ];
  }
  if (view.dropped.size === 0) return [];
  return [{ type: 'trim', messages: view.dropped.size, cleared_tokens: plan.replay.before - view.tokens }];
}

/** Each ref once, in the order of the view. */
function refsOf(view: View): ReportedRef[] {
  const refs = new Map<string, ReportedRef>();
  for (const removal of [...view.removals.values()].flat())
    if (removal.ref !== undefined) add(refs, removal, removal.ref);
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
