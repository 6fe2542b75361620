/**
 * The bill of one request: what it has cost, and what the caller's whole array would have cost
 * (docs/money.md). Pure: the same numbers give the same bill.
 *
 * Null is "not known", never 0. A bill exists if the model's price is known; each amount in it is
 * known if everything that it is made of is.
 */
import { plus } from '../../lib/sums.ts';
import { hitsOf, type Schedule } from '../models/schedule.ts';
import { amountOf, type BilledTokens, inputOf, type Nanodollars, NO_TOKENS, ratesAt } from './amounts.ts';
import type { Bill, PotentialBill, PricedTokens, RunUsage, Saving } from './bill-schema.ts';

/** Our counts of a request, in tokens. All of them have the tools, and Precis's in them. */
interface CountedView {
  /** The whole array. */
  readonly before: number;
  /** The view. */
  readonly after: number;
  /** The part of `before` that the previous request of the array had; 0 for the first one. */
  readonly repeated: number;
}

/** The latest request of the conversation whose usage is known. */
interface EarlierRequest extends Pick<BillStanding, 'input' | 'keptMs'> {
  /** Milliseconds from that request to this one. */
  readonly ago: number;
}

export interface BilledRequest {
  /** Null if the price of the model, or of the caller's tier, is not known. */
  readonly schedule: Schedule | null;
  /** The usage of each model call in order; null for one that reported none. */
  readonly calls: readonly (RunUsage | null)[];
  /** Whether anything of the array was left out or replaced. */
  readonly isEdited: boolean;
  /** Tokens that were sent in addition to the view: Precis's tools and messages. */
  readonly added: number;
  /** The ones of `added` that `view` counts too: Precis's tools. */
  readonly tools: number;
  /** Null if nothing was counted. */
  readonly view: CountedView | null;
  /**
   * The share of the array up to the caller's last mark, where a cache is read at marks alone: it
   * would have kept no more of the array. Absent: the cache needs no marks.
   */
  readonly marked?: number;
  /**
   * The share of what is sent that the vendor writes to its cache, as far as it has not read it
   * there: up to the last mark, or all of it. For calls whose upstream does not report them.
   * Absent if that is not known.
   */
  readonly writes?: number;
  /**
   * How long the vendor's cache keeps what it leaves there, in milliseconds, as far as the request
   * says. Absent: as long as the schedule says.
   */
  readonly keptMs?: number;
  /** Whether the frontier has moved. */
  readonly moved: boolean;
  /** Null if this is the first request. */
  readonly earlier: EarlierRequest | null;
  /** The most tokens that a request of the conversation has saved before (`gross.tokens`). */
  readonly savedBefore: number;
  /** What the summarizer has cost this request; null if that is not known. */
  readonly summarizer: Nanodollars | null;
}

/** The bill of a request; null if there is no price. */
export function billOf(request: BilledRequest): Bill | null {
  const { schedule, summarizer } = request;
  if (!schedule) return null;
  const usages = request.calls.map((usage) => usage && withWrites(usage, request, schedule));
  const calls = billedCalls(usages, schedule);
  const isAbout = calls !== null && usages.some((usage, at) => usage !== request.calls[at]);
  const sent = calls && sentOf(calls, schedule);
  const would_be = calls && wouldBe(calls, request, schedule);
  const actual = sent && summarizer !== null ? sent.amount + summarizer : null;
  const gross = calls && would_be && grossOf(calls, would_be, schedule);
  return {
    unit: 'nanodollars',
    family: schedule.family,
    ...(isAbout ? { about: true as const } : {}),
    sent,
    would_be,
    actual,
    net: would_be && actual !== null ? would_be.amount - actual : null,
    debits: {
      summarizer,
      fetch_rounds: calls && fetchAmount(calls, schedule),
      broken_cache: calls && brokenAmount(calls, request, schedule, would_be?.cached ?? 0),
    },
    gross,
    unique: gross && uniqueOf(gross, request.savedBefore),
  };
}

/**
 * A usage with the cache writes of the vendor's rule, where the upstream reports none.
 *
 * @param writes see `BilledRequest`
 */
export function withWrites(
  usage: RunUsage,
  { writes }: { readonly writes?: number | undefined },
  { fresh, written, hits }: Schedule,
): RunUsage {
  const { input, cached, cache_writes } = usage;
  const isReported = cache_writes !== null || written === fresh;
  if (isReported || writes === undefined || input === null || cached === null) return usage;
  return { ...usage, cache_writes: Math.max(0, hitsOf(hits, Math.round(input * writes)) - cached) };
}

