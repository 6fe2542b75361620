/**
 * The tables of a tenant's object that its limits are counted in: the calls under way and the calls
 * of the last minute, and sums by day (docs/operating.md#budgets-and-limits). See
 * `storage-schema.md`.
 *
 * The object answers one call after the other, so that what is left is decided and reserved in one
 * step. A call that is repeated, since its answer was lost, changes nothing more.
 */
import { DAY_MS, dayOf, monthOf } from '../../lib/utc-time.ts';
import type { CallerLimits, CallerState, CountedLimit } from '../../memory/money/caller-limits.ts';
import {
  MINUTE_MS,
  msUntilLeft,
  type RecentCall,
  reachedLimit,
  type Spend,
  type Spent,
} from '../../memory/money/spending.ts';
import type { LazyTables, Tables } from '../tables.ts';

/**
 * After this time a call whose end was lost counts as spent, as it was estimated. In milliseconds.
 */
export const RESERVED_MS = 30 * MINUTE_MS;

/** So long after that its end still sets the sums right. In milliseconds. */
const CORRECTED_MS = DAY_MS;

/** How many days are kept, with today. */
const KEPT_DAYS = 92;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS spend_calls (
    call_id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended_at INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS spend_days (
    day INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    summaries INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS caller_state (state TEXT NOT NULL, since INTEGER NOT NULL);
`;

export interface Reservation extends Spend {
  /** Unique. */
  readonly id: string;
  readonly limits: CallerLimits;
  /** Whether it is a further call of a request that has been sent. */
  readonly isFurther: boolean;
}

/** Why nothing more may be spent. */
export type Refused =
  | {
      readonly state: 'reached';
      readonly limit: CountedLimit;
      readonly retryMs: number;
      readonly spent: Spent;
    }
  | { readonly state: Exclude<CallerState, 'active'> };

export type Reserved = { readonly state: 'reserved'; readonly spent: Spent } | Refused;

/** The end of a call, reserved or not. */
export interface EndedCall extends Spend {
  readonly id: string;
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  readonly isFurther: boolean;
  /** Whether it was the summarizer's. */
  readonly isSummary?: boolean;
}

/** The sums of a day of UTC, without what is reserved. Amounts in nanodollars. */
export interface SpentDay {
  /** In days since 1970. */
  readonly day: number;
  readonly requests: number;
  readonly tokens: number;
  readonly amount: number;
  /** The part of `amount` that the summarizer's work has cost. */
  readonly summaries: number;
}

type Closed = { state: Exclude<CallerState, 'active'>; since: number };

type CallRow = {
  call_id: string;
  at: number;
  requests: number;
  tokens: number;
  amount: number;
  /** `lost`: it counts as spent, since its end is overdue. `unreserved`: it has only an end. */
  state: 'reserved' | 'ended' | 'lost' | 'unreserved';
  /** In milliseconds since 1970. */
  ended_at: number | null;
};

export class SpendingRows {
  private readonly tables: LazyTables;

  constructor(tables: Tables) {
    this.tables = tables.lazy(SCHEMA);
  }

  /** Reserves what a call may spend, if the limits allow it. */
  reserve({ id, limits, isFurther, tokens, amount }: Reservation): Reserved {
    const now = this.tables.now();
    const closed = this.closed();
    if (closed) return { state: closed.state };
    this.tidy(now);
    if (this.call(id)) return { state: 'reserved', spent: this.spent(now) };
    const refused = this.refusal(limits, isFurther, now);
    if (refused) return refused;
    const requests = isFurther ? 0 : 1;
    this.insert({ call_id: id, at: now, requests, tokens, amount, state: 'reserved', ended_at: null });
    return { state: 'reserved', spent: this.spent(now) };
  }

  /** Whether a request would be refused. Reserves nothing. */
  check(limits: CallerLimits): Refused | null {
    const closed = this.closed();
    if (closed) return { state: closed.state };
    return this.refusal(limits, false, this.tables.now()) ?? null;
  }

  /** Counts what a call has spent instead of what was reserved. */
  settle({ id, at, isFurther, isSummary, tokens, amount }: EndedCall): void {
    const before = this.call(id);
    if (before && before.state !== 'reserved' && before.state !== 'lost') return;
    const requests = isFurther ? 0 : 1;
    const madeAt = before?.at ?? at;
    const state = before ? 'ended' : 'unreserved';
    this.insert({ call_id: id, at: madeAt, requests, tokens, amount, state, ended_at: this.tables.now() });
    // A lost one is in the sums of its day.
    const counted = before?.state === 'lost' ? before : { requests: 0, tokens: 0, amount: 0 };
    this.addToDay(madeAt, {
      requests: requests - counted.requests,
      tokens: tokens - counted.tokens,
      amount: amount - counted.amount,
      summaries: isSummary ? amount : 0,
    });
  }

  /** What has been spent, with what is reserved. @param now in milliseconds */
  private spent(now: number): Spent {
    if (!this.tables.exists()) return { day: 0, month: 0, tokens: 0, requests: 0 };
    const today = dayOf(now);
    const { day, month } = this.tables.one<Pick<Spent, 'day' | 'month'>>(
      `SELECT coalesce(sum(iif(day = ?1, amount, 0)), 0) AS day, coalesce(sum(amount), 0) AS month
       FROM (SELECT day, amount FROM spend_days WHERE day BETWEEN ?2 AND ?1
         UNION ALL SELECT at / ${DAY_MS}, amount FROM spend_calls WHERE state = 'reserved')
       WHERE day BETWEEN ?2 AND ?1`,
      today,
      monthOf(now).first,
    );
    const minute = this.tables.one<Pick<Spent, 'tokens' | 'requests'>>(
      `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests
       FROM spend_calls WHERE at > ?`,
      now - MINUTE_MS,
    );
    return { day, month, ...minute };
  }

  /** The sums of days, the oldest first. */
  days(from: number, to: number): SpentDay[] {
    return this.tables.all<SpentDay>(
      'SELECT day, requests, tokens, amount, summaries FROM spend_days WHERE day BETWEEN ? AND ? ORDER BY day',
      from,
      to,
    );
  }

  /** Closes a caller, or opens it again. */
  setState(state: CallerState): void {
    this.tables.change('DELETE FROM caller_state');
    if (state !== 'active')
      this.tables.write('INSERT INTO caller_state (state, since) VALUES (?, ?)', state, this.tables.now());
  }

  /** As what a caller is closed, and since when (in milliseconds since 1970). */
  closed(): Closed | undefined {
    return this.tables.first<Closed>('SELECT state, since FROM caller_state');
  }

  /** Forgets what was spent. The caller stays closed. */
  clear(): void {
    this.tables.change('DELETE FROM spend_calls');
    this.tables.change('DELETE FROM spend_days');
  }

  /** Whether there is nothing worth keeping. */
  isEmpty(): boolean {
    const kept =
      'SELECT 1 FROM caller_state UNION ALL SELECT 1 FROM spend_days UNION ALL SELECT 1 FROM spend_calls';
    return !this.tables.has(`${kept} LIMIT 1`);
  }

  private refusal(limits: CallerLimits, isFurther: boolean, now: number): Refused | undefined {
    const spent = this.spent(now);
    const limit = reachedLimit(limits, spent, isFurther);
    if (limit === undefined) return undefined;
    return { state: 'reached', limit, retryMs: msUntilLeft(limit, limits, this.recent(now), now), spent };
  }

  private recent(now: number): RecentCall[] {
    return this.tables.all<RecentCall>(
      'SELECT at, tokens, requests FROM spend_calls WHERE at > ? ORDER BY at',
      now - MINUTE_MS,
    );
  }

  private call(id: string): CallRow | undefined {
    return this.tables.first<CallRow>('SELECT * FROM spend_calls WHERE call_id = ?', id);
  }

  private insert(call: CallRow): void {
    this.tables.insert(call, 'REPLACE');
  }

  private addToDay(at: number, { requests, tokens, amount, summaries }: Omit<SpentDay, 'day'>): void {
    this.tables.write(
      `INSERT INTO spend_days (day, requests, tokens, amount, summaries) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (day) DO UPDATE SET requests = requests + ?2, tokens = tokens + ?3,
         amount = amount + ?4, summaries = summaries + ?5`,
      dayOf(at),
      requests,
      tokens,
      amount,
      summaries,
    );
  }

  /** Counts what is overdue as spent, and drops what is past every minute and sum. */
  private tidy(now: number): void {
    const overdue = this.tables.all<CallRow>(
      `SELECT * FROM spend_calls WHERE state = 'reserved' AND at <= ?`,
      now - RESERVED_MS,
    );
    for (const call of overdue) {
      this.insert({ ...call, state: 'lost' });
      this.addToDay(call.at, { ...call, summaries: 0 });
    }
    // Its end may be reported twice.
    this.tables.change(
      `DELETE FROM spend_calls WHERE (state = 'ended' AND at <= ?1 AND ended_at <= ?1)
       OR (state NOT IN ('reserved', 'ended') AND at <= ?2)`,
      now - MINUTE_MS,
      now - RESERVED_MS - CORRECTED_MS,
    );
    this.tables.change('DELETE FROM spend_days WHERE day <= ?', dayOf(now) - KEPT_DAYS);
  }
}
