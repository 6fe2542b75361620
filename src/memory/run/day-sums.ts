/**
 * What requests have sent and cost, as flat numbers that a table can add up by day
 * (docs/conversations.md#by-day).
 */
import type { Nanodollars } from '../money/amounts.ts';
import type { Bill, PotentialBill } from '../money/bill-schema.ts';
import type { CacheMiss } from '../replay/change-schema.ts';
import type { ListedRun } from './event.ts';
import { joinMissSums, type MissSums, missSumsOf } from './miss-sums.ts';

/** A day without requests. Tokens are tokens, amounts are nanodollars, all others are counts. */
export const NO_DAY_SUMS = {
  requests: 0,
  /** Answers with an error's status. */
  failed: 0,
  /** Tokens that came, and the tokens that were sent of them, or instead. */
  tokens_before: 0,
  tokens_sent: 0,
  /** Requests whose bill is known completely. The next four are theirs alone. */
  billed: 0,
  would_be: 0,
  sent: 0,
  fetch_rounds: 0,
  broken_cache: 0,
  /** What the summarizer has cost, and how many of its texts have no known price. */
  summarizer: 0,
  unpriced: 0,
  /**
   * Requests that were only observed, the tokens that came with them, and the tokens of their
   * plans.
   */
  observed: 0,
  observed_before: 0,
  observed_would_be: 0,
  /** Observed requests whose potential savings are known, and these. */
  potential_billed: 0,
  potential_net: 0,
};

export type DaySums = Readonly<typeof NO_DAY_SUMS> & {
  /** What was missed in the vendor's cache. Absent if nothing was. */
  readonly missed?: MissSums;
};
type DaySumsName = keyof typeof NO_DAY_SUMS;
export const DAY_SUMS_NAMES = Object.keys(NO_DAY_SUMS) as readonly DaySumsName[];

/** Sums by day (`dayOf`). */
export type SumsByDay = Readonly<Record<number, DaySums>>;

/** How many days with requests a conversation remembers, of which its tenant may not know yet. */
const REMEMBERED_DAYS = 3;

/**
 * The sums of one request. One whose tokens nobody had to count was sent unchanged, with the input
 * that the upstream has counted.
 */
export function daySumsOf(
  event: Pick<ListedRun, 'tokens' | 'usage' | 'observed' | 'status' | 'retrieval_rounds'>,
  bill: Bill | null,
  potential: PotentialBill | null,
  miss: CacheMiss | null,
): DaySums {
  const { tokens, usage, observed, status, retrieval_rounds: rounds } = event;
  const before = tokens?.before ?? (rounds > 0 ? 0 : (usage?.input ?? 0));
  const sums = {
    ...NO_DAY_SUMS,
    requests: 1,
    failed: status >= 400 ? 1 : 0,
    tokens_before: before,
    tokens_sent: tokens && !observed ? tokens.after : before,
    ...billedSums(bill),
    ...(miss ? { missed: missSumsOf(miss) } : {}),
  };
  if (!observed) return sums;
  const net = potential?.net ?? null;
  return {
    ...sums,
    observed: 1,
    observed_before: before,
    observed_would_be: tokens?.after ?? before,
    ...(net === null ? {} : { potential_billed: 1, potential_net: net }),
  };
}

/** The sums of one text of the summarizer. @param amount null if its price is not known */
export function daySumsOfText(amount: Nanodollars | null): DaySums {
  return amount === null ? { ...NO_DAY_SUMS, unpriced: 1 } : { ...NO_DAY_SUMS, summarizer: amount };
}

export function joinDaySums(one: DaySums, other: DaySums): DaySums {
  const sums = DAY_SUMS_NAMES.map((name) => [name, one[name] + other[name]] as const);
  const { missed = {} } = one;
  const joined = other.missed ? joinMissSums(missed, other.missed) : one.missed;
  return { ...(Object.fromEntries(sums) as typeof NO_DAY_SUMS), ...(joined ? { missed: joined } : {}) };
}

/** Adds to a day, and forgets all but the newest days. */
export function withDay(days: SumsByDay, day: number, sums: DaySums): SumsByDay {
  const joined = { ...days, [day]: joinDaySums(days[day] ?? NO_DAY_SUMS, sums) };
  const newest = Object.entries(joined).toSorted(([a], [b]) => Number(b) - Number(a));
  return Object.fromEntries(newest.slice(0, REMEMBERED_DAYS));
}

export function joinDays(one: SumsByDay, other: SumsByDay): SumsByDay {
  const days = [...new Set([...Object.keys(one), ...Object.keys(other)])].map(Number);
  return Object.fromEntries(
    days.map((day) => [day, joinDaySums(one[day] ?? NO_DAY_SUMS, other[day] ?? NO_DAY_SUMS)]),
  );
}

/**
 * The sums of requests and of texts together, on the days that both sides know completely. A side
 * that is full may have forgotten its part of any day before its oldest one.
 */
export function joinRemembered(one: SumsByDay, other: SumsByDay): SumsByDay {
  const since = Math.max(completeSince(one), completeSince(other));
  return Object.fromEntries(Object.entries(joinDays(one, other)).filter(([day]) => Number(day) >= since));
}

/** The first day from which on no day is forgotten. @param days from `withDay` */
function completeSince(days: SumsByDay): number {
  const known = Object.keys(days).map(Number);
  return known.length < REMEMBERED_DAYS ? Number.NEGATIVE_INFINITY : Math.min(...known);
}

/** Only of a bill that is known completely. */
function billedSums(bill: Bill | null): Partial<DaySums> {
  if (!bill?.sent || !bill.would_be || !bill.gross || !bill.unique) return {};
  const { fetch_rounds, broken_cache } = bill.debits;
  if (fetch_rounds === null || broken_cache === null) return {};
  return { billed: 1, would_be: bill.would_be.amount, sent: bill.sent.amount, fetch_rounds, broken_cache };
}
