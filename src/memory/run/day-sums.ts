/**
 * What requests have sent and cost, as flat numbers that a table can add up by day
 * (docs/conversations.md#by-day).
 */
import { plus } from '../../lib/sums.ts';
import type { Nanodollars } from '../money/amounts.ts';
import type { Bill, PotentialBill } from '../money/bill-schema.ts';
import { knownAmounts } from '../money/bill-sums.ts';
import type { CacheMiss } from '../replay/change-schema.ts';
import type { ListedRun } from './event.ts';
import type { FailureSums, MissSums, ModelSums } from './named-sums.ts';
import { TRIAL_NAMES, type TrialSums } from './trials.ts';

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

/** Sums by name. Each is absent if there is nothing to add up. */
interface NamedSums {
  /** What was missed in the vendor's cache, by cause. */
  readonly missed?: MissSums;
  /** Answers that have failed, by status. 0.9 and earlier did not count the last two. */
  readonly failures?: FailureSums;
  /** What each model was asked. */
  readonly models?: ModelSums;
  /** What both sides of a trial have. 0.10 and earlier have none. */
  readonly trials?: TrialSums;
}

/**
 * The newest of their kind, in milliseconds since 1970; absent if there was none: when a request
 * came that the upstream has answered, and one that it has not, or with a status of 500 or more.
 */
interface LastTimes {
  readonly answered_at?: number;
  readonly unanswered_at?: number;
}
export const LAST_TIMES: readonly (keyof LastTimes)[] = ['answered_at', 'unanswered_at'];

type DayNumbers = Readonly<typeof NO_DAY_SUMS>;
export type DaySums = DayNumbers & NamedSums & LastTimes;
type DaySumsName = keyof typeof NO_DAY_SUMS;
export const DAY_SUMS_NAMES = Object.keys(NO_DAY_SUMS) as readonly DaySumsName[];

/** The sums by name, each with its numbers. */
export const NAMED_SUMS = {
  missed: ['requests', 'tokens', 'amount'],
  failures: ['requests'],
  models: ['requests', 'failed', 'billed', 'unbilled', 'about', 'would_be', 'sent'],
  trials: TRIAL_NAMES,
} as const satisfies Record<keyof NamedSums, readonly string[]>;
export type NamedSumsName = keyof NamedSums;
export const NAMED_SUMS_NAMES = Object.keys(NAMED_SUMS) as readonly NamedSumsName[];

/** The most models of a conversation and a day with sums of their own; the rest has no name. */
const MOST_MODELS = 16;

/** Of a model's name, in characters. */
const LONGEST_MODEL = 100;

/** What was paid, with the summarizer; null if that is not known of all. */
export function paidOf({ billed, unpriced, sent, summarizer }: DayNumbers): Nanodollars | null {
  return billed === 0 || unpriced > 0 ? null : sent + summarizer;
}

/** What was saved, net; null if that is not known. */
export function netOf(sums: DayNumbers): Nanodollars | null {
  const paid = paidOf(sums);
  return paid === null ? null : sums.would_be - paid;
}

/** Sums by day (`dayOf`). */
export type SumsByDay = Readonly<Record<number, DaySums>>;

/** How many days with requests a conversation remembers, of which its tenant may not know yet. */
const REMEMBERED_DAYS = 3;

/** What is counted of a request. */
type CountedRun = Pick<
  ListedRun,
  | 'tokens'
  | 'usage'
  | 'observed'
  | 'status'
  | 'retrieval_rounds'
  | 'ended'
  | 'error'
  | 'model'
  | 'kind'
  | 'created_at'
>;

/**
 * The sums of one request. One whose tokens nobody had to count was sent unchanged, with the input
 * that the upstream has counted.
 */
export function daySumsOf(
  event: CountedRun,
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
    ...(miss ? { missed: { [miss.cause]: { requests: 1, tokens: miss.tokens, amount: miss.amount } } } : {}),
    ...failuresOf(event),
    models: modelSumsOf(event, bill),
    ...timesOf(event),
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
  const times = LAST_TIMES.flatMap((name) => {
    const last = Math.max(one[name] ?? 0, other[name] ?? 0);
    return last > 0 ? [[name, last] as const] : [];
  });
  return { ...plus(one, other), ...Object.fromEntries(times) };
}

/** Adds to a day, and forgets all but the newest days. */
export function withDay(days: SumsByDay, day: number, sums: DaySums): SumsByDay {
  const joined = { ...days, [day]: withFewModels(joinDaySums(days[day] ?? NO_DAY_SUMS, sums)) };
  const newest = Object.entries(joined).toSorted(([a], [b]) => Number(b) - Number(a));
  return Object.fromEntries(newest.slice(0, REMEMBERED_DAYS));
}

/** A caller may name a thousand models, and each row would have them. */
function withFewModels(sums: DaySums): DaySums {
  const models = Object.entries(sums.models ?? {});
  if (models.length <= MOST_MODELS) return sums;
  const named = models.filter(([name]) => name !== '').slice(0, MOST_MODELS - 1);
  const kept = new Set(named.map(([name]) => name));
  const rest = models.filter(([name]) => !kept.has(name)).map(([, sum]) => ({ '': sum }) as ModelSums);
  return { ...sums, models: rest.reduce<ModelSums>(plus, Object.fromEntries(named)) };
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

function failuresOf({ status, ended }: CountedRun): NamedSums {
  if (status >= 400) return { failures: { [status]: { requests: 1 } } };
  return ended === 'upstream_broke' || ended === 'error' ? { failures: { broken: { requests: 1 } } } : {};
}

function modelSumsOf({ model, status, observed, kind }: CountedRun, bill: Bill | null): ModelSums {
  const { billed = 0, would_be = 0, sent = 0 } = billedSums(bill);
  const isAnswer = status < 400 && kind === 'answer' && !observed;
  const sum = {
    requests: 1,
    failed: status >= 400 ? 1 : 0,
    billed,
    unbilled: isAnswer && billed === 0 ? 1 : 0,
    about: billed > 0 && bill?.about ? 1 : 0,
    would_be,
    sent,
  };
  return { [(model ?? '').slice(0, LONGEST_MODEL)]: sum };
}

/** Codes of Precis's own errors that say the same as a status of the upstream. */
const UNANSWERED: readonly (string | null)[] = [null, 'upstream_unreachable', 'upstream_timeout'];

function timesOf({ created_at: at, status, error }: CountedRun): LastTimes {
  if (status < 400) return { answered_at: at };
  return status >= 500 && UNANSWERED.includes(error) ? { unanswered_at: at } : {};
}

/** Only of a bill that is known completely. */
function billedSums(bill: Bill | null): Partial<DaySums> {
  const known = knownAmounts(bill);
  if (!known) return {};
  const { billed, would_be, sent, fetch_rounds, broken_cache } = known;
  return { billed, would_be: would_be.amount, sent: sent.amount, fetch_rounds, broken_cache };
}
