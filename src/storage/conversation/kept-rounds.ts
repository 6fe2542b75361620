/**
 * The rounds of ours that led to answers of a conversation (docs/design.md#kept-rounds), by the key
 * of each answer. Their messages are in R2; a row has their names and their size. See
 * `storage-schema.md`.
 */
import type { KeptRounds } from '../../memory/replay/kept-rounds.ts';
import { MOST_BYTES, MOST_ROUNDS } from '../../memory/replay/kept-rounds.ts';
import type { LazyTables, Tables } from '../tables.ts';
import type { StoredPart } from './tables.ts';

/**
 * Rows that stay, about the newest ones. One without contents still tells how large earlier views
 * were, from which the frontier follows.
 */
const KEPT_ROWS = 1_000;

const TABLE = 'kept_rounds';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    kept_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_key TEXT NOT NULL UNIQUE,
    names TEXT NOT NULL,
    rounds INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  );
`;

/** The rounds of one answer. */
export interface StoredRounds extends Omit<KeptRounds, 'message'> {
  /** The objects with their messages, one per round; empty if these are not kept any more. */
  readonly names: readonly string[];
}

/** Rounds to be kept. Times are in milliseconds since the epoch. */
export interface NewRounds extends StoredRounds {
  /** When their request came. */
  readonly since: number;
  /** A later call is refused: by then the caller may have sent the answer back. */
  readonly until: number;
}

/** What has become of rounds. */
export interface RoundsVerdict {
  /** Those that are kept of the answer, which may be another request's; null: none. */
  readonly kept: StoredRounds | null;
  /** The objects that no row names any more. */
  readonly gone: readonly string[];
}

type Row = { answer_key: string; names: string; rounds: number; tokens: number; bytes: number };

export class KeptRoundsRows implements StoredPart {
  private readonly sql: SqlStorage;
  private readonly table: LazyTables;
  private readonly now: () => number;
  /** When all were deleted. Known while the object lives. */
  private strippedAt = 0;

  /** @param now milliseconds since the epoch */
  constructor(tables: Tables, now: () => number) {
    this.sql = tables.sql;
    this.table = tables.lazy([TABLE], SCHEMA);
    this.now = now;
  }

  any(): boolean {
    return this.table.exists();
  }

  strip(): void {
    this.strippedAt = this.now();
    this.table.drop();
  }

  /** Whether rounds come too late, or after a deletion. */
  refuses({ since, until }: NewRounds): boolean {
    return this.now() > until || since <= this.strippedAt;
  }

  /** Those of each key; null if there are none. */
  find(keys: readonly string[]): (StoredRounds | null)[] {
    if (!this.any()) return keys.map(() => null);
    const rows = this.sql
      .exec<Row>(
        `SELECT answer_key, names, rounds, tokens, bytes FROM ${TABLE}
         WHERE answer_key IN (SELECT value FROM json_each(?))`,
        JSON.stringify(keys),
      )
      .toArray();
    const byKey = new Map(rows.map((row) => [row.answer_key, storedOf(row)]));
    return keys.map((key) => byKey.get(key) ?? null);
  }

  /** Keeps rounds, unless there are some of the same answer. A repeated call changes nothing. */
  add(rounds: NewRounds): RoundsVerdict {
    const { key, names, tokens, bytes } = rounds;
    // A deletion may have come while the conversation was reported.
    if (this.refuses(rounds)) return { kept: null, gone: names };
    this.table.make();
    this.sql.exec(
      `INSERT OR IGNORE INTO ${TABLE} (answer_key, names, rounds, tokens, bytes) VALUES (?, ?, ?, ?, ?)`,
      key,
      JSON.stringify(names),
      rounds.rounds,
      tokens,
      bytes,
    );
    const [kept = null] = this.find([key]);
    const isOurs = kept?.names.join() === names.join();
    return { kept, gone: [...(isOurs ? [] : names), ...this.evict()] };
  }

  /** Forgets the contents of the oldest rounds beyond the bounds. @returns their objects */
  private evict(): string[] {
    let rounds = 0;
    let bytes = 0;
    const gone: string[] = [];
    const rows = this.sql.exec<Row & { kept_id: number }>(
      `SELECT kept_id, names, rounds, bytes FROM ${TABLE} WHERE names != '[]' ORDER BY kept_id DESC`,
    );
    for (const row of rows.toArray()) {
      rounds += row.rounds;
      bytes += row.bytes;
      if (rounds <= MOST_ROUNDS && bytes <= MOST_BYTES) continue;
      gone.push(...(JSON.parse(row.names) as string[]));
      this.sql.exec(`UPDATE ${TABLE} SET names = '[]' WHERE kept_id = ?`, row.kept_id);
    }
    this.sql.exec(`DELETE FROM ${TABLE} WHERE kept_id <= (SELECT max(kept_id) FROM ${TABLE}) - ${KEPT_ROWS}`);
    return gone;
  }
}

function storedOf({ answer_key: key, names, rounds, tokens, bytes }: Row): StoredRounds {
  return { key, names: JSON.parse(names) as string[], rounds, tokens, bytes };
}
