/**
 * The bill of a request that was only observed: what its array has cost, and what the view would
 * have cost (docs/money.md#observing). It is the bill of `bill.ts` with both sides exchanged.
 */

import type { Schedule } from '../models/schedule.ts';
import { type BilledTokens, inputOf } from './amounts.ts';
import { type BilledRequest, billedTokens, priced, withWrites } from './bill.ts';
import type { PotentialBill, RunUsage } from './bill-schema.ts';

/** A request that was only observed. */
export interface ObservedRequest extends Pick<BilledRequest, 'writes'> {
  /** Null if the price of the model, or of the caller's tier, is not known. */
  readonly schedule: Schedule | null;
  readonly usage: RunUsage | null;
  /** Our counts of the array and of the view; null if nothing was counted. */
  readonly view: { readonly before: number; readonly after: number } | null;
  /** Whether the frontier would have moved. */
  readonly moved: boolean;
  /** Whether the view would have had a summary. */
  readonly summarized: boolean;
}

/** The bill of an observed request; null if there is no price. */
export function potentialBill({
  schedule,
  usage,
  writes,
  view,
  moved,
  summarized,
}: ObservedRequest): PotentialBill | null {
  if (!schedule) return null;
  const whole = usage && withWrites(usage, { writes }, schedule);
  const array = whole && billedTokens(whole, schedule);
  const sent = array && priced(array, schedule);
  const shown = array && view && view.before > 0 ? viewOf(array, view, moved) : null;
  const would_be = shown && priced(shown, schedule);
  const hasSummary = moved && summarized;
  const net = sent && would_be && !hasSummary ? sent.amount - would_be.amount : null;
  const about = array && whole !== usage ? { about: true as const } : {};
  return { unit: 'nanodollars', family: schedule.family, ...about, sent, would_be, net };
}

/**
 * The tokens of the view. What was removed lies before the frontier, and so in the part that the
 * cache has. A view that has just moved is read from the cache as far as nobody knows: not at all.
 */
function viewOf(
  array: BilledTokens,
  { before, after }: { before: number; after: number },
  moved: boolean,
): BilledTokens {
  if (before === after) return array;
  const input = Math.round((inputOf(array) * after) / before);
  const cached = moved ? 0 : Math.min(input, Math.max(0, array.cached - (inputOf(array) - input)));
  const uncached = array.fresh + array.written;
  const written = uncached === 0 ? 0 : Math.round(((input - cached) * array.written) / uncached);
  return { fresh: input - cached - written, cached, written, output: array.output };
}
