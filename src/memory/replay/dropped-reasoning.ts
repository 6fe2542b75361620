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
  /** Those that its vendor has said to have dropped. */
  readonly dropped?: number;
}

interface Lost {
  readonly dropped: DroppedReasoning | null;
  /** What is invalid in the request: the next one has lost nothing by it. */
  readonly lost: Runs;
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
  // Beside a memory that each round renews, the plan leaves out what was thought since.
  const found = change ?? (before && left > before.left ? { cause: 'move' as const } : undefined);
  const said = newlyDropped(verdict, before);
  if (!found) return { dropped: verdictOn(said, verdict), lost: runsOf(sent, new Set(invalid)) };
  const isKept = isOwn(found) && (isForeseen || !change);
  const from = isOwn(found) ? -1 : (found.message ?? -1);
  const lost = isKept ? [] : sent.filter((one) => one[0] > from && !isInvalid(one));
  const invalidLeft = runs.reduce((sum, [, , blocks]) => sum + blocks, 0) - sumOf(invalid);
  const newlyLeft = left - (before?.left ?? planned) - invalidLeft;
  const others = Math.max(0, newlyLeft) + sumOf(notFound(before?.kept, found, kept));
  const blocks = others + (verdict ? 0 : sumOf(lost));
  return {
    dropped:
      verdictOn(said, verdict, found, others) ?? (blocks === 0 ? null : { blocks, ...found, by: 'precis' }),
    lost: runsOf(sent, new Set([...invalid, ...lost])),
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
