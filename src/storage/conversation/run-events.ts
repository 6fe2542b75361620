/**
 * The events of a conversation's newest requests, in the SQLite of its object. They are no memory:
 * with events alone a conversation has no tables but these and `state`. See `storage-schema.md`.
 *
 * They come in batches (`run-batch.ts`), and a batch is one row: rows that are written are what an
 * event costs. The newest row also has what the next batch needs to know, with the sums of the
 * bills, so that nothing else is written for them. Lists are stored in parts by their hash, each
 * once, however many events name it.
 */

import { dayOf } from '../../lib/utc-time.ts';
import type { Bill, BillSums } from '../../memory/money/bill-schema.ts';
import { joinSums, NO_SUMS, sumsOf } from '../../memory/money/bill-sums.ts';
import { type BillStanding, nextBill } from '../../memory/money/running-bill.ts';
import { daySumsOf, type SumsByDay, withDay } from '../../memory/run/day-sums.ts';
import type { LeftOut, ListedRun, RunEdit } from '../../memory/run/event.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import type { LazyTables } from '../tables.ts';
import type { FoundRun, NewRun, RunBatch, RunPage } from './run-batch.ts';
import type { ConversationTables, StoredPart } from './tables.ts';

/** The newest events that are kept, with those that share a row with the oldest of them. */
export const KEPT_EVENTS = 2_000;

/**
 * How many events later a part is noted again as named, since that writes a row. It stays for so
 * many events longer.
 */
const NOTED_EVERY = 200;

/**
 * A batch that is older is not kept, in milliseconds: it may have come before, or a deletion may
 * have. Its isolate has given it up (`eventGiveUpMs`), and has counted it as lost.
 */
const OLDEST_BATCH_MS = 30_000;

/**
 * How long a sender is remembered after its last batch, in milliseconds, and how many are, unless a
 * batch of theirs may still come again.
 */
const SENDER_MS = 5 * 60_000;
const MOST_SENDERS = 32;

