/** Bills the requests of a conversation one after the other, with what each leaves to the next. */
import { type BilledRequest, billOf } from './bill.ts';
import type { Bill } from './bill-schema.ts';

/** A request that is to be billed, but for what its conversation knows. */
export type BillOrder = Omit<BilledRequest, 'earlier' | 'savedBefore'>;

/** What the next bill needs of the requests before it. */
export interface BillStanding {
  /** When the latest request with a known usage came, in milliseconds since 1970. */
  readonly at: number;
  /** The input tokens of its first call. */
  readonly input: number;
  /** See `BilledRequest`. */
  readonly keptMs?: number;
  /** The most tokens that a request has saved (`Bill.gross.tokens`). */
  readonly saved: number;
}

/**
 * The bill of the next request.
 *
 * @param before null for the first request
 * @param at when the request came, in milliseconds since 1970
 */
export function nextBill(
  before: BillStanding | null,
  order: BillOrder,
  at: number,
): { readonly bill: Bill | null; readonly standing: BillStanding | null } {
  const saved = before?.saved ?? 0;
  // It may have come before the latest: isolates send their events in turn.
  const earlier = before && { ...before, ago: Math.max(0, at - before.at) };
  const bill = billOf({ ...order, earlier, savedBefore: saved });
  const input = order.calls[0]?.input;
  if (typeof input !== 'number') return { bill, standing: before };
  const { keptMs } = order;
  const now = { at, input, ...(keptMs === undefined ? {} : { keptMs }) };
  const latest = before && before.at > at ? before : now;
  return { bill, standing: { ...latest, saved: Math.max(saved, bill?.gross?.tokens ?? 0) } };
}
