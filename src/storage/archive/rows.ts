/**
 * The index of one conversation's archive, in the SQLite of its Durable Object: which messages are
 * kept, where they lie in R2, and what can be searched of them.
 *
 * Rows are added in the order of the array and never moved, so whoever knows a message knows all
 * before it (see `ArchiveKey.chained`). The tables have a generation, which the names of their
 * packs end with. When they are deleted and made again they have another one: a writer that comes
 * late is refused, and its packs are nobody else's.
 */

import type { MemoryTables } from '../conversation/tables.ts';
import { excerptOf } from './excerpt.ts';
import { MARK } from './text.ts';

/** A message that is to be added. */
export interface ArchiveRow {
  readonly key: string;
  /** Its index in the array that it came with. */
  readonly position: number;
  /** As the message says it; empty when it says none. */
  readonly role: string;
  /** One that was noted. */
  readonly pack: string;
  /** Where it lies in the pack, in bytes. */
  readonly start: number;
  readonly bytes: number;
  /**
   * Of a message that was made from an answer: the digest of its bytes. Null: it came in an array.
   */
  readonly answerDigest: string | null;
  /** See `searchable`; null: it is not searched. */
  readonly text: string | null;
}

/** A message that is not there as it came. */
export interface Lacking {
  /** Of its key, among those that were asked for. */
  readonly index: number;
  /** See `ArchiveRow`; null where the message is not there at all. */
  readonly answerDigest: string | null;
}

/** Packs that may be written. */
export interface NotedPacks {
  /** To be shown when their messages are added. */
  readonly generation: string;
  /** The packs' names, in the order in which they were noted. */
  readonly names: readonly string[];
}

/** A message of the archive. */
export interface ArchivedRow {
  /** Ascending in the order in which messages were archived. */
  readonly archived_id: number;
  readonly position: number;
  readonly pack: string;
  readonly start: number;
  readonly bytes: number;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Of what a search has found: the words around. */
  readonly snippet: string | null;
}

export interface ArchivePage<Next> {
  readonly rows: readonly ArchivedRow[];
  /** What the next page is asked for with; null when there is none. */
  readonly next: Next | null;
}

/** Where a page of what was found begins. */
export interface SearchPlace {
  /**
   * The newest message of the archive when the first page was made: newer ones would move the
   * others.
   */
  readonly upTo: number;
  /** How many messages the pages before have had. */
  readonly after: number;
}

/** A message that a search has found, by the index alone. */
export interface ArchiveHit {
  readonly position: number;
  readonly role: string;
  /** See `excerptOf`. */
  readonly excerpt: string;
}

/** A page ends at whichever is met first; it has one message at least. */
export interface PageLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Tokens of a snippet (FTS5 allows 64), and its characters: a token may be a page of base64. */
const SNIPPET_TOKENS = 32;
const LONGEST_SNIPPET = 1_000;