const SINGLE_RUN_EVENTS = 'single_run_events';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS run_events (
    first_n INTEGER PRIMARY KEY,
    tally TEXT NOT NULL,
    events TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS run_parts (
    part_hash TEXT PRIMARY KEY,
    last_n INTEGER NOT NULL,
    entries TEXT NOT NULL
  );
`;

/**
 * From tables of earlier versions, which have a row for each event. Fifty of them become one, so
 * that few rows are written.
 */
const FROM_SINGLE_ROWS = `
  INSERT INTO run_events (first_n, tally, events)
    SELECT min(n), ?, json_group_array(
      json_object(
        'edits', json(edits),
        'left_out', json(left_out),
        'event', json(event)
      ) ORDER BY n
    )
    FROM ${SINGLE_RUN_EVENTS} GROUP BY (n - 1) / 50
`;

/** What is known after a batch. The newest row has it. */
interface Tally {
  /** The number of the next event. */
  readonly next: number;
  /** Of the bills of all requests, those of deleted events too. */
  readonly sums: BillSums;
  /** By the day on which requests came, the newest days. Absent in tallies of versions before. */
  readonly days?: SumsByDay;
  readonly standing: BillStanding | null;
  /** How many events were lost. */
  readonly lost: number;
  /**
   * The place of each sender's next event (`RunBatch.from`), and when its last batch came. The one
   * that came last is last.
   */
  readonly senders: Readonly<Record<string, { readonly next: number; readonly at: number }>>;
}

const NO_TALLY: Tally = { next: 1, sums: NO_SUMS, days: {}, standing: null, lost: 0, senders: {} };

/**
 * An event in its row. One of an earlier version has its bills in `event`, or says whether its view
 * was captured.
 */
interface StoredRun {
  readonly event: Omit<ListedRun, 'n'> & { readonly captured?: boolean };
  readonly bill?: ListedRun['bill'];
  readonly potential_bill?: ListedRun['potential_bill'];
  readonly array?: string;
  readonly edits: readonly string[];
  readonly left_out: readonly string[];
}

/** The bills of one call, and what is known after them. */
interface Billed extends Pick<Tally, 'sums' | 'days' | 'standing'> {
  readonly bills: ReadonlyMap<NewRun, Bill | null>;
}

type Row = { first_n: number; events: string };

export class RunEvents implements StoredPart {
  private readonly sql: SqlStorage;
  private readonly state: Pick<ConversationTables, 'get' | 'atOnce'>;
  private readonly tables: LazyTables;
  private readonly now: () => number;
  /** When all were deleted, in milliseconds since 1970. */
  private strippedAt = 0;

  /** @param now milliseconds since 1970 */
  constructor(tables: Pick<ConversationTables, 'sql' | 'lazy' | 'get' | 'atOnce'>, now: () => number) {
    this.sql = tables.sql;
    this.state = tables;
    this.tables = tables.lazy(['run_events', 'run_parts'], SCHEMA, { found: () => this.migrate() });
    this.now = now;
  }

  any(): boolean {
    return this.tables.exists();
  }

  /** The sums of the bills of all requests. */
  sums(): BillSums {
    return this.any() ? this.tally().sums : NO_SUMS;
  }

  /** The sums of the newest days with requests. */
  days(): SumsByDay {
    return this.any() ? (this.tally().days ?? {}) : {};
  }

  /** How many requests there were, and the newest of them; null if none is kept. */
  newest(): { readonly count: number; readonly run: ListedRun | null } {
    if (!this.any()) return { count: 0, run: null };
    return { count: this.tally().next - 1, run: this.page(null, 1).runs[0] ?? null };
  }

  /**
   * Whether batches are too old, or their requests all came before all events were deleted. Their
   * answers have lasted longer, and their events would bring the conversation back. A deletion is
   * known while the object lives.
   */
  areLate(batches: readonly RunBatch[]): boolean {
    return batches.every((batch) => this.isOld(batch) || batch.runs.every((run) => this.isLate(run)));
  }

  /**
   * Keeps batches of events with their bills, and deletes those that are too old, with the lists
   * that no other event names. A batch that was kept before changes nothing. Keeps all or nothing.
   */
  add(batches: readonly RunBatch[]): void {
    // A deletion may have come while the conversation was reported.
    if (this.areLate(batches)) return;
    this.state.atOnce(() => {
      this.tables.make();
      this.addNow(batches);
    });
  }

  /** Newest first. @param before only events with a smaller number; null for the newest */
  page(before: number | null, most: number): RunPage {
    if (!this.any()) return { runs: [], lost: 0 };
    const rows = this.sql.exec<Row>(
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
    return { runs: runs.slice(0, most), lost: this.tally().lost };
  }

  /** The event of a number. */
  find(n: number): FoundRun {
    const run = this.any() ? this.stored(n) : undefined;
    if (!run) return { run: null };
    const lists = { edits: this.list<RunEdit>(run.edits), left_out: this.list<LeftOut>(run.left_out) };
    return { run: { ...listedRun(run, n), ...lists } };
  }

  /** When each array was first asked, in milliseconds since 1970; null if no event tells. */
  askedAt(arrays: readonly string[]): (number | null)[] {
    if (!this.any()) return arrays.map(() => null);
    const found = this.sql.exec<{ array: string; at: number }>(
      `SELECT run.value ->> '$.array' AS array, min(run.value ->> '$.event.created_at') AS at
       FROM run_events, json_each(run_events.events) AS run
       WHERE run.value ->> '$.array' IN (SELECT value FROM json_each(?)) GROUP BY 1`,
      JSON.stringify(arrays),
    );
    const times = new Map([...found].map(({ array, at }) => [array, at]));
    return arrays.map((array) => times.get(array) ?? null);
  }

  strip(): void {
    this.noteDeletion();
    this.tables.drop();
    this.sql.exec(`DROP TABLE IF EXISTS ${SINGLE_RUN_EVENTS}`);
  }

  /** Has events of requests that came before now refused. */
  noteDeletion(): void {
    this.strippedAt = this.now();
  }

  private addNow(batches: readonly RunBatch[]): void {
    let tally = this.tally();
    const rows: { readonly firstN: number; readonly runs: readonly NewRun[]; readonly batch: RunBatch }[] =
      [];
    for (const batch of batches) {
      const place = tally.senders[batch.sender]?.next ?? batch.kept;
      if (batch.from < place) continue;
      if (this.isOld(batch)) continue;
      const runs = batch.runs.filter((run) => !this.isLate(run)).toSorted(byTime);
      if (runs.length > 0) rows.push({ firstN: tally.next, runs, batch });
      tally = {
        ...tally,
        next: tally.next + runs.length,
        lost: tally.lost + batch.from - place,
        senders: this.sendersAfter(batch, tally),
      };
    }
    const runs = rows.flatMap((row) => row.runs);
    const { bills, sums, days = {}, standing } = billed(runs, tally);
    tally = { ...tally, sums, days, standing };
    // Only the tally of the newest row is read.
    for (const row of rows) this.write(row.firstN, row.runs, row.batch.parts, bills, tally);
    this.deleteBefore(tally.next - KEPT_EVENTS);
  }

  private isOld({ takenAt }: RunBatch): boolean {
    return this.now() - takenAt > OLDEST_BATCH_MS;
  }

  private isLate({ at }: NewRun): boolean {
    return at <= this.strippedAt;
  }

  private tally(): Tally {
    const [row] = this.sql
      .exec<{ tally: string }>('SELECT tally FROM run_events ORDER BY first_n DESC LIMIT 1')
      .toArray();
    return row ? (JSON.parse(row.tally) as Tally) : NO_TALLY;
  }

  private sendersAfter({ sender, from, runs }: RunBatch, { senders }: Tally): Tally['senders'] {
    const now = this.now();
    const others = Object.entries(senders).filter(
      ([name, { at }]) => name !== sender && now - at < SENDER_MS,
    );
    const excess = others.length + 1 - MOST_SENDERS;
    const stay = others.filter(([, { at }], index) => index >= excess || now - at <= OLDEST_BATCH_MS);
    return Object.fromEntries([...stay, [sender, { next: from + runs.length, at: now }]]);
  }

  /** Writes a row, and parts that are new. @param parts of the batch */
  private write(
    firstN: number,
    runs: readonly NewRun[],
    parts: readonly string[],
    bills: Billed['bills'],
    tally: Tally,
  ): void {
    const hashes = parts.map((part) => sha256Hex(part));
    const named = (indices: readonly number[]) => indices.map((index) => hashes[index]);
    const texts = runs.map((run) => {
      const { event, edits, left_out, array, potential_bill = null } = run;
      const rest = {
        bill: bills.get(run) ?? null,
        potential_bill,
        array,
        edits: named(edits),
        left_out: named(left_out),
      };
      return `{"event":${event},${JSON.stringify(rest).slice(1)}`;
    });
    const lastN = firstN + runs.length - 1;
    for (const [index, entries] of parts.entries()) this.notePart(hashes[index] ?? '', entries, lastN);
    this.sql.exec(
      'INSERT INTO run_events (first_n, tally, events) VALUES (?, ?, ?)',
      firstN,
      JSON.stringify(tally),
      `[${texts.join(',')}]`,
    );
  }

  private notePart(hash: string, entries: string, n: number): void {
    this.sql.exec(
      `INSERT INTO run_parts (part_hash, last_n, entries) VALUES (?1, ?2, ?3)
       ON CONFLICT (part_hash) DO UPDATE SET last_n = ?2 WHERE last_n <= ?2 - ${NOTED_EVERY}`,
      hash,
      n,
      entries,
    );
  }

  /** @param oldest the number of the oldest event that stays */
  private deleteBefore(oldest: number): void {
    if (oldest <= 1) return;
    const rows = this.sql
      .exec<Pick<Row, 'first_n'>>(
        `DELETE FROM run_events
         WHERE first_n < (SELECT max(first_n) FROM run_events WHERE first_n <= ?)
         RETURNING first_n`,
        oldest,
      )
      .toArray();
    if (rows.length === 0) return;
    this.sql.exec(
      `DELETE FROM run_parts WHERE last_n < (SELECT min(first_n) FROM run_events) - ${NOTED_EVERY}`,
    );
  }

  private stored(n: number): StoredRun | undefined {
    const [row] = this.sql
      .exec<Row>('SELECT first_n, events FROM run_events WHERE first_n <= ? ORDER BY first_n DESC LIMIT 1', n)
      .toArray();
    return row && runsIn(row)[n - row.first_n];
  }

  /** The entries of a list. @param hashes of its parts */
  private list<Entry>(hashes: readonly string[]): Entry[] {
    return this.sql
      .exec<{ entries: string }>(
        `SELECT p.entries FROM json_each(?) h JOIN run_parts p ON p.part_hash = h.value ORDER BY h.key`,
        JSON.stringify(hashes),
      )
      .toArray()
      .flatMap(({ entries }) => JSON.parse(entries) as Entry[]);
  }

  private migrate(): void {
    const isOld = "SELECT 1 FROM sqlite_master WHERE name = 'run_events' AND sql LIKE '%run_key%'";
    if (this.sql.exec(isOld).toArray().length === 0) return;
    const { next } = this.sql
      .exec<{ next: number }>('SELECT coalesce(max(n), 0) + 1 AS next FROM run_events')
      .one();
    const standing = JSON.parse(this.state.get('bill_standing') ?? 'null') as BillStanding | null;
    this.state.atOnce(() => {
      this.sql.exec(`ALTER TABLE run_events RENAME TO ${SINGLE_RUN_EVENTS}; ${SCHEMA}`);
      // Their bills are in the sums of `BillLedger`.
      this.sql.exec(FROM_SINGLE_ROWS, JSON.stringify({ ...NO_TALLY, next, standing }));
      this.sql.exec(`DROP TABLE ${SINGLE_RUN_EVENTS}`);
    });
  }
}

/** Bills in the order in which the requests came: each bill needs those before. */
function billed(runs: readonly NewRun[], before: Pick<Tally, 'sums' | 'days' | 'standing'>): Billed {
  let { sums, days = {}, standing } = before;
  const bills = new Map<NewRun, Bill | null>();
  for (const run of runs.toSorted(byTime)) {
    const next = run.billing && nextBill(standing, run.billing, run.at);
    if (next) {
      sums = joinSums(sums, sumsOf(next.bill));
      standing = next.standing;
      bills.set(run, next.bill);
    }
    const event = JSON.parse(run.event) as Omit<ListedRun, 'n'>;
    const ofRun = daySumsOf(event, next?.bill ?? null, run.potential_bill ?? null);
    days = withDay(days, dayOf(run.at), ofRun);
  }
  return { bills, sums, days, standing };
}

function byTime(one: NewRun, other: NewRun): number {
  return one.at - other.at;
}

function runsIn({ events }: Row): StoredRun[] {
  return JSON.parse(events) as StoredRun[];
}

/** Events of Precis up to 0.6.0 say nothing of kept rounds. */
function listedRun({ event, bill = null, potential_bill = null }: StoredRun, n: number): ListedRun {
  const { captured, ...rest } = event;
  const later = { kept_rounds: [], bill, potential_bill };
  return { ...later, ...(rest as Omit<ListedRun, 'n' | keyof typeof later>), n };
}
