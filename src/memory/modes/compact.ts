/** `compact`: replaces old tool outputs, and optionally old arguments, by placeholders. */
import * as z from 'zod';
import { elementAt } from '../../lib/elements.ts';
import { once } from '../../lib/once.ts';
import type { History } from '../conversation/history.ts';
import { type CompactContext, compactUnit } from '../edits/compact.ts';
import { compactHosted } from '../edits/hosted.ts';
import { createPreviewWriter } from '../edits/preview.ts';
import { freedBy, type Removal, removalsUnder, settingsOf } from '../edits/removal.ts';
import { LEAST_PREFIX } from '../models/schedule.ts';
import type { ModelTerms } from '../models/terms.ts';
import { CursorMover } from '../replay/cursor-mover.ts';
import type { Move } from '../replay/frontier.ts';
import { replayOn } from '../replay/known-replay.ts';
import { type Cuts, frontierUnit } from '../replay/rule.ts';
import { UnitCursor } from '../replay/unit-cursor.ts';
import {
  type CompactSettings,
  canRetrieve,
  compaction,
  editing,
  hasBudget,
  retrievalFault,
  tailFault,
} from '../strategy/fields.ts';
import type { TokenSums } from '../tokens/sums.ts';
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
  contradiction: (strategy: CompactStrategy) =>
    retrievalFault(strategy) ?? tailFault(strategy, 'compact_keep_steps', 'compact_trigger_steps'),
  keepsContents: ({ compact_offload }: CompactStrategy) => compact_offload,
  retrieves: (strategy: CompactStrategy, hasTools: boolean) => canRetrieve(strategy, hasTools),
  replayed: {
    slides: slidesByDefault,
    triggers: ({ compact_trigger_turns, compact_trigger_steps }: CompactStrategy) => ({
      turnsDue: above(compact_trigger_turns),
      stepsDue: above(compact_trigger_steps),
    }),
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

/** How much dearer the requests may be, as a share, before it is said. */
const TOLERANCE = 0.01;

/** A move pays back later, so nothing is said of the first one. */
const LEAST_MOVES = 2;

/**
 * Whether the requests of an array cost more with the moves than without them. A move that a count
 * demands is made whatever it costs: what follows its edits is read anew, and a conversation with
 * many small moves pays more than without any. The estimate is the floor's (`floor.ts`): prices of
 * cached and of written input, each request within the cache's life. It is blind to rounds, to
 * thinking, and to what the answers cost.
 */
export function costsMore(
  { units, requestPoints }: Pick<History, 'units' | 'requestPoints'>,
  moves: readonly Pick<Move, 'messages' | 'before' | 'after' | 'cuts'>[],
  sums: TokenSums,
  { prices: { cached, written, boundaries }, marks }: Pick<ModelTerms, 'prices' | 'marks'>,
): boolean {
  const cost = (tokens: number, reused: number) => {
    const read = reused < LEAST_PREFIX ? 0 : Math.min(tokens, reused);
    return cached * read + written * (tokens - read);
  };
  if (moves.length < LEAST_MOVES) return false;
  // Of a cache that is read at boundaries, only the preamble is read where no mark is.
  const isMarked = boundaries === undefined || marks;
  const preamble = sums.before(units[0]?.first ?? 0);
  let [edited, unedited, lastView, lastArray, freed, from, next] = [0, 0, 0, 0, 0, 0, 0];
  for (const { messages } of requestPoints) {
    const array = sums.before(messages);
    const move = moves[next]?.messages === messages ? moves[next++] : undefined;
    // Before a move all edits are before its first unit.
    const changed = sums.before(units[from]?.first ?? 0) - freed;
    const kept = move ? (isMarked ? changed : preamble) : lastView;
    if (move) [freed, from] = [move.before - move.after, frontierUnit(move.cuts)];
    edited += cost(array - freed, Math.min(kept, lastView));
    unedited += cost(array, lastArray);
    [lastView, lastArray] = [array - freed, array];
  }
  return edited > (1 + TOLERANCE) * unedited;
}
