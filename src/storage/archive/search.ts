/**
 * The search of one conversation's archive, in the SQLite of its Durable Object: first the ids of
 * the messages, best first, then what is shown of some of them.
 */

import { excerptOf } from './excerpt.ts';
import { type ArchivedRow, type ArchivePage, COLUMNS, cut, type PageLimits, type Row } from './rows.ts';
import { MARK, matchAll } from './text.ts';

/** Where a page of search results begins. */
export interface SearchPlace {
  /** The newest message at the time of the first page. Newer ones would shift the results. */
  readonly upTo: number;
  /** Number of results on earlier pages. */
  readonly after: number;
}

/** A search result from the index alone. */
export interface ArchiveHit {
  readonly position: number;
  readonly role: string;
  /** See `excerptOf`. */
  readonly excerpt: string;
}

/**
 * Tokens of a snippet (FTS5 allows 64), and its characters, since a token may be a page of base64.
 */
const SNIPPET_TOKENS = 32;
const LONGEST_SNIPPET = 1_000;

/** Tokens of the passage that an excerpt is made around: the maximum of FTS5. */
const FOUND_TOKENS = 64;

/** The messages that a search may find. */
interface Scope {
  readonly upTo: number;
  /** Keys of the messages, one parameter of one query; null for all. */
  readonly keys: readonly string[] | null;
}

/** The ids of a search: `from` of them are left out, and then at most `limit` are named. */
interface Range {
  readonly from: number;
  readonly limit: number;
}

export class ArchiveSearch {
  private readonly sql: SqlStorage;
  private readonly exists: () => boolean;

  /** @param exists whether anything was ever archived */
  constructor(sql: SqlStorage, exists: () => boolean) {
    this.sql = sql;
    this.exists = exists;
  }

  /**
   * Messages with all of these words, best first (bm25), ties oldest first.
   *
   * @param place null for the first page
   */
  page(words: string, place: SearchPlace | null, limits: PageLimits): ArchivePage<SearchPlace> {
    if (!this.exists()) return { rows: [], next: null };
    const { upTo, after } = place ?? { upTo: this.newest(), after: 0 };
    const match = matchOf(words);
    const ids = this.ranked(match, { upTo, keys: null }, { from: after, limit: limits.rows + 1 });
    const found = this.rows(ids, match);
    const rows = cut(found, limits);
    return { rows, next: rows.length < found.length ? { upTo, after: after + rows.length } : null };
  }

  /**
   * Messages in the same order, with excerpts and without their packs.
   *
   * @param keys of the messages to search; null for all
   */
  hits(words: string, limit: number, keys: readonly string[] | null): ArchiveHit[] {
    if (!this.exists()) return [];
    const match = matchOf(words);
    const ids = this.ranked(match, { upTo: this.newest(), keys }, { from: 0, limit });
    // Texts may be long, so only those of the best matches are read.
    return this.sql
      .exec<{ position: number; role: string; text: string; found: string }>(
        `SELECT m.position, m.role, archive_text.text, snippet(archive_text, 0, ?, '', '', ${FOUND_TOKENS}) AS found
         FROM json_each(?) k CROSS JOIN archive_messages m ON m.archived_id = k.value
         CROSS JOIN archive_text ON archive_text.rowid = m.archived_id
         WHERE archive_text MATCH ? ORDER BY k.key`,
        MARK,
        JSON.stringify(ids),
        match,
      )
      .toArray()
      .map(({ position, role, text, found }) => ({ position, role, excerpt: excerptOf(text, found) }));
  }

  private ranked(match: string, { upTo, keys }: Scope, { from, limit }: Range): number[] {
    const among =
      keys === null
        ? ''
        : 'AND rowid IN (SELECT m.archived_id FROM json_each(?) k CROSS JOIN archive_messages m ON m.message_key = k.value)';
    return this.sql
      .exec<{ archived_id: number }>(
        `SELECT rowid AS archived_id FROM archive_text
         WHERE archive_text MATCH ? AND rowid <= ? ${among} ORDER BY rank, rowid LIMIT ? OFFSET ?`,
        match,
        upTo,
        ...(keys === null ? [] : [JSON.stringify(keys)]),
        limit,
        from,
      )
      .toArray()
      .map(({ archived_id }) => archived_id);
  }

  private rows(ids: readonly number[], match: string): ArchivedRow[] {
    return this.sql
      .exec<Row>(
        `SELECT ${COLUMNS}, substr(snippet(archive_text, 0, '', '', '…', ${SNIPPET_TOKENS}), 1, ${LONGEST_SNIPPET}) AS snippet
         FROM json_each(?) k CROSS JOIN archive_messages m ON m.archived_id = k.value
         CROSS JOIN archive_text ON archive_text.rowid = m.archived_id
         WHERE archive_text MATCH ? ORDER BY k.key`,
        JSON.stringify(ids),
        match,
      )
      .toArray();
  }

  private newest(): number {
    return this.sql
      .exec<{ newest: number }>('SELECT coalesce(max(archived_id), 0) AS newest FROM archive_messages')
      .one().newest;
  }
}

/** Without any word, an empty phrase, which matches nothing. */
function matchOf(words: string): string {
  return matchAll(words) ?? '""';
}