/** A request has at least one call. */
type Calls = readonly [first: BilledTokens, ...further: BilledTokens[]];

function billedCalls(calls: BilledRequest['calls'], schedule: Schedule): Calls | null {
  const [first, ...further] = calls.map((usage) => usage && billedTokens(usage, schedule));
  if (!first || further.some((call) => call === null)) return null;
  return [first, ...further.filter((call) => call !== null)];
}

/**
 * A call's tokens by how they are billed. Null if the upstream does not say it, or contradicts
 * itself. Counts that change no price need not be known.
 */
export function billedTokens(
  { input, cached, cache_writes, output }: RunUsage,
  rates: Pick<Schedule, 'fresh' | 'cached' | 'written'>,
): BilledTokens | null {
  const read = cached ?? (rates.cached === rates.fresh ? 0 : null);
  const written = cache_writes ?? (rates.written === rates.fresh ? 0 : null);
  if (input === null || output === null || read === null || written === null) return null;
  const fresh = input - read - written;
  return fresh < 0 ? null : { fresh, cached: read, written, output };
}

function sentOf(calls: Calls, schedule: Schedule): PricedTokens {
  const amount = calls.reduce((sum, call) => sum + amountOf(call, schedule), 0);
  return { ...calls.reduce<BilledTokens>(plus, NO_TOKENS), amount };
}

/** The whole array in one call. Its output is from the last call, which answers the caller. */
function wouldBe(calls: Calls, request: BilledRequest, schedule: Schedule): PricedTokens | null {
  const [first] = calls;
  const { output } = calls.at(-1) ?? first;
  const input = request.isEdited
    ? wholeArray(first, request, schedule)
    : withCallersMarks(without(first, request.added), request, schedule);
  return input && priced({ ...input, output }, schedule);
}

/** A call without tokens at its beginning, which the cache has if it has anything. */
function without(call: BilledTokens, tokens: number): BilledTokens {
  const { cached, written, fresh } = call;
  const read = Math.max(0, cached - tokens);
  const uncached = Math.max(0, fresh + written - Math.max(0, tokens - cached));
  const stored = Math.round(uncached * writtenShare(call));
  return { ...call, cached: read, written: stored, fresh: uncached - stored };
}

/** An input as the caller's marks alone would have had it cached, if those do not reach its end. */
function withCallersMarks(
  input: BilledTokens,
  { marked = 1 }: BilledRequest,
  { hits }: Schedule,
): BilledTokens {
  if (marked >= 1) return input;
  const reach = hitsOf(hits, Math.round(inputOf(input) * marked));
  const cached = Math.min(reach, input.cached);
  const written = input.cached + input.written === 0 ? 0 : reach - cached;
  return { ...input, cached, written, fresh: inputOf(input) - cached - written };
}

/**
 * The input of the whole array: our count, corrected by what the upstream counted of the view, with
 * all reads that the cache can have had for it. Null if nothing was counted.
 */
function wholeArray(first: BilledTokens, request: BilledRequest, schedule: Schedule): BilledTokens | null {
  const { view, added, tools, marked } = request;
  const sent = view && view.after + added - tools;
  if (!view || sent === null || sent <= 0) return null;
  const ratio = inputOf(first) / sent;
  const ofArray = (tokens: number): number => Math.max(0, tokens - tools) * ratio;
  const input = Math.round(ofArray(view.before));
  const reach = marked === undefined ? input : hitsOf(schedule.hits, Math.round(input * marked));
  const cached = Math.min(reach, cachedThen(first, Math.floor(ofArray(view.repeated)), request, schedule));
  const isWritten = marked !== undefined && first.cached + first.written > 0;
  const written = isWritten ? reach - cached : Math.round((input - cached) * writtenShare(first));
  return { fresh: input - cached - written, cached, written, output: 0 };
}

/** Tokens of one call with their price. */
export function priced(tokens: BilledTokens, schedule: Schedule): PricedTokens {
  return { ...tokens, amount: amountOf(tokens, schedule) };
}

/**
 * The input that the vendor's cache would have had. At least what it really had, so that nothing of
 * it is claimed.
 *
 * @param repeated the part of the array that the previous request had, in the upstream's tokens
 */
function cachedThen(
  first: BilledTokens,
  repeated: number,
  { earlier }: BilledRequest,
  { hits, lifetimeMs }: Schedule,
): number {
  // Nothing is read and nothing written: the caller has set no marks.
  if (hits === 'marks' && first.cached + first.written === 0) return 0;
  const isAlive = first.cached > 0 || earlier === null || isKept(earlier, lifetimeMs);
  return Math.max(first.cached, isAlive ? hitsOf(hits, repeated) : 0);
}

