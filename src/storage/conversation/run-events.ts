/**
 * The events of a conversation's newest requests, in the SQLite of its object. They are no memory:
 * with events alone a conversation has no tables but these and `state`. See `storage-schema.md`.
 *
 * The events of a call (`run-batch.ts`) are one row: rows that are written are what an event costs.
 * The newest row also has what the next one needs to know, with the sums of the bills, so that
 * nothing else is written for them. Lists are stored in parts by their hash, each once, however
 * many events name it.
 */

import { dayOf } from '../../lib/utc-time.ts';
import { type BillStanding, nextBill } from '../../memory/money/bill.ts';
import type { BillSums } from '../../memory/money/bill-schema.ts';
import { joinSums, NO_SUMS, sumsOf } from '../../memory/money/bill-sums.ts';
import type { CacheMiss } from '../../memory/replay/change-schema.ts';
import { daySumsOf, type SumsByDay, withDay } from '../../memory/run/day-sums.ts';
import type { LeftOut, ListedRun, RunEdit, RunEvent } from '../../memory/run/event.ts';
import { followed, type Line } from '../../memory/run/followed.ts';
import { trialSumsOf } from '../../memory/run/trials.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { AMONG, type LazyTables } from '../tables.ts';
import type { NewRun, RunBatch } from './run-batch.ts';
import type { ConversationTables } from './tables.ts';

/** The newest events that are kept, with those that share a row with the oldest of them. */
export const KEPT_EVENTS = 2_000;

/** The newest events among which an answered array is looked for, and more of the last row. */
const ANSWERS_LOOKED_AT = 256;

/**
 * How many events later a part is noted again as named, since that writes a row. It stays for this
 * many events longer.
 */
const NOTED_EVERY = 200;

/**
 * How long a batch may come again, in milliseconds: twice what the platform gives to work after an
 * answer. A unique index would remember it longer, and would write a second row for each batch.
 */
