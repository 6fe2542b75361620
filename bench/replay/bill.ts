/**
 * The cost of a conversation's requests, in tokens of fresh input. An upstream that caches prompts
 * charges little for the beginning that a request shares with an earlier one. So it matters not
 * only how much is sent, but also how much of it stays the same
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */

import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import { BoundaryCache } from './boundary-cache.ts';
import { costOfRounds } from './fetches.ts';

/** A message as it is sent. */
export interface PricedMessage {
  /** Its JSON; equal bytes mean equal messages. */
  readonly bytes: string;
  readonly tokens: number;
}

/** A request as it is sent. */
export interface PricedRequest {
  /** Tokens before the messages: tools, and the overhead of every request. */
  readonly overhead: number;
  readonly messages: readonly PricedMessage[];
  /** Indices of the messages after which a cache gets a mark. */
  readonly marks?: readonly number[] | undefined;
  /** Cost of summaries made for this request, in tokens of fresh input. */
  readonly summaries: number;
  /** Rounds that fetch refs before the answer: the number of refs of each. */
  readonly rounds?: readonly number[] | undefined;
  /** Whether the cache has expired since the request before. */
  readonly isCold?: boolean;
  /** See `View`. */
  readonly isColdMove?: boolean;
  readonly counted?: number;
  readonly carriesReasoning?: boolean;
}

export interface Bill {
  readonly requests: number;
  /** Tokens sent, without the summarizers' own. */
  readonly tokens: number;
  /** Tokens that came from the cache. */
  readonly cached: number;
  /** The total cost in tokens of fresh input. */
  readonly paid: number;
  /** The part of the cost from summaries. */
  readonly summaries: number;
  /** Rounds that fetch refs, and the part of the cost from them. */
  readonly fetchRounds: number;
  readonly fetches: number;
  /** The part of the cost from requests for which the cache had expired. */
  readonly returns: number;
  /** Tokens of the largest request. */
  readonly peak: number;
  /** Requests that don't continue the messages of the previous request. */
  readonly broken: number;
}

/** The fewest tokens that are cached, and the step above that (same source). */
const LEAST_CACHED = 1_024;
const CACHE_STEP = 128;

/** The bill of a conversation's requests, in order. Nothing is cached for the first one. */
export function billOf(requests: Iterable<PricedRequest>, prices: RelativePrices): Bill {
  let boundaries = prices.boundaries && new BoundaryCache();
  let bill = sumOfBills([]);
  let before: PricedRequest | undefined;
  for (const request of requests) {
    const { overhead, messages, summaries, rounds = [], isCold = false } = request;
    if (isCold) {
      before = undefined;
      boundaries &&= new BoundaryCache();
    }
    const tokens = messages.reduce((sum, message) => sum + message.tokens, overhead);
    const same = before ? commonMessages(before, request) : 0;
    const prefix = messages.slice(0, same).reduce((sum, message) => sum + message.tokens, overhead);
    const ofPrefix = before ? cachedOf(prefix) : 0;
    const cached = boundaries ? boundaries.read(request, LEAST_CACHED) : ofPrefix;
    const { step } = prices;
    const factor = step && tokens > step.above ? step.input : 1;
    const fetches = costOfRounds(rounds, tokens, factor, prices);
    const input = factor * (prices.written * (tokens - cached) + prices.cached * cached);
    bill = {
      requests: bill.requests + 1,
      tokens: bill.tokens + tokens,
      cached: bill.cached + cached,
      paid: bill.paid + input + summaries + fetches,
      summaries: bill.summaries + summaries,
      fetchRounds: bill.fetchRounds + rounds.length,
      fetches: bill.fetches + fetches,
      returns: bill.returns + (isCold ? input + summaries + fetches : 0),
      peak: Math.max(bill.peak, tokens),
      broken: bill.broken + (before && same < before.messages.length ? 1 : 0),
    };
    before = request;
  }
  return bill;
}

/** The bill of several conversations. */
export function sumOfBills(bills: readonly Bill[]): Bill {
  const sum = (pick: (bill: Bill) => number): number => bills.reduce((total, bill) => total + pick(bill), 0);
  return {
    requests: sum(({ requests }) => requests),
    tokens: sum(({ tokens }) => tokens),
    cached: sum(({ cached }) => cached),
    paid: sum(({ paid }) => paid),
    summaries: sum(({ summaries }) => summaries),
    fetchRounds: sum(({ fetchRounds }) => fetchRounds),
    fetches: sum(({ fetches }) => fetches),
    returns: sum(({ returns }) => returns),
    peak: bills.reduce((most, { peak }) => Math.max(most, peak), 0),
    broken: sum(({ broken }) => broken),
  };
}

/**
 * The number of messages that two requests have in common at the beginning. Tools and overhead
 * don't change within a conversation.
 */
export function commonMessages(one: PricedRequest, other: PricedRequest): number {
  const most = Math.min(one.messages.length, other.messages.length);
  let same = 0;
  while (same < most && one.messages[same]?.bytes === other.messages[same]?.bytes) same++;
  return same;
}

function cachedOf(prefix: number): number {
  return prefix < LEAST_CACHED ? 0 : prefix - (prefix % CACHE_STEP);
}