function isKept({ ago, keptMs }: EarlierRequest, lifetimeMs: number): boolean {
  return ago <= (keptMs ?? lifetimeMs);
}

/** The share of uncached input that the vendor has written to its cache. */
function writtenShare({ fresh, written }: BilledTokens): number {
  return written === 0 ? 0 : written / (fresh + written);
}

/** What the rounds of retrieval have added: all further inputs, and all outputs but the last. */
function fetchAmount(calls: Calls, schedule: Schedule): Nanodollars {
  const [first] = calls;
  const last = calls.at(-1) ?? first;
  const all = calls.reduce((sum, call) => sum + amountOf(call, schedule), 0);
  const once = amountOf({ ...first, output: 0 }, schedule);
  const answer = amountOf({ ...NO_TOKENS, output: last.output }, schedule, inputOf(last));
  return Math.max(0, all - once - answer);
}

/**
 * What a move of the frontier has cost in lost cache: the input that the previous request had left
 * there and this one had to pay for again.
 *
 * @param granted what `would_be` reads of a previous request that Precis has not seen
 */
function brokenAmount(
  [first]: Calls,
  { moved, earlier }: BilledRequest,
  schedule: Schedule,
  granted: number,
): Nanodollars {
  const { hits, lifetimeMs } = schedule;
  if (!moved || (earlier && !isKept(earlier, lifetimeMs))) return 0;
  if (hits === 'marks' && first.cached + first.written === 0) return 0;
  const left = earlier ? hitsOf(hits, earlier.input) : granted;
  return lostAmount(first, Math.max(0, left - first.cached), schedule);
}

/** What tokens that were not read from the cache have cost more than a read. */
export function lostAmount(first: BilledTokens, tokens: number, schedule: Schedule): Nanodollars {
  const lost = Math.min(tokens, first.fresh + first.written);
  const written = Math.round(lost * writtenShare(first));
  const prompt = inputOf(first);
  const paid = amountOf({ ...NO_TOKENS, fresh: lost - written, written }, schedule, prompt);
  return Math.max(0, paid - amountOf({ ...NO_TOKENS, cached: lost }, schedule, prompt));
}

function grossOf([first]: Calls, wouldBe: PricedTokens, schedule: Schedule): Saving {
  const prompt = inputOf(wouldBe);
  const tokens = prompt - inputOf(first);
  return { tokens, amount: freshAmount(tokens, ratesAt(schedule, prompt).fresh) };
}

/** The tokens beyond the most that an earlier request has saved. */
function uniqueOf({ tokens, amount }: Saving, savedBefore: number): Saving {
  const fresh = Math.max(0, tokens - Math.max(0, savedBefore));
  return { tokens: fresh, amount: tokens === 0 ? 0 : Math.round((amount * fresh) / tokens) };
}

/** @param rate in dollars per million tokens; a thousand nanodollars per token for each dollar */
function freshAmount(tokens: number, rate: number): Nanodollars {
  const amount = Math.round(tokens * rate * 1_000);
  // Not -0, which JSON writes as 0.
  return amount === 0 ? 0 : amount;
}

/** A request that is to be billed, but for what its conversation knows. */
export type BillOrder = Omit<BilledRequest, 'earlier' | 'savedBefore'>;

/** What the next bill needs of the requests before it. */
export interface BillStanding {
  /** When the latest request with a known usage came, in milliseconds since 1970. */
  readonly at: number;
  /** Input tokens of its first call, as the upstream counted them. */
  readonly input: number;
  /** See `BilledRequest`. */
  readonly keptMs?: number;
  /** The most tokens that a request has saved (`Bill.gross.tokens`). */
  readonly saved: number;
}

/**
 * The bill of the next request of a conversation, with what it leaves to the one after it.
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

/** A request that was only observed. */
export interface ObservedRequest extends Pick<BilledRequest, 'schedule' | 'writes'> {
  readonly usage: RunUsage | null;
  /** Our counts of the array and of the view; null if nothing was counted. */
  readonly view: Pick<CountedView, 'before' | 'after'> | null;
  /** Whether the frontier would have moved. */
  readonly moved: boolean;
  /** Whether the view would have had a summary. */
  readonly summarized: boolean;
}

/**
 * The bill of a request that was only observed: what its array has cost, and what the view would
 * have cost (docs/money.md#observing). It is `billOf` with both sides exchanged. Null if there is
 * no price.
 */
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
