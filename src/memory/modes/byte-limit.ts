/**
 * A limit of the body in bytes (docs/design.md#9-tokens-and-bytes). Images and files are few tokens
 * and many bytes, so a body can be too large long before its tokens meet a budget.
 *
 * Where a view would exceed the limit, the media that the model has seen leave, the oldest first,
 * until the view is at a share of the limit. What leaves is found by replaying the array: at each
 * request point by the same rule. So a longer array has the same removals or more, and between two
 * moves nothing that was sent changes.
 */
import { elementAt } from '../../lib/elements.ts';
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { type CompactContext, compactOutput } from '../edits/compact.ts';
import { removeMedia } from '../edits/media.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import type { Planned, PlanRequest } from './planned.ts';

/** Share of a limit that messages and tools may have: a body has other fields, too. */
const TAKEN = 0.97;
/** Where a move stops, as a share of the limit. */
const FILLED_UP_TO = 0.6;

/** Messages with fewer bytes stay: their media are not what makes a body large. */
const LEAST_BYTES = 4 * 1024;

const utf8 = new TextEncoder();

/** The media of a unit: in a user message, and in outputs of tools. */
export function mediaOfUnit(index: number, context: CompactContext): readonly Removal[] {
  const { history } = context;
  const unit = elementAt(history.units, index);
  const isLarge = (message: number): boolean => {
    const { bytes, flatTokens } = elementAt(history.messages, message);
    return bytes >= LEAST_BYTES && flatTokens > 0;
  };
  const parts = isLarge(unit.first) ? removeMedia(unit, context) : [];
  const outputs = unit.outputs.filter(({ message }) => isLarge(message));
  const removals = outputs.flatMap((output) => compactOutput(output, context, 'context_compaction', 0) ?? []);
  // What can't be fetched stays.
  return [...parts, ...removals].filter(({ ref, bytes }) => ref !== undefined && bytes >= LEAST_BYTES);
}

/**
 * A plan within the limit of the request, as far as media that the model has seen may leave.
 *
 * @param planned without the limit
 * @param mediaOf the media of a unit that may leave
 */
export function withinBytes(
  planned: Planned,
  { history, byteLimit: limit, toolBytes = 0 }: PlanRequest,
  mediaOf: (unit: number) => readonly Removal[],
): Planned {
  if (limit === undefined) return planned;
  const most = TAKEN * limit;
  const view = bytesInView(planned, history);
  const before = toolBytes + view.ofArray;
  const move = mediaReplay(history, (unit) => mediaOf(unit).filter(view.has));
  const segments: (readonly Removal[])[] = [];
  const moves: number[] = [];
  let freed = 0;
  for (const [index, point] of history.requestPoints.entries()) {
    const size = toolBytes + view.ofView.before(point.messages) - freed;
    if (size <= most) continue;
    const made = move(index, size - limit * FILLED_UP_TO);
    if (made.length === 0) continue;
    freed += made.reduce((sum, removal) => sum + savedBy(removal), 0);
    segments.push(made);
    moves.push(point.messages);
  }
  const after = toolBytes + view.ofView.total - freed;
  if (segments.length === 0 && after <= most) return planned;
  const { replay } = planned;
  const movedAt = moves.at(-1) ?? 0;
  const moved = movedAt === history.messages.length;
  return {
    ...planned,
    replay: {
      ...replay,
      after: replay.after - freedBy(segments.flat()),
      ...(moved ? { moved, trigger: 'upstream_limit' as const } : {}),
      ...(replay.thinkingFrom === undefined ? {} : { thinkingFrom: Math.max(replay.thinkingFrom, movedAt) }),
    },
    segments: [...planned.segments, ...segments],
    bytes: { before, after, limit, moves },
  };
}

/** The bytes of the view of a plan. */
function bytesInView({ segments, dropped }: Planned, { messages }: History) {
  const left = new Set(dropped);
  const removed = Map.groupBy(segments.flat(), ({ message }) => message);
  const bytesLeft = ({ bytes }: Message, index: number): number => {
    const saved = (removed.get(index) ?? []).reduce((sum, removal) => sum + savedBy(removal), 0);
    return left.has(index) ? 0 : Math.max(0, bytes - saved);
  };
  return {
    ofArray: messages.reduce((sum, { bytes }) => sum + bytes, 0),
    ofView: new PrefixSums(messages.map(bytesLeft)),
    /** Whether a content is in the view. */
    has({ kind, message, call }: Removal): boolean {
      const same = removed.get(message) ?? [];
      return !left.has(message) && !same.some((one) => one.kind === kind && one.call === call);
    },
  };
}

function savedBy({ bytes, replacement }: Removal): number {
  return bytes - utf8.encode(replacement).length;
}

/**
 * Lets media leave at successive request points.
 *
 * @param mediaOf the media of a unit that are in the view
 * @returns called with the index of a request point, and the bytes that are to leave there
 */
function mediaReplay(
  { units, turns, requestPoints }: History,
  mediaOf: (unit: number) => readonly Removal[],
): (index: number, enough: number) => readonly Removal[] {
  /** Those that may leave, oldest first, with their unit. */
  let waiting: { readonly unit: number; readonly removal: Removal }[] = [];
  /** The first unit whose media are not among them yet. */
  let next = 0;
  return (index, enough) => {
    // The request before has sent these, and the model has answered.
    const seen = requestPoints[index - 1]?.messages ?? 0;
    for (; next < units.length && elementAt(units, next).first < seen; next++)
      for (const removal of mediaOf(next)) waiting.push({ unit: next, removal });
    // The current request keeps its media.
    const asking = turns[elementAt(requestPoints, index).turns - 1] ?? 0;
    const made: Removal[] = [];
    let left = enough;
    waiting = waiting.filter(({ unit, removal }) => {
      const stays = removal.message >= seen || (removal.kind === 'part' && unit >= asking);
      if (stays || left <= 0) return true;
      left -= savedBy(removal);
      made.push(removal);
      return false;
    });
    return made;
  };
}
