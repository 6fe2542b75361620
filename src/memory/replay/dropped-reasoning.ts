/**
 * The reasoning that an answer was made without although its caller has sent it, with the cause: it
 * is bound to what precedes it, and that has changed (docs/design.md#bound-thinking). Precis leaves
 * it out before it is refused; an API that drops it silently does the same with what remains.
 */
import { type Change, isOwn } from './change.ts';
import type { DroppedReasoning } from './change-schema.ts';

/** The reasoning of an array whose API binds it. */
export interface BoundReasoning {
  /** The blocks that the request was sent without. */
  readonly left: number;
  /**
   * Those that had left before the newest move of the plan, which counts where no request before is
   * known. Absent: the plan has left out none.
   */
  readonly before?: number;
  /** Those that were sent, by message. Absent: the API refuses what it would drop. */
  readonly sent?: readonly (readonly [message: number, blocks: number])[];
}

/**
 * @param change the caller's, or else Precis's
 * @param before the blocks that the request before was sent without, if one is known
 * @param isForeseen whether the request knew of Precis's change, and left out what that loses
 */
export function droppedReasoning(
  { left, before: planned = 0, sent = [] }: BoundReasoning,
  change: Change | undefined,
  before: number | undefined,
  isForeseen = false,
): DroppedReasoning | null {
  // Beside a memory that each round renews, the plan leaves out what was thought since.
  const found = change ?? (before !== undefined && left > before ? { cause: 'move' as const } : undefined);
  if (!found) return null;
  const isKept = found.cause === 'key' || (isOwn(found) && (isForeseen || !change));
  const from = isOwn(found) ? -1 : (found.message ?? -1);
  const lost = isKept ? [] : sent.filter(([at]) => at > from);
  const blocks = Math.max(0, left - (before ?? planned)) + lost.reduce((sum, [, count]) => sum + count, 0);
  return blocks === 0 ? null : { blocks, ...found, by: 'precis' };
}