const REPEATED_MS = 60_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS run_events (
    first_n INTEGER PRIMARY KEY,
    batch_key TEXT NOT NULL DEFAULT '',
    came_at INTEGER NOT NULL DEFAULT 0,
    tally TEXT NOT NULL,
    events TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS run_parts (
    part_hash TEXT PRIMARY KEY,
    last_n INTEGER NOT NULL,
    entries TEXT NOT NULL
  );
`;

/** Columns that 0.9 and earlier lack. */
const ADDED = ["batch_key TEXT NOT NULL DEFAULT ''", 'came_at INTEGER NOT NULL DEFAULT 0'] as const;

/** What is known after a batch. The newest row has it. */
interface Tally {
  /** The number of the next event. */
  readonly next: number;
  /** Of the bills of all requests, also of deleted events. */
  readonly sums: BillSums;
  /** By the day on which requests came, the newest days. Absent in tallies of versions before. */
  readonly days?: SumsByDay;
  readonly standing: BillStanding | null;
  /** What the next request is compared with. Absent in tallies of versions before. */
  readonly lines?: readonly Line[];
}

const NO_TALLY: Tally = { next: 1, sums: NO_SUMS, days: {}, standing: null };

/**
 * An event in its row. One of an earlier version has its bills in `event`, or says whether its view
 * was captured.
 */
interface StoredRun extends Partial<Found> {
  readonly event: Omit<ListedRun, 'n'> & { readonly captured?: boolean };
  readonly potential_bill?: ListedRun['potential_bill'];
  readonly array?: string;
  readonly edits: readonly string[];
  readonly left_out: readonly string[];
}

type Row = { first_n: number; events: string };

export class RunEvents {
  readonly tables: LazyTables;
  private readonly conversation: ConversationTables;
  private readonly missed: (misses: readonly CacheMiss[]) => void;

  /** @param missed called with the cache misses of requests that were kept */
  constructor(tables: ConversationTables, missed: (misses: readonly CacheMiss[]) => void) {
    this.missed = missed;
    this.conversation = tables;
    this.tables = tables.lazy(SCHEMA, { oldest: 'tally', added: ADDED });
  }

  /** The sums of the bills of all requests. */
  sums(): BillSums {
    return this.tally().sums;
  }

  /** The sums of the newest days with requests. */
  days(): SumsByDay {
    return this.tally().days ?? {};
  }

  /** How many requests there were, and the newest of them; null if none is kept. */
  newest(): { readonly count: number; readonly run: ListedRun | null } {
    return { count: this.tally().next - 1, run: this.page(null, 1)[0] ?? null };
  }

  /** When the newest of them came, in milliseconds since 1970; 0: not known. */
  newestAt(): number {
    const newest = 'SELECT came_at FROM run_events ORDER BY first_n DESC LIMIT 1';
    return this.tables.value<number>(newest) ?? 0;
  }

  /** Whether the requests of a batch all came before a deletion. */
  areLate({ runs }: RunBatch): boolean {
    return runs.every(({ at }) => this.conversation.isLate(at));
  }

  /**
   * Keeps events with their bills, and deletes those that are too old, with the lists that no other
   * event names. A batch that was kept before changes nothing. Keeps all or nothing.
   */
  add(batch: RunBatch): void {
    // A deletion may have come while the conversation was reported.
    if (this.areLate(batch) || this.isRepeated(batch)) return;
    this.missed(this.conversation.atOnce(() => this.addNow(batch)));
  }

  /** Newest first. @param before only events with a smaller number; null for the newest */
  page(before: number | null, most: number): ListedRun[] {
    // All at once: while a query is open, no table can be dropped.
    const rows = this.tables.all<Row>(
      `SELECT first_n, events FROM run_events WHERE ?1 IS NULL OR first_n < ?1
       ORDER BY first_n DESC LIMIT ?2`,
      before,
      most,
    );
    const runs: ListedRun[] = [];
    for (const row of rows) {
      if (runs.length >= most) break;
      const all = runsIn(row).map((run, at) => listedRun(run, row.first_n + at));
      runs.push(...all.filter(({ n }) => before === null || n < before).toReversed());
    }
    return runs.slice(0, most);
  }

  /** The event of a number; undefined if it is not kept. */
  find(n: number): RunEvent | undefined {
    const row = this.tables.first<Row>(
      'SELECT first_n, events FROM run_events WHERE first_n <= ? ORDER BY first_n DESC LIMIT 1',
      n,
    );
    const run = row && runsIn(row)[n - row.first_n];
    if (!run) return undefined;
    const lists = { edits: this.list<RunEdit>(run.edits), left_out: this.list<LeftOut>(run.left_out) };
    return { ...listedRun(run, n), ...lists };
  }

  /**
   * The index of the first of these arrays that one of the newest requests was answered for; null
   * if none was.
   */
  answered(arrays: readonly string[]): number | null {
    const found = this.tables.value<number | null>(
      `SELECT min(asked.key) FROM run_events, json_each(run_events.events) AS run
       JOIN json_each(?1) AS asked ON asked.value = run.value ->> '$.array'
       WHERE first_n >= coalesce((SELECT max(first_n) FROM run_events WHERE first_n <= ?2), 0)
         AND run.value ->> '$.event.kind' = 'answer' AND run.value ->> '$.event.status' < 400`,
      arrays,
      this.tally().next - ANSWERS_LOOKED_AT,
    );
    return found ?? null;
  }

  /** When each array was first asked, in milliseconds since 1970; null if no event says it. */
  askedAt(arrays: readonly string[]): (number | null)[] {
    const found = this.tables.all<{ array: string; at: number }>(
      `SELECT run.value ->> '$.array' AS array, min(run.value ->> '$.event.created_at') AS at
       FROM run_events, json_each(run_events.events) AS run
       WHERE run.value ->> '$.array' ${AMONG} GROUP BY 1`,
      arrays,
    );
    const times = new Map(found.map(({ array, at }) => [array, at]));
    return arrays.map((array) => times.get(array) ?? null);
  }

  /** The requests that a next one is compared with, the newest first. */
  lines(): readonly Line[] {
    return this.tally().lines ?? [];
  }

  private addNow({ key, runs }: RunBatch): readonly CacheMiss[] {
    const { next, ...known } = this.tally();
    // Some of the requests may have come before a deletion.
    const added = runs
      .filter(({ at }) => !this.conversation.isLate(at))
      .toSorted((one, other) => one.at - other.at);
    const { found, ...tally } = billed(added, known);
    const after = next + added.length;
    const events = added.map((run, at) => this.stored(run, found[at] ?? NOTHING_FOUND, after - 1));
    this.tables.insert({
      first_n: next,
      batch_key: key,
      came_at: this.tables.now(),
      tally: JSON.stringify({ next: after, ...tally } satisfies Tally),
      events: `[${events.join(',')}]`,
    });
    this.deleteBefore(after - KEPT_EVENTS);
    return found.flatMap(({ cache_miss: miss }) => miss ?? []);
  }

  /** Whether a batch has come within the last minute. Reads the rows of that time. */
  private isRepeated({ key }: RunBatch): boolean {
    return this.tables.has(
      `SELECT 1 FROM run_events WHERE batch_key = ? AND first_n > coalesce(
         (SELECT first_n FROM run_events WHERE came_at < ? ORDER BY first_n DESC LIMIT 1), 0)`,
      key,
      this.tables.now() - REPEATED_MS,
    );
  }

  private tally(): Tally {
    const tally = this.tables.value<string>('SELECT tally FROM run_events ORDER BY first_n DESC LIMIT 1');
    return tally === undefined ? NO_TALLY : (JSON.parse(tally) as Tally);
  }

  /** An event as its row has it. Writes the parts of its lists. @param n noted with these */
  private stored({ event, edits, left_out, ...run }: NewRun, found: Found, n: number): string {
    const named = (parts: readonly string[]) => parts.map((part) => this.notePart(part, n));
    const { array, potential_bill = null } = run;
    const rest = { ...found, potential_bill, array, edits: named(edits), left_out: named(left_out) };
    return `{"event":${event},${JSON.stringify(rest).slice(1)}`;
  }

  /** @returns the hash of a part */
  private notePart(entries: string, n: number): string {
    const hash = sha256Hex(entries);
    this.tables.write(
      `INSERT INTO run_parts (part_hash, last_n, entries) VALUES (?1, ?2, ?3)
       ON CONFLICT (part_hash) DO UPDATE SET last_n = ?2 WHERE last_n <= ?2 - ${NOTED_EVERY}`,
      hash,
      n,
      entries,
    );
    return hash;
  }

  /** @param oldest the number of the oldest event that stays */
  private deleteBefore(oldest: number): void {
    if (oldest <= 1) return;
    const areDeleted = this.tables.has(
      `DELETE FROM run_events
       WHERE first_n < (SELECT max(first_n) FROM run_events WHERE first_n <= ?)
       RETURNING first_n`,
      oldest,
    );
    if (!areDeleted) return;
    this.tables.change(
      `DELETE FROM run_parts WHERE last_n < (SELECT min(first_n) FROM run_events) - ${NOTED_EVERY}`,
    );
  }

  /** The entries of a list. @param hashes of its parts */
  private list<Entry>(hashes: readonly string[]): Entry[] {
    return this.tables
      .column<string>(
        `SELECT p.entries FROM json_each(?) h JOIN run_parts p ON p.part_hash = h.value ORDER BY h.key`,
        hashes,
      )
      .flatMap((entries) => JSON.parse(entries) as Entry[]);
  }
}

/** What follows from a request and those before it. */
type Found = Pick<ListedRun, 'bill' | 'cache_miss' | 'reasoning_dropped'>;

const NOTHING_FOUND = { bill: null, potential_bill: null, cache_miss: null, reasoning_dropped: null };

/** @param runs in the order in which the requests came: each bill needs those before */
function billed(runs: readonly NewRun[], before: Omit<Tally, 'next'>) {
  let { sums, days = {}, standing, lines = [] } = before;
  const found = runs.map((run): Found => {
    const { at, billing, compared } = run;
    const after = compared && followed(lines, compared, at, billing);
    const moved = !after?.isExtended && (billing?.moved || after?.isOwn || false);
    const next = billing && nextBill(standing, { ...billing, moved }, at);
    if (next) {
      sums = joinSums(sums, sumsOf(next.bill));
      standing = next.standing;
    }
    if (after) lines = after.lines;
    const bill = next?.bill ?? null;
    const event = JSON.parse(run.event) as Omit<ListedRun, 'n'>;
    const miss = after?.miss ?? null;
    const potential = run.potential_bill ?? null;
    const ofDay = daySumsOf(event, bill, potential, miss);
    const trials = run.trial && trialSumsOf(ofDay, event, bill, potential, run.trial);
    days = withDay(days, dayOf(at), trials ? { ...ofDay, trials } : ofDay);
    return { bill, cache_miss: miss, reasoning_dropped: after?.dropped ?? null };
  });
  return { found, sums, days, standing, ...(lines.length > 0 ? { lines } : {}) };
}

function runsIn({ events }: Row): StoredRun[] {
  return JSON.parse(events) as StoredRun[];
}

function listedRun(stored: StoredRun, n: number): ListedRun {
  const { event, array: _array, edits: _edits, left_out: _left, ...found } = stored;
  const { captured, ...rest } = event as Partial<ListedRun> & StoredRun['event'];
  return { ...NOTHING_FOUND, ...found, ...rest, n } as ListedRun;
}
