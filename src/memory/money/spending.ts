/**
 * Sums of what a caller has spent, and whether it may spend more
 * (docs/operating.md#budgets-and-limits).
 *
 * A call may be sent while something is left, with what is reserved for the calls under way counted
 * as spent. So calls at the same time spend no more than the limit and one call's estimate, and a
 * small rest is no obstacle to a call with a large limit of output.
 */
import { DAY_MS, dayOf, monthOf } from '../../lib/utc-time.ts';
import type { Schedule } from '../models/schedule.ts';
import { amountOf, type Nanodollars, nanodollarsOf } from './amounts.ts';
import { billedTokens, withWrites } from './bill.ts';
import type { RunUsage, TokenUsage } from './bill-schema.ts';
import type { CallerLimits, CountedLimit } from './caller-limits.ts';

/** Tokens of one call: what a limit per minute counts, and what they cost. */
export interface Spend {
  /** Input and output. */
  readonly tokens: number;
  /** 0 for a model without a known price. */
  readonly amount: Nanodollars;
}

export const NO_SPEND: Spend = { tokens: 0, amount: 0 };

/** What a caller has spent, with what is reserved. */
export interface Spent {
  /** On this day and in this month of UTC. */
  readonly day: Nanodollars;
  readonly month: Nanodollars;
  /** In the last 60 seconds. */
  readonly tokens: number;
  readonly requests: number;
}

/** A call of the last 60 seconds. */
export interface RecentCall {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly tokens: number;
  /** 0 for a further call of the same request. */
  readonly requests: number;
}

export const MINUTE_MS = 60_000;

/** The parts of `Spent`, and of which limit each is. */
const SPENT: Readonly<Record<CountedLimit, keyof Spent>> = {
  usd_per_month: 'month',
  usd_per_day: 'day',
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
};

/** Those that hold for further calls of a request, too: an answer is not cut off for a minute. */
const OF_EVERY_CALL: readonly CountedLimit[] = ['usd_per_month', 'usd_per_day'];
const OF_REQUESTS: readonly CountedLimit[] = [...OF_EVERY_CALL, 'requests_per_minute', 'tokens_per_minute'];

/**
 * The limit that a caller has reached; undefined if it may spend more.
 *
 * @param isFurther whether it is a further call of a request that has been sent
 */
export function reachedLimit(
  limits: CallerLimits,
  spent: Spent,
  isFurther: boolean,
): CountedLimit | undefined {
  return (isFurther ? OF_EVERY_CALL : OF_REQUESTS).find((limit) => leftOf(limit, limits, spent) === 0);
}

/** What is left of a limit, in nanodollars, tokens or requests; undefined if there is none. */
export function leftOf(limit: CountedLimit, limits: CallerLimits, spent: Spent): number | undefined {
  const most = limits[limit];
  if (most === undefined) return undefined;
  const isMoney = OF_EVERY_CALL.includes(limit);
  return Math.max(0, (isMoney ? nanodollarsOf(most) : most) - spent[SPENT[limit]]);
}

/**
 * Milliseconds until there is something left of a limit that is reached.
 *
 * @param recent the calls of the last 60 seconds, oldest first
 * @param now in milliseconds since 1970
 */
export function msUntilLeft(
  limit: CountedLimit,
  limits: CallerLimits,
  recent: readonly RecentCall[],
  now: number,
): number {
  if (limit === 'usd_per_day') return (dayOf(now) + 1) * DAY_MS - now;
  if (limit === 'usd_per_month') return monthOf(now).end * DAY_MS - now;
  const counted = limit === 'tokens_per_minute' ? 'tokens' : 'requests';
  let left = recent.reduce((sum, call) => sum + call[counted], 0);
  for (const call of recent) {
    left -= call[counted];
    if (left < (limits[limit] ?? 0)) return Math.max(0, call.at + MINUTE_MS - now);
  }
  return MINUTE_MS;
}

/** What is known of the tokens of a call that was not billed: estimates. */
export interface EstimatedTokens {
  readonly input: number;
  readonly output: number;
}

/**
 * What is reserved of a call: the most that it can cost, with all input at its dearest price.
 *
 * @param schedule undefined: no price
 */
export function dearestSpend({ input, output }: EstimatedTokens, schedule: Schedule | undefined): Spend {
  const tokens = input + output;
  if (!schedule) return { tokens, amount: 0 };
  const [fresh, written] = schedule.written > schedule.fresh ? [0, input] : [input, 0];
  return { tokens, amount: amountOf({ fresh, cached: 0, written, output }, schedule) };
}

/**
 * What a call of the summarizer has spent.
 *
 * @param end what its answer says; `unknown` counts as estimated, and `nothing` was billed
 */
export function spendAtEnd(
  end: Pick<TokenUsage, 'total_tokens' | 'cost'> | 'unknown' | 'nothing',
  most: EstimatedTokens,
  schedule: Schedule | undefined,
): Spend {
  if (end === 'nothing') return NO_SPEND;
  const estimated = spendOf(undefined, schedule ?? null, most);
  if (end === 'unknown' || end.total_tokens === 0) return estimated;
  return { tokens: end.total_tokens, amount: end.cost ?? estimated.amount };
}

/**
 * What a call has spent: the same amount as in its bill, where that is known (`billOf`). Else what
 * the upstream does not say is estimated, and input of which it does not say that it was cached is
 * fresh.
 *
 * @param usage undefined if the upstream has reported none, or the call is not over
 * @param schedule null: no price
 * @param writes see `BilledRequest`
 */
export function spendOf(
  usage: RunUsage | undefined,
  schedule: Schedule | null,
  estimated: EstimatedTokens,
  writes?: number,
): Spend {
  const input = usage?.input ?? estimated.input;
  const output = usage?.output ?? estimated.output;
  const tokens = input + output;
  if (!schedule) return { tokens, amount: 0 };
  const billed = usage && billedTokens(withWrites(usage, { writes }, schedule), schedule);
  if (billed) return { tokens, amount: amountOf(billed, schedule) };
  const cached = Math.min(usage?.cached ?? 0, input);
  const written = Math.min(usage?.cache_writes ?? 0, input - cached);
  return { tokens, amount: amountOf({ fresh: input - cached - written, cached, written, output }, schedule) };
}
