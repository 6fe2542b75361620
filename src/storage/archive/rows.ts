/**
 * The index of one conversation's archive, in the SQLite of its Durable Object: its messages, their
 * places in R2, and their searchable text (see `ArchiveSearch`).
 *
 * Rows are added in the array's order and never moved, so if a message is indexed, so are all
 * before it (see `ArchiveKey.chained`). The tables have a random generation, which pack names end
 * with. Tables made again after a deletion get a new one, so a late writer is refused, and its
 * packs belong to nobody else.
 */

import { AMONG, insertInto, type LazyTables, type MemoryTables, type StoredPart } from '../tables.ts';
import { VectorRows } from './vector-rows.ts';

export interface ArchiveRow {
  readonly key: string;
  /** Its index in the array that it came with. */
  readonly position: number;
  /** The role in the message; empty without one. */
  readonly role: string;
  /** A pack noted by `notePacks`. */
  readonly pack: string;
  /** Offset in the pack, in bytes. */
  readonly start: number;
  readonly bytes: number;
  /** For a message made from an answer, the digest of its bytes. Null: it came in an array. */
  readonly answerDigest: string | null;
  /** See `searchable`; null if it is not searched. */
  readonly text: string | null;
}

/** A message that the index lacks, at least in its final form. */
export interface Lacking {
  /** Index of its key in the request. */
  readonly index: number;
  /** See `ArchiveRow`; null if the message is missing. */
  readonly answerDigest: string | null;
}

/** Packs that may be written. */
export interface NotedPacks {
  /** To be passed to `add`. */
  readonly generation: string;
  /** The packs' names, in the order of the request. */
  readonly names: readonly string[];
}

export interface ArchivedRow {
  /** Ascending in the order of archiving. */
  readonly archived_id: number;
  readonly position: number;
  readonly pack: string;
  readonly start: number;
  readonly bytes: number;
  /** Seconds since the epoch. */
  readonly created: number;
  /** In a search result, the text around the words. */
  readonly snippet: string | null;
}

export interface ArchivePage<Next> {
  readonly rows: readonly ArchivedRow[];
  /** Cursor of the next page; null on the last one. */
  readonly next: Next | null;
}

export interface ArchivedText {
  readonly text: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

/** A page ends at the first limit, but has at least one message. */
export interface PageLimits {
  readonly rows: number;
  readonly bytes: number;
}

const SCHEMA = `
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
  CREATE TABLE IF NOT EXISTS archive_generation (generation TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS archive_packs (pack TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE VIRTUAL TABLE IF NOT EXISTS archive_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
`;

const LEAVING = 'CREATE TABLE IF NOT EXISTS archive_leaving (pack TEXT PRIMARY KEY) WITHOUT ROWID';

/** Of `archive_messages m`. */
export const COLUMNS = 'm.archived_id, m.position, m.pack, m.start, m.bytes, m.created';

export class ArchiveRows implements StoredPart {
  readonly vectors: VectorRows;
  private readonly tables: MemoryTables;
  readonly own: LazyTables;
  private readonly left: LazyTables;

  constructor(tables: MemoryTables) {
    this.tables = tables;
    this.own = tables.lazyOfMemory(SCHEMA);
    this.left = tables.lazyOfMemory(LEAVING);
    this.vectors = new VectorRows(tables, () => this.exists());
  }

  /** Whether anything was ever archived. */
  exists(): boolean {
    return this.own.exists();
  }

  /**
   * The messages that are missing, or only known from answers. All keys are one parameter of one
   * query.
   */
  lacking(keys: readonly string[]): Lacking[] {
    if (!this.exists()) return keys.map((_, index) => ({ index, answerDigest: null }));
    return this.own.all(
      `SELECT k.key AS "index", m.answer_digest AS answerDigest
       FROM json_each(?) k LEFT JOIN archive_messages m ON m.message_key = k.value
       WHERE m.message_key IS NULL OR m.answer_digest IS NOT NULL ORDER BY k.key`,
      keys,
    );
  }

  /** When each message was archived, in seconds since the epoch; null if it was not. */
  archivedAt(keys: readonly string[]): (number | null)[] {
    if (!this.exists()) return keys.map(() => null);
    return this.own.column(
      `SELECT m.created FROM json_each(?) k LEFT JOIN archive_messages m ON m.message_key = k.value
       ORDER BY k.key`,
      keys,
    );
  }

  count(): number {
    return this.own.value<number>('SELECT count(*) FROM archive_messages') ?? 0;
  }

  /** The searchable texts of the newest messages, newest first. */
  texts(most: number): ArchivedText[] {
    return this.own.all(
      `SELECT archive_text.text, m.created FROM archive_messages m
       CROSS JOIN archive_text ON archive_text.rowid = m.archived_id ORDER BY m.archived_id DESC LIMIT ?`,
      most,
    );
  }

