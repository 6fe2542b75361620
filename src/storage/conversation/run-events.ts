/**
 * The events of a conversation's newest requests, in the SQLite of its object. They are no memory:
 * with events alone a conversation has no tables but these and `state`. See `storage-schema.md`.
 *
 * An array grows from request to request, and what was edited stays the same. So lists are cut into
 * parts that are stored by their hash, each once, however many events name it.
 */

import type { PotentialBill } from '../../memory/money/bill-schema.ts';
import type { BillOrder } from '../../memory/money/running-bill.ts';
import type { UnbilledRun } from '../../memory/run/build-event.ts';
import type { ListedRun, RunEvent } from '../../memory/run/event.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import type { LazyTables, Tables } from '../tables.ts';
import type { BillLedger } from './bills.ts';
import type { StoredPart } from './tables.ts';

/** The newest events that are kept. */
export const KEPT_EVENTS = 2_000;

/**
 * Entries of a part. SQLite limits a text to 2 MB, and a part of entries whose tools have the
 * longest names takes 300 kB.
 */
const PART_ENTRIES = 256;

/** A call that is repeated comes again at once, so only the newest events can be its own. */
const REPEATED_WITHIN = 100;

/**
 * Every request writes here, and each row of an index would be one more: the newest event is never
 * deleted by itself, so numbers go on, and parts are few.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS run_events (
    n INTEGER PRIMARY KEY,
    run_key TEXT NOT NULL,
    event TEXT NOT NULL,
    edits TEXT NOT NULL,
    left_out TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS run_parts (
    part_hash TEXT PRIMARY KEY,
    last_n INTEGER NOT NULL,
    entries TEXT NOT NULL
  );
`;

/** An event before its conversation has counted and billed it. */
export interface NewRun extends UnbilledRun {
  /** Absent if the request is not billed. */
  readonly billing?: BillOrder;
  /** Absent if the request was not observed. */
  readonly potential_bill?: PotentialBill | null;
}

type Row = { n: number; event: string };
type WholeRow = Row & { edits: string; left_out: string };

export class RunEvents implements StoredPart {
  private readonly sql: SqlStorage;
  private readonly tables: LazyTables;
  private readonly bills: Pick<BillLedger, 'add'>;
  private readonly now: () => number;
  /** When all were deleted, in milliseconds since 1970. */
  private strippedAt = 0;

  /** @param now milliseconds since 1970 */
  constructor(tables: Tables, bills: Pick<BillLedger, 'add'>, now: () => number) {
    this.sql = tables.sql;
    this.tables = tables.lazy(['run_events', 'run_parts'], SCHEMA);
    this.bills = bills;
    this.now = now;
  }

  any(): boolean {
    return this.tables.exists();
  }

  /**
   * The answer of `add` to an event whose request came before all were deleted. Its answer has
   * lasted longer, and its event would bring the conversation back. Undefined for any other event.
   * Known while the object lives.
   */
  late(key: string, { created_at, captured }: Pick<NewRun, 'created_at' | 'captured'>): string[] | undefined {
    if (created_at > this.strippedAt) return undefined;
    return captured ? [key] : [];
  }

