/**
 * The report to the caller about its request (docs/answers-and-errors.md#the-report). Its shape is
 * `report-schema.ts`.
 */
import { answeredBefore, type History } from '../conversation/history.ts';
import { REMOVAL_REASONS, type RemovalEdit } from '../edits/fates.ts';
import { NO_CALL, TEXT_OBSERVATION } from '../edits/placeholder.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import type { ShownOutput } from '../edits/shown-summary.ts';
import type { Mode } from '../modes/table.ts';
import type { TokenUsage } from '../money/bill-schema.ts';
import { tokensOfRounds } from '../replay/kept-rounds.ts';
import type { Miss } from '../replay/misses.ts';
import { frontierUnit } from '../replay/rule.ts';
import type { Plan } from './plan.ts';
import type {
  AppliedEdit,
  Report,
  ReportedMiss,
  ReportedOutput,
  ReportedRef,
  ReportedSummary,
  StrategySource,
} from './report-schema.ts';
import type { View } from './view.ts';
import type { Warning } from './warnings.ts';

export type { TokenUsage } from '../money/bill-schema.ts';
export type {
  AppliedEdit,
  Potential,
  Report,
  ReportedBlock,
  ReportedSummary,
  StrategySource,
  WrittenBlock,
} from './report-schema.ts';
export type { Warning } from './warnings.ts';

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
  const { bytes } = plan;
  const isLarge = bytes !== undefined && bytes.after > bytes.limit;
  const over = isLarge || view.tokens > (budgets.hard ?? budgets.window);
  const waits =
    replay.waits === true ||
    replay.refused.some(({ because }) => because === 'floor' || because === 'regret');
  const edits = appliedEdits(plan, view, made);
  // Where nothing could be stored, nothing is edited, whatever was planned. But a late result may
  // bring back all that earlier requests have removed, and that changes the view too.
  const isUntouched =
    edits.length === 0 && !plan.lacksRounds && (view.incomplete || replay.moves.length === 0);
  const isIdle = !plan.actsOnSoft && replay.before > (budgets.soft ?? Number.POSITIVE_INFINITY);
  return {
    mode: strategy.mode,
    source,
    trigger: replay.trigger,
    tokens: {
      before: replay.before,
      after: view.tokens,
      budget,
      ...(plan.actsOnSoft && budgets.soft !== undefined ? { soft_budget: budgets.soft } : {}),
      window: budgets.window,
    },
    ...(bytes ? { bytes: { before: bytes.before, after: bytes.after, limit: bytes.limit } } : {}),
    ...(replay.nextMove ? { next_edit: replay.nextMove } : {}),
    frontier: isUntouched ? { unit: 0, moved: false } : frontierOf(plan),
    applied_edits: edits,
    refs: refsOf(view),
    ...(summary ? { summary } : {}),
    ...(view.rounds ? { kept_rounds: keptRoundsOf(view.rounds) } : {}),
    ...(plan.misses ? { misses: reportedMisses(plan.history, plan.misses) } : {}),
    ...(plan.thinking ? { dropped_thinking_blocks: plan.thinking.blocks } : {}),
    warnings: [
      ...new Set([
        ...warnings,
        ...(plan.isDearer ? ['dearer' as const] : []),
        ...(waits ? ['waiting' as const] : over ? ['over_budget' as const] : []),
        ...(isIdle ? ['soft_budget_idle' as const] : []),
        ...(view.incomplete ? ['store_failed' as const] : []),
        ...(plan.lacksRounds ? ['rounds_absent' as const] : []),
        ...(plan.thinking ? ['thinking_dropped' as const] : []),
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
  const facts = { answered: answeredBefore(plan.history), usage: digestUsage };
  const byEdit = Map.groupBy(removals, ({ reason }) => REMOVAL_REASONS[reason].edit);
  const edits = Object.entries(EDITS).flatMap(([type, editOf]) => {
    const counted = byEdit.get(type as RemovalEdit);
    return counted ? [editOf(counted, facts)] : [];
  });
  if (view.dropped.size === 0) return edits;
  const cleared_tokens = plan.replay.before + tokensOfRounds(plan.rounds) - view.tokens - freedBy(removals);
  return [...edits, ...leftOut(view, cleared_tokens, summary)];
}

/** What an edit reports in addition to its removals. */
interface EditFacts {
  /** The number of messages before those that no answer has followed yet. */
  readonly answered: number;
  /** The summarizer's usage for digests. */
  readonly usage: TokenUsage | undefined;
}

type EditOf = (removals: readonly Removal[], facts: EditFacts) => AppliedEdit;

/** The edit of a report for the removals that it counts, in the order of reports. */
const EDITS: Readonly<Record<RemovalEdit, EditOf>> = {
  offload: (removals, { answered, usage }) => {
    const fresh = removals.filter(({ message }) => message >= answered).length;
    const digests = removals.filter(({ isDigested }) => isDigested).length;
    return {
      type: 'offload',
      ...clearedResults(removals),
      ...(fresh > 0 ? { fresh } : {}),
      ...(digests > 0 ? { digests } : {}),
      ...(usage ? { usage } : {}),
    };
  },
  dedupe: (removals) => ({ type: 'dedupe', ...clearedResults(removals) }),
  clear_reasoning: (removals) => ({
    type: 'clear_reasoning',
    messages: removals.length,
    cleared_tokens: freedBy(removals),
  }),
  compact: (removals) => {
    const count = (kind: Removal['kind']): number => removals.filter((one) => one.kind === kind).length;
    const parts = count('part');
    return {
      type: 'compact',
      cleared_tool_results: count('output') + count('hosted'),
      cleared_tool_inputs: count('input'),
      ...(parts > 0 ? { cleared_parts: parts } : {}),
      cleared_tokens: freedBy(removals),
    };
  },
};

function clearedResults(removals: readonly Removal[]) {
  return { cleared_tool_results: removals.length, cleared_tokens: freedBy(removals) };
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

/** The outputs after a summary. */
export function reportedOutputs(outputs: readonly ShownOutput[]): ReportedOutput[] {
  return outputs.map(({ message, call, tokens, removal }) => ({
    message,
    tool_name: call?.name ?? TEXT_OBSERVATION,
    tool_call_id: call?.id ?? NO_CALL,
    tokens,
    ...(removal?.ref === undefined ? {} : { ref: removal.ref }),
  }));
}

function keptRoundsOf(shown: NonNullable<View['rounds']>): NonNullable<Report['kept_rounds']> {
  const all = [...shown.values()];
  return { rounds: all.reduce((sum, { rounds }) => sum + rounds, 0), tokens: tokensOfRounds(all) };
}

/** The frontier of a plan. A view that may lack Precis's rounds differs from the one before. */
export function frontierOf({
  replay,
  lacksRounds,
}: Pick<Plan, 'replay' | 'lacksRounds'>): Report['frontier'] {
  return { unit: frontierUnit(replay.cuts), moved: replay.moved || lacksRounds };
}

/** Each ref once, in the order of the view. */
function refsOf(view: View): ReportedRef[] {
  const refs = new Map<string, ReportedRef>();
  const shown = view.summary?.rehydrated?.flatMap(({ removal }) => removal ?? []) ?? [];
  for (const { ref, tool, callId, tokens, bytes } of [...shown, ...[...view.removals.values()].flat()])
    if (ref !== undefined && !refs.has(ref))
      refs.set(ref, { ref, tool_name: tool, tool_call_id: callId, tokens, bytes });
  const trimmed = view.trim?.kept;
  if (trimmed) refs.set(trimmed.ref, { ...trimmed, tool_name: 'session_transcript', tool_call_id: NO_CALL });
  return [...refs.values()];
}

/** Misses in a report. */
const MOST_MISSES = 50;

/**
 * The newest contents of a plan that were asked for again after they had left the view, oldest
 * first.
 */
export function reportedMisses({ units }: History, misses: readonly Miss[]): readonly ReportedMiss[] {
  const newest = misses.slice(-MOST_MISSES);
  const reported = new Set(newest.map(({ message }) => message));
  const outputs = units.flatMap((unit) => unit.outputs).filter(({ message }) => reported.has(message));
  const calls = new Map(outputs.map(({ message, call }) => [message, call]));
  return newest.map(({ how, message, ref }) => ({
    how,
    message,
    tool_name: calls.get(message)?.name ?? TEXT_OBSERVATION,
    tool_call_id: calls.get(message)?.id ?? NO_CALL,
    ...(ref === undefined ? {} : { ref }),
  }));
}

/**
 * The contents that the model has fetched for its answer.
 *
 * @param given the refs that it has fetched
 * @param refs the view's
 */
export function fetchedMisses(
  given: readonly string[],
  refs: readonly Required<Omit<ReportedMiss, 'how' | 'message'>>[],
): readonly ReportedMiss[] {
  const fetched = new Set(given);
  return refs
    .filter(({ ref }) => fetched.has(ref))
    .map(({ ref, tool_name, tool_call_id }) => ({ how: 'fetched', tool_name, tool_call_id, ref }));
}