/** Tokens of the part of a text that an excerpt is made around: as many as there may be. */
const FOUND_TOKENS = 64;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS archive_generation (generation TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS archive_messages (
    archived_id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_key TEXT NOT NULL UNIQUE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    pack TEXT NOT NULL,
    start INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    answer_digest TEXT,
    created INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS archive_packs (pack TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE VIRTUAL TABLE IF NOT EXISTS archive_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
`;

const COLUMNS = 'm.archived_id, m.position, m.pack, m.start, m.bytes, m.created';

/** `ArchivedRow` as a type of its own, since an interface is no row. */
type Row = Pick<ArchivedRow, keyof ArchivedRow>;

export class ArchiveRows {
  private readonly sql: SqlStorage;
  private readonly tables: MemoryTables;
  private readonly atOnce: (work: () => void) => void;
  private known: boolean | undefined;

  /** @param atOnce does work that is undone when it throws */
  constructor(tables: MemoryTables, atOnce: (work: () => void) => void) {
    this.sql = tables.sql;
    this.tables = tables;
    this.atOnce = atOnce;
  }

  /** Whether anything was ever archived. */
  exists(): boolean {
    this.known ??=
      this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'archive_messages'").toArray().length > 0;
    return this.known;
  }

  /**
   * Which of these messages are not there, or only as they were made from answers. All keys go in
   * one query, as one parameter.
   */
  lacking(keys: readonly string[]): Lacking[] {
    if (!this.exists()) return keys.map((_, index) => ({ index, answerDigest: null }));
    return this.sql
      .exec<{ index: number; answerDigest: string | null }>(
        `SELECT k.key AS "index", m.answer_digest AS answerDigest
         FROM json_each(?) k LEFT JOIN archive_messages m ON m.message_key = k.value
         WHERE m.message_key IS NULL OR m.answer_digest IS NOT NULL ORDER BY k.key`,
        JSON.stringify(keys),
      )
      .toArray();
  }

  /**
   * Remembers that packs are about to be written, so that they go with the conversation.
   *
   * @param after the key of the message behind which they stand; null: at the array's beginning
   * @param packs the beginnings of their names
   * @returns null when that message is not there any more: then nothing is noted, and nothing
   *   should be written
   */
  notePacks(after: string | null, packs: readonly string[]): NotedPacks | null {
    if (after !== null && !this.has(after)) return null;
    const generation = this.generation() ?? this.make();
    const names = packs.map((pack) => `${pack}_${generation}`);
    for (const name of names) this.sql.exec('INSERT OR IGNORE INTO archive_packs (pack) VALUES (?)', name);
    return { generation, names };
  }

  /**
   * Adds messages whose packs are written, all of them or none. One that is there already stays,
   * unless it was made from an answer and comes as it is now.
   *
   * @param generation see `NotedPacks`
   * @param now seconds since the epoch
   * @returns false when the packs are not noted any more: then nothing is added, and what was
   *   written should go
   */
  add(generation: string, rows: readonly ArchiveRow[], now: number): boolean {
    if (generation !== this.generation()) return false;
    this.atOnce(() => {
      for (const row of rows) this.addOne(row, now);
    });
    return true;
  }

  /**
   * Messages in the order in which they were archived.
   *
   * @param after the id of the last one of the page before, else 0
   */
  page(after: number, limits: PageLimits): ArchivePage<number> {
    if (!this.exists()) return { rows: [], next: null };
    const found = this.sql
      .exec<Row>(
        `SELECT ${COLUMNS}, NULL AS snippet FROM archive_messages m
         WHERE m.archived_id > ? ORDER BY m.archived_id LIMIT ?`,
        after,
        limits.rows + 1,
      )
      .toArray();
    const rows = cut(found, limits);
    return { rows, next: rows.length < found.length ? (rows.at(-1)?.archived_id ?? after) : null };
  }

  /**
   * Messages that match, the best first (bm25), of equal ones the oldest.
   *
   * @param match see `matchAll`
   * @param place null: the first page
   */
  search(match: string, place: SearchPlace | null, limits: PageLimits): ArchivePage<SearchPlace> {
    if (!this.exists()) return { rows: [], next: null };
    const { upTo, after } = place ?? { upTo: this.newest(), after: 0 };
    const found = this.sql
      .exec<Row>(
        `SELECT ${COLUMNS}, substr(snippet(archive_text, 0, '', '', '…', ${SNIPPET_TOKENS}), 1, ${LONGEST_SNIPPET}) AS snippet
         FROM archive_text JOIN archive_messages m ON m.archived_id = archive_text.rowid
         WHERE archive_text MATCH ? AND archive_text.rowid <= ?
         ORDER BY archive_text.rank, m.archived_id LIMIT ? OFFSET ?`,
        match,
        upTo,
        limits.rows + 1,
        after,
      )
      .toArray();
    const rows = cut(found, limits);
    return { rows, next: rows.length < found.length ? { upTo, after: after + rows.length } : null };
  }

  /**
   * Messages that match, in the same order, without a look at their packs.
   *
   * @param keys of the messages that may be found, in one query, as one parameter; null: all
   */
  hits(match: string, limit: number, keys: readonly string[] | null): ArchiveHit[] {
    if (!this.exists()) return [];
    const among =
      keys === null
        ? ''
        : 'AND rowid IN (SELECT m.archived_id FROM json_each(?) k CROSS JOIN archive_messages m ON m.message_key = k.value)';
    // Texts may be long: those that are not among the best are not read.
    return this.sql
      .exec<{ position: number; role: string; text: string; found: string }>(
        `WITH best AS MATERIALIZED (
           SELECT rowid AS archived_id, rank AS score FROM archive_text
           WHERE archive_text MATCH ? ${among} ORDER BY rank, rowid LIMIT ?
         )
         SELECT m.position, m.role, archive_text.text, snippet(archive_text, 0, ?, '', '', ${FOUND_TOKENS}) AS found
         FROM best CROSS JOIN archive_messages m USING (archived_id) CROSS JOIN archive_text ON archive_text.rowid = archived_id
         WHERE archive_text MATCH ? ORDER BY score, archived_id`,
        match,
        ...(keys === null ? [] : [JSON.stringify(keys)]),
        limit,
        MARK,
        match,
      )
      .toArray()
      .map(({ position, role, text, found }) => ({ position, role, excerpt: excerptOf(text, found) }));
  }

  /**
   * Deletes everything but the names of the packs, which are still in R2 (see `forgetPacks`). To be
   * called when the conversation has tables.
   *
   * @returns these names, those that an earlier deletion has left included
   */
  leave(): string[] {
    this.sql.exec('CREATE TABLE IF NOT EXISTS archive_leaving (pack TEXT PRIMARY KEY) WITHOUT ROWID');
    if (this.exists()) {
      this.sql.exec('INSERT OR IGNORE INTO archive_leaving SELECT pack FROM archive_packs');
      for (const table of ['archive_generation', 'archive_messages', 'archive_packs', 'archive_text'])
        this.sql.exec(`DROP TABLE ${table}`);
      this.known = false;
    }
    return this.leaving();
  }

  /** Forgets packs that were left and are gone from R2. @returns whether anything is left */
  forgetPacks(packs: readonly string[]): boolean {
    this.sql.exec(
      'DELETE FROM archive_leaving WHERE pack IN (SELECT value FROM json_each(?))',
      JSON.stringify(packs),
    );
    return this.holds();
  }

  /** Whether there is an archive, or a name of a pack that a deletion has left in R2. */
  holds(): boolean {
    return this.exists() || this.leaving().length > 0;
  }

  /** To be called when the tables were deleted from outside. */
  forgetTables(): void {
    this.known = undefined;
  }

  private leaving(): string[] {
    const table = this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'archive_leaving'").toArray();
    if (table.length === 0) return [];
    return this.sql
      .exec<{ pack: string }>('SELECT pack FROM archive_leaving')
      .toArray()
      .map(({ pack }) => pack);
  }

  private addOne(row: ArchiveRow, now: number): void {
    const [added] = this.sql
      .exec<{ archived_id: number }>(
        `INSERT INTO archive_messages (message_key, position, role, pack, start, bytes, answer_digest, created)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (message_key) DO UPDATE SET
           role = excluded.role, pack = excluded.pack, start = excluded.start, bytes = excluded.bytes, answer_digest = NULL
         WHERE archive_messages.answer_digest IS NOT NULL AND excluded.answer_digest IS NULL
         RETURNING archived_id`,
        row.key,
        row.position,
        row.role,
        row.pack,
        row.start,
        row.bytes,
        row.answerDigest,
        now,
      )
      .toArray();
    if (!added || row.text === null) return;
    this.sql.exec('DELETE FROM archive_text WHERE rowid = ?', added.archived_id);
    this.sql.exec('INSERT INTO archive_text (rowid, text) VALUES (?, ?)', added.archived_id, row.text);
  }

  private has(key: string): boolean {
    if (!this.exists()) return false;
    return this.sql.exec('SELECT 1 FROM archive_messages WHERE message_key = ?', key).toArray().length > 0;
  }

  private newest(): number {
    return this.sql
      .exec<{ newest: number }>('SELECT coalesce(max(archived_id), 0) AS newest FROM archive_messages')
      .one().newest;
  }

  private generation(): string | undefined {
    if (!this.exists()) return undefined;
    return this.sql.exec<{ generation: string }>('SELECT generation FROM archive_generation').one()
      .generation;
  }

  /**
   * The conversation's own tables too: by them it is known that something is kept.
   *
   * @returns their generation
   */
  private make(): string {
    const generation = crypto.randomUUID();
    this.tables.make();
    this.atOnce(() => {
      this.sql.exec(SCHEMA);
      this.sql.exec('INSERT INTO archive_generation (generation) VALUES (?)', generation);
    });
    this.known = true;
    return generation;
  }
}

function cut(found: readonly Row[], limits: PageLimits): readonly Row[] {
  let bytes = 0;
  const rows: Row[] = [];
  for (const row of found.slice(0, limits.rows)) {
    bytes += row.bytes;
    if (rows.length > 0 && bytes > limits.bytes) break;
    rows.push(row);
  }
  return rows;
}