  /**
   * Keeps an event with its bill, and deletes those that are too old, with the lists that no other
   * event names.
   *
   * @param key names the request, and its capture. A call is repeated if its answer was lost, and
   *   changes nothing then
   * @returns the keys of the events that were deleted, or not kept, and had captures
   */
  add(key: string, { edits, left_out, billing, potential_bill = null, ...event }: NewRun): string[] {
    // A deletion may have come while the conversation was reported.
    const late = this.late(key, event);
    if (late) return late;
    this.tables.make();
    const repeated = `SELECT 1 FROM run_events
      WHERE run_key = ? AND n > (SELECT coalesce(max(n), 0) FROM run_events) - ${REPEATED_WITHIN}`;
    if (this.sql.exec(repeated, key).toArray().length > 0) return [];
    const bill = billing ? this.bills.add(billing, event.created_at) : null;
    const lists = [partsOf(edits), partsOf(left_out)] as const;
    const { n } = this.sql
      .exec<{ n: number }>(
        'INSERT INTO run_events (run_key, event, edits, left_out) VALUES (?, ?, ?, ?) RETURNING n',
        key,
        JSON.stringify({ ...event, bill, potential_bill }),
        ...lists.map((parts) => JSON.stringify(parts.map(({ hash }) => hash))),
      )
      .one();
    for (const { hash, entries } of lists.flat())
      this.sql.exec(
        `INSERT INTO run_parts (part_hash, last_n, entries) VALUES (?1, ?2, ?3)
         ON CONFLICT (part_hash) DO UPDATE SET last_n = ?2`,
        hash,
        n,
        entries,
      );
    if (n <= KEPT_EVENTS) return [];
    const gone = this.sql
      .exec<{ run_key: string; captured: number | null }>(
        `DELETE FROM run_events WHERE n <= ?
         RETURNING run_key, json_extract(event, '$.captured') AS captured`,
        n - KEPT_EVENTS,
      )
      .toArray();
    // The newest event that names a part is deleted last of all that do.
    this.sql.exec('DELETE FROM run_parts WHERE last_n <= ?', n - KEPT_EVENTS);
    return gone.flatMap(({ run_key, captured }) => (captured ? [run_key] : []));
  }

  /** Newest first. @param before only events with a smaller number; null for the newest */
  page(before: number | null, most: number): ListedRun[] {
    if (!this.any()) return [];
    return this.sql
      .exec<Row>(
        'SELECT n, event FROM run_events WHERE ?1 IS NULL OR n < ?1 ORDER BY n DESC LIMIT ?2',
        before,
        most,
      )
      .toArray()
      .map(eventOf);
  }

  /** Null if there is none of this number. */
  find(n: number): RunEvent | null {
    if (!this.any()) return null;
    const [row] = this.sql
      .exec<WholeRow>('SELECT n, event, edits, left_out FROM run_events WHERE n = ?', n)
      .toArray();
    if (!row) return null;
    return { ...eventOf(row), edits: this.list(row.edits), left_out: this.list(row.left_out) };
  }

  /** The key of an event; null if there is none of this number. */
  keyOf(n: number): string | null {
    if (!this.any()) return null;
    const [row] = this.sql
      .exec<{ run_key: string }>('SELECT run_key FROM run_events WHERE n = ?', n)
      .toArray();
    return row?.run_key ?? null;
  }

  strip(): void {
    this.strippedAt = this.now();
    this.tables.drop();
  }

  /** The entries of a list. @param hashes of its parts, as JSON */
  private list<Entry>(hashes: string): Entry[] {
    return this.sql
      .exec<{ entries: string }>(
        `SELECT p.entries FROM json_each(?) h JOIN run_parts p ON p.part_hash = h.value ORDER BY h.key`,
        hashes,
      )
      .toArray()
      .flatMap(({ entries }) => JSON.parse(entries) as Entry[]);
  }
}

/** Events of Precis up to 0.6.0 say nothing of captures and of kept rounds. */
function eventOf({ n, event }: Row): ListedRun {
  const later = { captured: false, kept_rounds: [] };
  return { ...later, ...(JSON.parse(event) as Omit<ListedRun, 'n' | keyof typeof later>), n };
}

/** A part of a list: its entries as JSON, and the hash of that. */
interface Part {
  readonly hash: string;
  readonly entries: string;
}

function partsOf(list: readonly object[]): Part[] {
  const parts: Part[] = [];
  for (let from = 0; from < list.length; from += PART_ENTRIES) {
    const entries = JSON.stringify(list.slice(from, from + PART_ENTRIES));
    parts.push({ hash: sha256Hex(entries), entries });
  }
  return parts;
}
