/**
 * The reasoning that an answer was made without although its caller has sent it, with the cause: it
 * is bound to what precedes it, and that has changed (docs/design.md#bound-thinking). Precis leaves
 * it out before it is refused; an API that drops it silently does the same with what remains.
 */
import { type Change, isOwn, type VendorVerdict } from './change.ts';
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
  readonly sent?: Blocks;
  /** Whether of these only what its model can't read is dropped, and all else refused. */
  readonly dropsUnread?: true;
  /**
   * Of those that were sent, what Precis has kept of answers: it is found by the model and the
   * answer, and by what it is bound to. Absent: nothing.
   */
  readonly kept?: Blocks;
}

export type Blocks = readonly (readonly [message: number, blocks: number])[];

/** Blocks of messages from one to another, without any other blocks between them. */
export type Runs = readonly (readonly [first: number, last: number, blocks: number])[];

/** Bounds what is kept of a request. */
const MOST_RUNS = 50;

/** What is known of the request before. */
interface Before {
  /** The blocks that it was sent without. */
  readonly left: number;
  /** Those that it had and that an earlier change has made invalid. They are lost once. */
  readonly lost?: Runs;
  readonly kept?: Blocks;
  /** See `Lost`. */
  readonly named?: number;
  /** See `hasLeftBefore`, of the message that the caller has changed. */
  readonly isCut?: boolean;
}

interface Lost {
  readonly dropped: DroppedReasoning | null;
  /** What is invalid in the request: the next one has lost nothing by it. */
  readonly lost: Runs;
  /** The blocks that its vendor has dropped, in its own words, or else as far as is known. */
  readonly named: number;
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
  const runs = before?.lost ?? [];
  const isInvalid = ([at]: Blocks[number]): boolean =>
    runs.some(([first, last]) => first <= at && at <= last);
  const invalid = sent.filter(isInvalid);
  const invalidLeft = runs.reduce((sum, [, , blocks]) => sum + blocks, 0) - sumOf(invalid);
  // Each answer names all that is dropped of its request. Not every answer is read to its end.
  const known = Math.max(0, (before?.named ?? 0) - invalidLeft);
  const said = verdict ? Math.max(0, verdict.blocks - known) : 0;
  // Beside a memory that each round renews, the plan leaves out what was thought since.
  const found = change ?? (before && left > before.left ? { cause: 'move' as const } : undefined);
  if (!found)
    return {
      dropped: verdictOn(said, verdict),
      lost: runsOf(sent, new Set(invalid)),
      named: verdict?.blocks ?? known,
    };
  const isKept = isOwn(found) && (isForeseen || !change);
  const from = isOwn(found) || found.message === undefined ? 0 : found.message + (before?.isCut ? 0 : 1);
  const lost = isKept ? [] : sent.filter((one) => one[0] >= from && !isInvalid(one));
  const newlyLeft = left - (before?.left ?? planned) - invalidLeft;
  const others = Math.max(0, newlyLeft) + notFound(before?.kept, found, kept);
  const blocks = others + (verdict ? 0 : sumOf(lost));
  return {
    dropped:
      verdictOn(said, verdict, found, others) ?? (blocks === 0 ? null : { blocks, ...found, by: 'precis' }),
    lost: runsOf(sent, new Set([...invalid, ...lost])),
    named: verdict?.blocks ?? known + sumOf(lost),
  };
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

/** How much was kept of answers, and is not found again after a change of the caller's. */
function notFound(before: Blocks = [], change: Change, now: Blocks): number {
  if (isOwn(change)) return 0;
  const { message = 0 } = change;
  const [had, has] = [before, now].map((kept) => sumOf(kept.filter(([at]) => at >= message)));
  return Math.max(0, (had ?? 0) - (has ?? 0));
}

/** @param lost some of those that were sent */
function runsOf(sent: Blocks, lost: ReadonlySet<Blocks[number]>): Runs {
  const runs: [first: number, last: number, blocks: number][] = [];
  for (const [index, one] of sent.entries()) {
    if (!lost.has(one)) continue;
    const [at, blocks] = one;
    const run = runs.at(-1);
    const before = sent[index - 1];
    if (run && before && lost.has(before)) [run[1], run[2]] = [at, run[2] + blocks];
    else runs.push([at, at, blocks]);
  }
  return runs.slice(-MOST_RUNS);
}

function sumOf(blocks: Blocks): number {
  return blocks.reduce((sum, [, count]) => sum + count, 0);
}
