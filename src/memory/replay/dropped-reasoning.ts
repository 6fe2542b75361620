/**
 * The reasoning that an answer was made without although its caller has sent it, with the cause: it
 * is bound to what precedes it, and that has changed (docs/design.md#bound-thinking). Precis leaves
 * it out before it is refused; an API that drops it silently does the same with what remains.
 */
import { type Change, isOwn } from './change.ts';
import type { DroppedReasoning } from './change-schema.ts';
import type { VendorVerdict } from './vendor-verdict.ts';

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
  readonly sent?: Blocks;
  /**
   * Of those that were sent, what Precis has kept of answers: it is found by all that precedes an
   * answer, and by the model. Absent: nothing.
   */
  readonly kept?: Blocks;
}

export type Blocks = readonly (readonly [message: number, blocks: number])[];

/** Bounds what is kept of a request. */
export const MOST_LOST = 200;

/** What is known of the request before. */
interface Before {
  /** The blocks that it was sent without. */
  readonly left: number;
  /** Those that it had and that an earlier change has made invalid. They are lost once. */
  readonly lost?: Blocks;
  readonly kept?: Blocks;
  /** Those that its vendor has said to have dropped. */
  readonly dropped?: number;
}

interface Lost {
  readonly dropped: DroppedReasoning | null;
  /** What is invalid in the request: the next one has lost nothing by it. */
  readonly lost: Blocks;
}

/**
 * @param change the caller's, or else Precis's; no key of a cache
 * @param before absent: no request before is known
 * @param isForeseen whether the request knew of Precis's change, and left out what that loses
 * @param verdict the vendor's, which counts instead of what should be lost of what was sent
 */
export function droppedReasoning(
  { left, before: planned = 0, sent = [], kept = [] }: BoundReasoning,
  change: Change | undefined,
  before: Before | undefined,
  isForeseen = false,
  verdict?: VendorVerdict['dropped'],
): Lost {
  const places = new Set(sent.map(([at]) => at));
  const known = Map.groupBy(before?.lost ?? [], ([at]) => (places.has(at) ? 'sent' : 'left'));
  const invalid = known.get('sent') ?? [];
  // Beside a memory that each round renews, the plan leaves out what was thought since.
  const found = change ?? (before && left > before.left ? { cause: 'move' as const } : undefined);
  const said = newlyDropped(verdict, before);
  if (!found) return { dropped: verdictOn(said, verdict), lost: invalid };
  const isKept = isOwn(found) && (isForeseen || !change);
  const from = isOwn(found) ? -1 : (found.message ?? -1);
  const already = new Set(invalid.map(([at]) => at));
  const lost = isKept ? [] : sent.filter(([at]) => at > from && !already.has(at));
  const newlyLeft = left - (before?.left ?? planned) - sumOf(known.get('left') ?? []);
  const others = Math.max(0, newlyLeft) + sumOf(notFound(before?.kept, found, kept));
  const blocks = others + (verdict ? 0 : sumOf(lost));
  return {
    dropped:
      verdictOn(said, verdict, found, others) ?? (blocks === 0 ? null : { blocks, ...found, by: 'precis' }),
    lost: [...invalid, ...lost].slice(-MOST_LOST),
  };
}

/** Each answer has all that is dropped of its request. */
function newlyDropped(verdict: VendorVerdict['dropped'], before: Before | undefined): number {
  return Math.max(0, (verdict?.blocks ?? 0) - (before?.dropped ?? 0));
}

/** Null if the vendor has dropped nothing new. @param others lost beside it */
function verdictOn(
  said: number,
  verdict: VendorVerdict['dropped'],
  found?: Change,
  others = 0,
): DroppedReasoning | null {
  if (said === 0) return null;
  const cause = verdict?.part ? { cause: verdict.part } : (found ?? { cause: 'message' as const });
  return { blocks: said + others, ...cause, by: 'vendor' };
}

/** What was kept of answers, and is not found again after a change of the caller's. */
function notFound(before: Blocks = [], change: Change, now: Blocks): Blocks {
  if (isOwn(change)) return [];
  const { cause, message = 0 } = change;
  if (cause === 'message') return before.filter(([at]) => at >= message);
  return cause === 'model' && now.length === 0 ? before : [];
}

function sumOf(blocks: Blocks): number {
  return blocks.reduce((sum, [, count]) => sum + count, 0);
}
