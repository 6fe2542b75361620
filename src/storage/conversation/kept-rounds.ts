/**
 * Precis's rounds that led to answers of a conversation (docs/design.md#kept-rounds), by the key of
 * each answer. Their messages are in R2; a row has their names and their size. See
 * `storage-schema.md`.
 *
 * Rounds beyond the bounds leave all views at one moment that the row names. By then each isolate
 * has asked again, so none shows rounds that another one does not. Their objects are named until
 * requests that have begun before have read them.
 */
import { type KeptRounds, MOST_BYTES, MOST_ROUNDS } from '../../memory/replay/kept-rounds.ts';
import type { LazyTables } from '../tables.ts';
import { TRUST_MS } from '../upkeep.ts';
import type { ConversationTables } from './tables.ts';

/**
 * Rows that stay, about the newest ones. One without contents still says how large earlier views
 * were, from which the frontier follows.
 */
const KEPT_ROWS = 1_000;

/** How long contents are read after they have left views, in milliseconds. */
const READ_MS = 60_000;

const TABLE = 'kept_rounds';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    kept_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_key TEXT NOT NULL UNIQUE,
    names TEXT NOT NULL,
    rounds INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    gone_at INTEGER
  );
`;

export interface StoredRounds extends Omit<KeptRounds, 'message'> {
  /** The objects with their messages, one per round; empty if these are no longer kept. */
  readonly names: readonly string[];
  /**
   * When they leave all views, in milliseconds since the epoch; null while they are within the
   * bounds.
   */
  readonly goneAt: number | null;
}

/** Whether views show rounds no longer. @param now milliseconds since the epoch */
export function areGone({ names, goneAt }: StoredRounds, now: number): boolean {
  return names.length === 0 || (goneAt !== null && now >= goneAt);
}

/** Rounds to be kept. Times are in milliseconds since the epoch. */
export interface NewRounds extends Omit<StoredRounds, 'goneAt'> {
  /** When their request came. */
  readonly since: number;
  /** A later call is refused: by then the caller may have sent the answer back. */
  readonly until: number;
}

export interface RoundsVerdict {
  /** Those that are kept of the answer, which may be another request's; null: none. */
  readonly kept: StoredRounds | null;
  /** The objects that no row names now. */
  readonly gone: readonly string[];
}

/** A `StoredRounds`, its names as JSON. */
type Row = Omit<StoredRounds, 'names'> & { readonly names: string };

const COLUMNS = 'answer_key AS key, names, rounds, tokens, bytes, gone_at AS goneAt';

export class KeptRoundsRows {
  readonly table: LazyTables;

  constructor(tables: ConversationTables) {
    this.table = tables.lazy(SCHEMA, { oldest: 'gone_at' });
  }

  /** The rounds of each key; null if there are none. */
  find(keys: readonly string[]): (StoredRounds | null)[] {
    const rows = this.table.ofKeys<Row>(keys, 'answer_key', COLUMNS);
    return rows.map((row) => row && storedOf(row));
  }

  /** Keeps rounds, unless there are some of the same answer. A repeated call changes nothing. */
  add(rounds: NewRounds): RoundsVerdict {
    const { key, names, tokens, bytes } = rounds;
    const row = { answer_key: key, names: JSON.stringify(names), rounds: rounds.rounds, tokens, bytes };
    this.table.insert(row, 'IGNORE');
    const [kept = null] = this.find([key]);
    const isOurs = kept?.names.join() === names.join();
    return { kept, gone: [...(isOurs ? [] : names), ...this.evict()] };
  }

  /** Has the oldest rounds beyond the bounds leave. @returns objects that nothing reads now */
  private evict(): string[] {
    const now = this.table.now();
    let rounds = 0;
    let bytes = 0;
    const unread: string[] = [];
    const rows = this.table.all<Row & { kept_id: number }>(
      `SELECT kept_id, ${COLUMNS} FROM ${TABLE} WHERE names != '[]' ORDER BY kept_id DESC`,
    );
    for (const { kept_id, ...row } of rows) {
      if (row.goneAt === null) {
        rounds += row.rounds;
        bytes += row.bytes;
        if (rounds > MOST_ROUNDS || bytes > MOST_BYTES)
          this.table.change(`UPDATE ${TABLE} SET gone_at = ? WHERE kept_id = ?`, now + TRUST_MS, kept_id);
      } else if (now >= row.goneAt + READ_MS) {
        unread.push(...storedOf(row).names);
        this.table.change(`UPDATE ${TABLE} SET names = '[]' WHERE kept_id = ?`, kept_id);
      }
    }
    this.table.keepNewest(KEPT_ROWS, 'kept_id');
    return unread;
  }
}

function storedOf({ names, ...row }: Row): StoredRounds {
  return { ...row, names: JSON.parse(names) as string[] };
}
