/**
 * Why an answer has read clearly less from the vendor's cache than the request before it had left
 * there: one cause (docs/money.md#misses). Pure.
 */
import { leastCachedPrompt } from '../models/prompt-caches.ts';
import { hitsOf, LEAST_PREFIX, type Schedule } from '../models/schedule.ts';
import { type Change, causeOfPart, type VendorVerdict } from '../replay/change.ts';
import type { CacheMiss } from '../replay/change-schema.ts';
import { type BillOrder, billedTokens, lostAmount } from './bill.ts';

/** What decides a miss, beside the request before. */
export interface PricedRequest {
  readonly order: BillOrder;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  /** Why it does not extend the one before. */
  readonly change: Change | undefined;
  readonly model: string;
  /** Whether more has come since the request before than a mark looks back. */
  readonly isFar: boolean;
  /** Whether Precis's own changes since the request before are known. */
  readonly isCompared: boolean;
  /** What the vendor says. */
  readonly verdict: VendorVerdict['cache'];
}

/** What an answered request has left in the cache. */
export interface LeftInCache {
  /** When it came, and when its answer began, in milliseconds since 1970. */
  readonly at: number;
  readonly ready: number;
  /** The tokens of its prompt, and those that the cache has kept of it. */
  readonly input: number;
  readonly kept: number;
  /** For how long, in milliseconds. Absent: as long as the schedule says. */
  readonly keptMs?: number;
}

/** Of the tokens that could have been read, a vendor may count some less. */
const CLEARLY = 0.9;

/** Null if its answer has read about what it could. */
export function missOf(request: PricedRequest, before: LeftInCache): CacheMiss | null {
  const { order, at, verdict } = request;
  const { schedule, calls } = order;
  const { input = null, cached = null } = calls[0] ?? {};
  // Nothing was there to be read while the answer before had not begun.
  if (!schedule || !calls[0] || input === null || cached === null || at < before.ready) return null;
  const reach = Math.min(isTooShort(before, request) ? before.input : before.kept, input);
  const tokens = reach - cached;
  if (tokens < LEAST_PREFIX || cached >= CLEARLY * reach) return null;
  const billed = billedTokens(calls[0], schedule);
  const amount = billed && lostAmount(billed, tokens, schedule);
  if (verdict && verdict !== 'none')
    return { ...causeOfPart(verdict, request.change), by: 'vendor', tokens, amount };
  const change = verdict === 'none' ? undefined : request.change;
  return { ...causeOf({ ...request, change }, before, schedule, cached), by: 'precis', tokens, amount };
}

/** What a request leaves in the cache. Undefined if that is not known. */
export function leftInCache({ order, at }: PricedRequest, ready: number): LeftInCache | undefined {
  const { schedule, calls } = order;
  const input = calls[0]?.input ?? null;
  if (!schedule || input === null) return undefined;
  const { keptMs } = order;
  return { at, ready, input, kept: keptOf(order, schedule), ...(keptMs === undefined ? {} : { keptMs }) };
}

function causeOf(
  request: PricedRequest,
  before: LeftInCache,
  { lifetimeMs }: Schedule,
  cached: number,
): Pick<CacheMiss, 'cause' | 'message' | 'trigger'> {
  const { order, at, change, isFar, isCompared, verdict } = request;
  // What is read shows that the cache has lived on.
  if (at - before.at > (before.keptMs ?? lifetimeMs) && (!change || cached < LEAST_PREFIX))
    return { cause: 'lifetime' };
  if (change) return change;
  if (isTooShort(before, request)) return { cause: 'short' };
  if (isFar || order.writes === 0) return { cause: 'mark' };
  return { cause: isCompared || verdict === 'none' ? 'vendor' : 'unknown' };
}

/** Whether a prompt with marks is shorter than the shortest that the cache keeps. */
function isTooShort({ kept, input }: LeftInCache, { order, model }: PricedRequest): boolean {
  const { schedule, writes = 0 } = order;
  return schedule?.hits === 'marks' && kept === 0 && writes > 0 && input < leastCachedPrompt(model);
}

/** The tokens of a prompt that the cache has kept. */
function keptOf({ calls: [usage], writes }: BillOrder, { hits, fresh, written }: Schedule): number {
  const { input, cached, cache_writes } = usage ?? {};
  const isReported = typeof cached === 'number' && typeof cache_writes === 'number';
  if (isReported && (hits === 'marks' || written !== fresh)) return cached + cache_writes;
  return hitsOf(hits, Math.round((input ?? 0) * (writes ?? (hits === 'marks' ? 0 : 1))));
}
