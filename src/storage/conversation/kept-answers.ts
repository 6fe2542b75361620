/**
 * The outputs of answers that came over a bridge (docs/bridges.md#what-is-kept), by the key of each
 * answer. They are sealed by the Worker; a row has their size. See `storage-schema.md`.
 */
import type { LazyTables, StoredPart } from '../tables.ts';
import type { ConversationTables } from './tables.ts';

/** The newest answers that are kept. */
const MOST_ANSWERS = 512;

/** Of all of them. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Of one. SQLite limits a row to 2 MB, and a backup reads many rows at once. */
export const LONGEST_KEPT = 256 * 1024;

const TABLE = 'kept_answers';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    kept_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_key TEXT NOT NULL UNIQUE,
    sealed BLOB NOT NULL
  );
`;

/** An answer to be kept. */
export interface NewAnswer {
  readonly key: string;
  readonly sealed: ArrayBuffer;
  /** When its request came, in milliseconds since the epoch. */
  readonly since: number;
}

export class KeptAnswerRows implements StoredPart {
  private readonly sql: SqlStorage;
  private readonly table: LazyTables;
  private readonly isLate: (since: number) => boolean;

  constructor(tables: ConversationTables) {
    this.sql = tables.sql;
    this.table = tables.lazy([TABLE], SCHEMA);
    this.isLate = (since) => tables.isLate(since);
  }

  any(): boolean {
    return this.table.exists();
  }

  strip(): void {
    this.table.drop();
  }

  /** Whether an answer comes after a deletion. */
  refuses({ since }: Pick<NewAnswer, 'since'>): boolean {
    return this.isLate(since);
  }

  /** The answer of each key; null if it is not kept. */
  find(keys: readonly string[]): (ArrayBuffer | null)[] {
    if (!this.any()) return keys.map(() => null);
    const rows = this.sql
      .exec<{ answer_key: string; sealed: ArrayBuffer }>(
        `SELECT answer_key, sealed FROM ${TABLE} WHERE answer_key IN (SELECT value FROM json_each(?))`,
        JSON.stringify(keys),
      )
      .toArray();
    const byKey = new Map(rows.map(({ answer_key, sealed }) => [answer_key, sealed]));
    return keys.map((key) => byKey.get(key) ?? null);
  }

  /** Keeps an answer, in place of one with its key. The oldest beyond the bounds leave. */
  add({ key, sealed, since }: NewAnswer): void {
    // A deletion may have come while the conversation was reported.
    if (this.isLate(since)) return;
    this.table.make();
    this.sql.exec(`INSERT OR REPLACE INTO ${TABLE} (answer_key, sealed) VALUES (?, ?)`, key, sealed);
    this.sql.exec(
      `DELETE FROM ${TABLE} WHERE kept_id NOT IN (
         SELECT kept_id FROM (
           SELECT kept_id, sum(length(sealed)) OVER (ORDER BY kept_id DESC) AS bytes
           FROM ${TABLE} ORDER BY kept_id DESC LIMIT ${MOST_ANSWERS}
         ) WHERE bytes <= ${MOST_BYTES}
       )`,
    );
  }

  /** Deletes answers that their upstream refuses. */
  forget(keys: readonly string[]): void {
    if (!this.any()) return;
    this.sql.exec(
      `DELETE FROM ${TABLE} WHERE answer_key IN (SELECT value FROM json_each(?))`,
      JSON.stringify(keys),
    );
  }
}