  /** Names of packs, in order. @param pack the one before, or empty */
  packsAfter(pack: string, most: number): string[] {
    return this.own.column('SELECT pack FROM archive_packs WHERE pack > ? ORDER BY pack LIMIT ?', pack, most);
  }

  /**
   * Notes packs that are about to be written, so that they are deleted with the conversation.
   *
   * @param after the key of the message before them; null at the array's beginning
   * @param packs the beginnings of their names
   * @returns null if that message no longer exists; nothing is noted then, and nothing should be
   *   written
   */
  notePacks(after: string | null, packs: readonly string[]): NotedPacks | null {
    if (after !== null && !this.has(after)) return null;
    const generation = this.generation() ?? this.make();
    const names = packs.map((pack) => `${pack}_${generation}`);
    for (const name of names) this.own.write('INSERT OR IGNORE INTO archive_packs (pack) VALUES (?)', name);
    return { generation, names };
  }

  /**
   * Adds messages of written packs, all or none. An existing message stays, unless it was made from
   * an answer and now comes in an array.
   *
   * @param generation see `NotedPacks`
   * @returns false if the packs are no longer noted; nothing is added then, and the packs should be
   *   deleted
   */
  add(generation: string, rows: readonly ArchiveRow[]): boolean {
    if (generation !== this.generation()) return false;
    this.tables.atOnce(() => {
      for (const row of rows) this.addOne(row);
    });
    return true;
  }

  /**
   * Messages in the order of archiving; null without a memory.
   *
   * @param after the id of the last one on the page before, or 0
   */
  page(after: number, limits: PageLimits): ArchivePage<number> | null {
    if (!this.tables.exists()) return null;
    const found = this.own.all<ArchivedRow>(
      `SELECT ${COLUMNS}, NULL AS snippet FROM archive_messages m
       WHERE m.archived_id > ? ORDER BY m.archived_id LIMIT ?`,
      after,
      limits.rows + 1,
    );
    const rows = cut(found, limits);
    return { rows, next: rows.length < found.length ? (rows.at(-1)?.archived_id ?? after) : null };
  }

  /** Whether there is an archive, or a pack whose deletion is unfinished. */
  any(): boolean {
    return this.exists() || this.leaving().length > 0;
  }

  /** Deletes everything but the names of the packs, which are still in R2 (see `forgetPacks`). */
  strip(): void {
    if (!this.exists()) return;
    this.left.write('INSERT OR IGNORE INTO archive_leaving SELECT pack FROM archive_packs');
    this.own.drop();
    this.vectors.table.drop();
  }

  /** Forgets packs that are deleted from R2. */
  forgetPacks(packs: readonly string[]): void {
    this.left.change(`DELETE FROM archive_leaving WHERE pack ${AMONG}`, packs);
  }

  /** The packs of deleted archives that may still be in R2. */
  leaving(): string[] {
    return this.left.column('SELECT pack FROM archive_leaving');
  }

  private addOne(added: ArchiveRow): void {
    const { key, position, role, pack, start, bytes, answerDigest: answer_digest, text } = added;
    const created = Math.floor(this.own.now() / 1000);
    const row = { message_key: key, position, role, pack, start, bytes, answer_digest, created };
    const id = this.own.value<number>(
      `${insertInto('archive_messages', Object.keys(row))}
       ON CONFLICT (message_key) DO UPDATE SET
         role = excluded.role, pack = excluded.pack, start = excluded.start, bytes = excluded.bytes, answer_digest = NULL
       WHERE archive_messages.answer_digest IS NOT NULL AND excluded.answer_digest IS NULL
       RETURNING archived_id`,
      ...Object.values(row),
    );
    if (id === undefined || text === null) return;
    if (this.vectors.table.exists() && this.hasOtherText(id, text)) this.vectors.changed(id);
    this.own.change('DELETE FROM archive_text WHERE rowid = ?', id);
    this.own.insert({ rowid: id, text }, undefined, 'archive_text');
  }

  private hasOtherText(archivedId: number, text: string): boolean {
    return this.own.has('SELECT 1 FROM archive_text WHERE rowid = ? AND text <> ?', archivedId, text);
  }

  private has(key: string): boolean {
    return this.own.has('SELECT 1 FROM archive_messages WHERE message_key = ?', key);
  }

  private generation(): string | undefined {
    return this.own.value('SELECT generation FROM archive_generation');
  }

  /** Makes the archive's tables. @returns the generation */
  private make(): string {
    const generation = crypto.randomUUID();
    this.tables.atOnce(() => this.own.insert({ generation }, undefined, 'archive_generation'));
    return generation;
  }
}

function cut(found: readonly ArchivedRow[], limits: PageLimits): readonly ArchivedRow[] {
  let bytes = 0;
  const rows: ArchivedRow[] = [];
  for (const row of found.slice(0, limits.rows)) {
    bytes += row.bytes;
    if (rows.length > 0 && bytes > limits.bytes) break;
    rows.push(row);
  }
  return rows;
}
