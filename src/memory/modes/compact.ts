/** `compact`: replaces old tool outputs, and optionally old arguments, by placeholders. */
import * as z from 'zod';
import { elementAt } from '../../lib/elements.ts';
import { once } from '../../lib/once.ts';
import type { History } from '../conversation/history.ts';
import { type CompactContext, compactUnit } from '../edits/compact.ts';
import { compactHosted } from '../edits/hosted.ts';
import { removalsUnder, settingsOf } from '../edits/known-removal.ts';
import { createPreviewWriter } from '../edits/preview.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import { CursorMover } from '../replay/cursor-mover.ts';
import { replayOn } from '../replay/known-replay.ts';
import { type Cuts, frontierUnit } from '../replay/rule.ts';
import { UnitCursor } from '../replay/unit-cursor.ts';
import { costsMore } from '../replay/worth.ts';
import {
  type CompactSettings,
  canRetrieve,
  compaction,
  editing,
  hasBudget,
  retrievalFault,
  tailFault,
} from '../strategy/fields.ts';
import { mediaOfUnit, withinBytes } from './byte-limit.ts';
import type { MemoryMode, ReplayRequest } from './mode.ts';
import type { PlanContext, Planned } from './planned.ts';
import { above, unitTail } from './tails.ts';

const schema = z.strictObject({
  mode: z.literal('compact'),
  ...editing,
  ...compaction,
});

type CompactStrategy = z.output<typeof schema>;

export const compact = {
  schema,
  edits: true,
  contradiction: (strategy: CompactStrategy) =>
    retrievalFault(strategy) ?? tailFault(strategy, 'compact_keep_steps', 'compact_trigger_steps'),
  keepsContents: ({ compact_offload }: CompactStrategy) => compact_offload,
  retrieves: (strategy: CompactStrategy, hasTools: boolean) => canRetrieve(strategy, hasTools),
  replayed: {
    slides: slidesByDefault,
    turnsDue: ({ compact_trigger_turns }: CompactStrategy) => above(compact_trigger_turns),
    stepsDue: ({ compact_trigger_steps }: CompactStrategy) => above(compact_trigger_steps),
    tail: (strategy: CompactStrategy) => unitTail(strategy.compact_keep, strategy),
    isReversible: ({ compact_offload }: CompactStrategy) => compact_offload,
    plan: planCompact,
  },
} as const satisfies MemoryMode<CompactStrategy>;

/** A turn trigger alone slides. */
function slidesByDefault(strategy: CompactStrategy): boolean {
  const { compact_trigger_turns: turns, compact_trigger_steps: steps } = strategy;
  return turns !== undefined && steps === undefined && !hasBudget(strategy);
}

const START: Cuts = { turn: 0, step: 0 };

function planCompact(strategy: CompactStrategy, request: ReplayRequest, context: PlanContext): Planned {
  const { history, rule, sums, inView, terms } = request;
  const contents = compactContext(strategy, history, context);
  const removals = removalsBy(contents);
  const freed = (unit: number): number => freedBy(removals(unit));
  const cursor = new UnitCursor(history, rule, { whole: freed, step: freed });
  const mover = new CursorMover(rule, cursor, inView, 'reversible');
  const result = replayOn(request, sums, mover, contents.settings);
  const collect = (from: Cuts, to: Cuts): Removal[] =>
    range(frontierUnit(from), frontierUnit(to)).flatMap((unit) => removals(unit));
  const planned = {
    replay: result,
    segments: result.moves.map(({ cuts }, index) => collect(result.moves[index - 1]?.cuts ?? START, cuts)),
    ahead: once(() => ({ upcoming: collect(result.cuts, result.next) })),
    dropped: [],
    isDearer: terms.prices.free !== true && costsMore(history, result.moves, sums, terms),
  };
  return withinBytes(planned, request, (unit) => mediaOfUnit(unit, contents));
}

/** The services of compaction. */
export function compactContext<Strategy extends CompactSettings>(
  strategy: Strategy,
  history: History,
  context: PlanContext,
): CompactContext<Strategy> {
  const keep = strategy.compact_offload;
  const settings = settingsOf([strategy, [...(context.unedited ?? [])], history.idle], context);
  const writer = createPreviewWriter(history.messages, context);
  return { ...context, history, strategy, keep, settings, writer };
}

/** The removals of each unit, computed on demand. */
function removalsBy(context: CompactContext): (unit: number) => readonly Removal[] {
  const { settings, history } = context;
  return (index) => {
    const unit = history.units[index];
    if (!unit) return [];
    // A unit ends with the same message in all arrays that begin with the same messages.
    const known = removalsUnder(settings, elementAt(history.messages, unit.last).facts);
    known.ofUnit ??= [...compactUnit(unit, context), ...compactHosted(unit, context)];
    return known.ofUnit;
  };
}

/** The units from one up to another; empty if there are none. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
