/**
 * What the requests of a conversation cost, in tokens of fresh input. An upstream that caches
 * prompts charges little for the beginning that a request has in common with the one before it; so
 * what counts is not only how much is sent, but also how much of it stays as it was
 * (https://platform.openai.com/docs/guides/prompt-caching).
 */

/** A message as it goes up. */
export interface PricedMessage {
  /** Its JSON: equal bytes, equal message. */
  readonly bytes: string;
  readonly tokens: number;
}

/** A request as it goes up. */
export interface PricedRequest {
  /** Tokens of what stands before all messages: the tools, and what every request costs. */
  readonly overhead: number;
  readonly messages: readonly PricedMessage[];
  /** What summaries that were made for it have cost, in tokens of fresh input. */
  readonly summaries: number;
}

export interface Bill {
  readonly requests: number;
  /** Tokens sent, those of summarizers not among them. */
  readonly tokens: number;
  /** How many of them came from the cache. */
  readonly cached: number;
  /** All that is paid for, in tokens of fresh input. */
  readonly paid: number;
  /** The part of it that summaries have cost. */
  readonly summaries: number;
  /** Tokens of the largest request. */
  readonly peak: number;
  /** Requests whose messages are no continuation of those of the request before. */
  readonly broken: number;
}

/** The price of cached input relative to fresh. */
export const CACHED_PRICE = 0.1;
/** Fewer tokens are never cached, and more of them in steps (same source). */
const LEAST_CACHED = 1_024;
const CACHE_STEP = 128;

/**
 * The bill of a conversation's requests, in their order. The first one finds nothing in the cache.
 */
export function billOf(requests: Iterable<PricedRequest>): Bill {
  let bill: Bill = { requests: 0, tokens: 0, cached: 0, paid: 0, summaries: 0, peak: 0, broken: 0 };
  let before: PricedRequest | undefined;
  for (const request of requests) {
    const { overhead, messages, summaries } = request;
    const tokens = messages.reduce((sum, message) => sum + message.tokens, overhead);
    const same = before ? commonMessages(before, request) : 0;
    const prefix = messages.slice(0, same).reduce((sum, message) => sum + message.tokens, overhead);
    const cached = before ? cachedOf(prefix) : 0;
    bill = {
      requests: bill.requests + 1,
      tokens: bill.tokens + tokens,
      cached: bill.cached + cached,
      paid: bill.paid + tokens - (1 - CACHED_PRICE) * cached + summaries,
      summaries: bill.summaries + summaries,
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
    peak: bills.reduce((most, { peak }) => Math.max(most, peak), 0),
    broken: sum(({ broken }) => broken),
  };
}

/**
 * How many messages two requests begin with alike. Tools and overhead of a conversation do not
 * change.
 */
function commonMessages(one: PricedRequest, other: PricedRequest): number {
  const most = Math.min(one.messages.length, other.messages.length);
  let same = 0;
  while (same < most && one.messages[same]?.bytes === other.messages[same]?.bytes) same++;
  return same;
}

function cachedOf(prefix: number): number {
  return prefix < LEAST_CACHED ? 0 : prefix - (prefix % CACHE_STEP);
}
