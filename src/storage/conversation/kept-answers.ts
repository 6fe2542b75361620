/**
 * The outputs of answers that came over a bridge (docs/bridges.md#what-is-kept), by the key of each
 * answer. They are sealed by the Worker; a row has the size of their reasoning. See
 * `storage-schema.md`.
 *
 * An output that leaves, beyond the bounds or because an upstream refuses it, leaves its row: views
 * are planned as before, and the answers that were made together with it are known.
 */
import { AMONG, insertInto, type LazyTables } from '../tables.ts';
import type { ConversationTables } from './tables.ts';

/** The most outputs that are kept of a conversation, and their bytes. */
export const MOST_ANSWERS = 512;
const MOST_BYTES = 16 * 1024 * 1024;

/** What stays of each bound where one is exceeded: more would make each further answer a change. */
const KEPT_SHARE = 0.5;

/** Of one. SQLite limits a row to 2 MB, and a backup reads many rows at once. */
export const LONGEST_KEPT = 256 * 1024;

/** Rows that stay, about the newest answers. */
export const KEPT_ROWS = 1_000;

const TABLE = 'kept_answers';

/** Without `sealed` last, SQLite would read each output for the columns that follow it. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    kept_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_key TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    gone_with INTEGER,
    sealed BLOB
  );
`;

/** The output of an answer, as its row says it. */
export interface StoredAnswer {
  /** Ascends with the time at which they were kept. */
  readonly id: number;
  /** Bytes of what is sealed. */
  readonly size: number;
  /** Of its reasoning: see `KeptReasoning`. */
  readonly tokens: number;
  readonly bytes: number;
  readonly blocks: number;
  /** The id of the newest answer when the output left, or `NEVER_KEPT`; null while it is there. */
  readonly goneWith: number | null;
}

/** An answer to be kept. Times are in milliseconds since the epoch. */
export interface NewAnswer extends Omit<StoredAnswer, 'id' | 'size' | 'goneWith'> {
  readonly key: string;
  /** Null if it is too long, or comes too late. */
  readonly sealed: ArrayBuffer | null;
  /** When its request came. */
  readonly since: number;
  /** A later call keeps nothing: by then the caller may have sent the answer back. */
  readonly until: number;
}

/** An answer, and the size of its reasoning. */
export interface AnswerToKeep extends Pick<NewAnswer, 'tokens' | 'bytes' | 'blocks'> {
  /** What is sealed. */
  readonly text: string;
}

/** The `goneWith` of an answer that was never sent again: none was made together with it. */
export const NEVER_KEPT = 0;

export interface AnswerVerdict {
  /** What is kept of it; null: nothing. */
  readonly kept: StoredAnswer | null;
  /** Whether another request has kept an answer of the same key before. */
  readonly isOthers: boolean;
}

const COLUMNS = 'kept_id AS id, size, tokens, bytes, blocks, gone_with AS goneWith';

/** What there is of an answer that is not kept. */
export const NOTHING = { sealed: null, tokens: 0, bytes: 0, blocks: 0 } as const;

export class KeptAnswerRows {
  readonly table: LazyTables;

  constructor(tables: ConversationTables) {
    this.table = tables.lazy(SCHEMA, { oldest: 'gone_with' });
  }

  /** The row of each key; null if there is none. */
  find(keys: readonly string[]): (StoredAnswer | null)[] {
    return this.table.ofKeys<StoredAnswer>(keys, 'answer_key', COLUMNS);
  }

  /** The output of each key, sealed; null if it is not there. */
  read(keys: readonly string[]): (ArrayBuffer | null)[] {
    const rows = this.table.ofKeys<{ sealed: ArrayBuffer | null }>(keys, 'answer_key', 'sealed');
    return rows.map((row) => row?.sealed ?? null);
  }

  /**
   * Keeps an answer, unless there is one of its key. Those beyond the bounds leave. Of one that
   * comes too late there is a row alone, by which each isolate knows that it is not kept.
   */
  add(answer: NewAnswer): AnswerVerdict {
    // Looked for before, since a row that is there already would be a write, too.
    const [others = null] = this.find([answer.key]);
    if (others) return { kept: others, isOthers: true };
    const isLate = this.table.now() > answer.until;
    const { key, sealed, tokens, bytes, blocks } = isLate ? { ...answer, ...NOTHING } : answer;
    const size = { size: sealed?.byteLength ?? 0, tokens, bytes, blocks };
    const goneWith = sealed ? null : NEVER_KEPT;
    const row = { answer_key: key, ...size, gone_with: goneWith, sealed };
    this.table.make();
    const inserting = `${insertInto(TABLE, Object.keys(row))} RETURNING kept_id AS id`;
    const made = this.table.one<{ id: number }>(inserting, ...Object.values(row));
    // Fewer are within all bounds.
    if (made.id * LONGEST_KEPT >= MOST_BYTES) this.evict();
    return { kept: { ...made, ...size, goneWith }, isOthers: false };
  }

  /** Has outputs leave that their upstream refuses. Returns the rows as `find` does. */
  forget(keys: readonly string[]): (StoredAnswer | null)[] {
    this.leave(`answer_key ${AMONG}`, keys);
    return this.find(keys);
  }

  /** Has the oldest outputs beyond the bounds leave. */
  private evict(): void {
    const all = this.table.first<{ answers: number; bytes: number | null }>(
      `SELECT count(*) AS answers, sum(size) AS bytes FROM ${TABLE} WHERE sealed IS NOT NULL`,
    );
    if (all && (all.answers > MOST_ANSWERS || (all.bytes ?? 0) > MOST_BYTES))
      this.leave(
        `kept_id NOT IN (
           SELECT kept_id FROM (
             SELECT kept_id, sum(size) OVER (ORDER BY kept_id DESC) AS bytes
             FROM ${TABLE} WHERE sealed IS NOT NULL ORDER BY kept_id DESC LIMIT ${MOST_ANSWERS * KEPT_SHARE}
           ) WHERE bytes <= ?
         )`,
        MOST_BYTES * KEPT_SHARE,
      );
    this.table.keepNewest(KEPT_ROWS, 'kept_id');
  }

  private leave(condition: string, value: number | readonly string[]): void {
    this.table.change(
      `UPDATE ${TABLE} SET sealed = NULL, gone_with = (SELECT max(kept_id) FROM ${TABLE})
       WHERE gone_with IS NULL AND ${condition}`,
      value,
    );
  }
}
