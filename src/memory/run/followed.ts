/**
 * What follows from a request and the one that it continues: why its answer has missed the cache,
 * and what reasoning was dropped. Pure.
 */
import { callerChange, lineOf, type RequestPrefix, withLine } from '../conversation/request-prefix.ts';
import { type LeftInCache, leftInCache, missOf } from '../money/cache-miss.ts';
import type { BillOrder } from '../money/running-bill.ts';
import type { Change, OwnChange } from '../replay/change.ts';
import type { CacheMiss, DroppedReasoning } from '../replay/change-schema.ts';
import { type BoundReasoning, droppedReasoning } from '../replay/dropped-reasoning.ts';
import type { VendorVerdict } from '../replay/vendor-verdict.ts';

/** A request as the next one is compared with it. */
export interface ComparedRequest {
  readonly prefix: RequestPrefix;
  /** Precis's cause that its view does not extend the one before. */
  readonly own?: OwnChange;
  /** Absent where the API binds none. */
  readonly reasoning?: BoundReasoning;
  /** When its answer began, in milliseconds since 1970. */
  readonly ready: number;
  /** See `PricedRequest`. */
  readonly isFar: boolean;
  readonly verdict?: VendorVerdict;
}

/** A request of a conversation, as it is kept for the next one. */
export interface Line extends RequestPrefix {
  readonly at: number;
  /** The blocks of reasoning that it was sent without. */
  readonly left: number;
  /** Absent where that is not known. */
  readonly cache?: LeftInCache;
}

interface Followed {
  readonly miss: CacheMiss | null;
  readonly dropped: DroppedReasoning | null;
  readonly lines: readonly Line[];
}

/** @param order of its bill. Absent: no answer is known, so it can have missed nothing */
export function followed(
  lines: readonly Line[],
  request: ComparedRequest,
  at: number,
  order?: BillOrder,
): Followed {
  const { prefix, reasoning, ready, isFar, verdict } = request;
  const before = lineOf(lines, prefix);
  // One that is kept late belongs before those that are known.
  if (before && before.at > at) return { miss: null, dropped: null, lines };
  const change = changeOf(request, before);
  const priced = order && { order, at, change, isFar, model: prefix.model, verdict: verdict?.cache };
  const cache = priced && leftInCache(priced, ready);
  const left = reasoning?.left ?? 0;
  const line = { ...prefix, at, left, ...(cache ? { cache } : {}) };
  return {
    miss: priced && before?.cache ? missOf(priced, before.cache) : null,
    dropped: droppedIn(request, change, before?.left),
    lines: withLine(lines, line, before),
  };
}

function droppedIn(
  { reasoning, verdict }: ComparedRequest,
  change: Change | undefined,
  before: number | undefined,
): DroppedReasoning | null {
  if (!verdict?.dropped) return reasoning ? droppedReasoning(reasoning, change, before) : null;
  const { blocks, part } = verdict.dropped;
  const cause = part ? { cause: part } : (change ?? { cause: 'message' as const });
  return { blocks, ...cause, by: 'vendor' };
}

/**
 * Why a request does not extend the one that it continues. What its caller has changed counts
 * first.
 */
export function changeOf(
  { prefix, own }: Pick<ComparedRequest, 'prefix' | 'own'>,
  before: RequestPrefix | undefined,
): Change | undefined {
  const callers = before && callerChange(before, prefix);
  if (callers ?? own) return callers ?? own;
  return before && before.own !== prefix.own ? { cause: 'own_tools' } : undefined;
}
