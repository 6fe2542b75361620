/** Builds the event of a request from its plan, its view and its report. Pure. */
import { shortened } from '../../lib/characters.ts';
import type { Removal } from '../edits/removal.ts';
import type { Report } from '../plan/report.ts';
import type { View } from '../plan/view.ts';
import type { Refusal } from '../replay/reasons.ts';
import type { LeftOut, RunEdit, RunEvent } from './event.ts';

/** In characters. Names of models and tools are the caller's own texts. */
const LONGEST_NAME = 128;

/** What was planned for a request. */
export interface RunPlan {
  readonly report: Report;
  /** Undefined if the array was sent unchanged. */
  readonly view: View | undefined;
  readonly refused: readonly Refusal[];
  /** Of an observed request: see `MadeView`. */
  readonly movedAt?: number | undefined;
}

/** An event without its number, its bills, and what follows from the request before. */
export type UnbilledRun = Omit<
  RunEvent,
  'n' | 'bill' | 'potential_bill' | 'cache_miss' | 'reasoning_dropped'
>;

/** All that an event says in addition to the plan. */
export type RunFacts = Omit<UnbilledRun, keyof ReturnType<typeof plannedFacts> | 'object' | 'model'> & {
  readonly model: string | undefined;
};

export function buildEvent(plan: RunPlan, { model, ...facts }: RunFacts): UnbilledRun {
  const name = model === undefined ? null : shortened(model, LONGEST_NAME);
  return { object: 'memory.request', ...facts, model: name, ...plannedFacts(plan) };
}

function plannedFacts({ report, view, refused }: RunPlan) {
  const { mode, source, tokens, trigger, frontier, warnings } = report;
  return {
    mode,
    source,
    tokens: tokens ?? null,
    trigger,
    frontier,
    refused: [...refused],
    edits: editsOf(view),
    left_out: leftOutOf(view, report),
    summary: summaryOf(report),
    injection_tokens: besideOf(report),
    ...(report.next_edit ? { next_edit: report.next_edit } : {}),
    dropped_thinking_blocks: report.dropped_thinking_blocks ?? 0,
    kept_rounds: [...(view?.rounds ?? [])].map(([message, { rounds, tokens }]) => ({
      message,
      rounds,
      tokens,
    })),
    warnings: [...warnings],
  };
}

/** In the order of the caller's array. */
function editsOf(view: View | undefined): RunEdit[] {
  const removals = [...(view?.removals ?? [])].sort(([a], [b]) => a - b);
  return removals.flatMap(([, ofMessage]) => ofMessage.map(editOf));
}

function editOf({ message, kind, call, reason, tool, ref, tokens, freed }: Removal): RunEdit {
  const name = shortened(tool, LONGEST_NAME);
  return { message, kind, call, reason, tool: name, ref: ref ?? null, tokens, freed };
}

/** The messages that are not in the view, as ranges, ascending. */
function leftOutOf(view: View | undefined, { summary }: Report): LeftOut[] {
  if (!view) return [];
  const covered = view.summary?.covers[1] ?? -1;
  const trimmed = view.trim?.kept?.ref ?? null;
  const ranges: LeftOut[] = [];
  for (const index of [...view.dropped].sort((a, b) => a - b)) {
    const fate = index <= covered ? 'summarized' : 'trimmed';
    const last = ranges.at(-1);
    if (last?.to === index - 1 && last.fate === fate) last.to = index;
    else {
      const ref = fate === 'summarized' ? (summary?.ref ?? null) : trimmed;
      ranges.push({ from: index, to: index, fate, ref });
    }
  }
  return ranges;
}

function summaryOf({ summary }: Report): RunEvent['summary'] {
  if (!summary) return null;
  const { memory_id = null, status, covers, ref = null, usage } = summary;
  return {
    memory_id,
    status,
    covers: [...covers],
    ref,
    usage: { input: usage.prompt_tokens, output: usage.completion_tokens },
  };
}

function besideOf({ injection, memory_blocks }: Report): number | null {
  if (!injection && !memory_blocks) return null;
  return (injection?.tokens ?? 0) + (memory_blocks?.tokens ?? 0);
}
