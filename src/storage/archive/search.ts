/**
 * The search of one conversation's archive, in the SQLite of its Durable Object: first the ids of
 * the messages, best first, then what is shown of some of them.
 */

import { shortened } from '../../lib/characters.ts';
import type { Near } from './embedding.ts';
import { excerptOf } from './excerpt.ts';
import { fuseRanks } from './fusion.ts';
import {
  type ArchivedRow,
  type ArchivePage,
  type ArchiveRows,
  COLUMNS,
  cut,
  type PageLimits,
  type Row,
} from './rows.ts';
import { MARK, matchAll, readable } from './text.ts';
import { AMONG_KEYS, type SearchScope } from './vector-rows.ts';

/** Where a page of search results begins. */
export interface SearchPlace {
  /** The newest message at the time of the first page. Newer ones would shift the results. */
  readonly upTo: number;
  /** Number of results on earlier pages. */
  readonly after: number;
  /** Whether earlier pages were made by words and by meaning. */
  readonly byMeaning: boolean;
}

/** A page of search results. */
export interface SearchPage extends ArchivePage<SearchPlace> {
  readonly meaning: Near['meaning'];
}

/** A search result from the index alone. */
export interface ArchiveHit {
  readonly position: number;
  readonly role: string;
  /** See `excerptOf`. */
  readonly excerpt: string;
}

/** Search results from the index alone. */
export interface ArchiveHits {
  readonly hits: readonly ArchiveHit[];
  readonly meaning: Near['meaning'];
}

/**
 * Tokens of a snippet (FTS5 allows 64), and its characters, since a token may be a page of base64.
 */
const SNIPPET_TOKENS = 32;
const LONGEST_SNIPPET = 1_000;

/** Characters of the beginning that is shown of a message without the words. */
const LONGEST_BEGINNING = 200;

/** Tokens of the passage that an excerpt is made around: the maximum of FTS5. */
const FOUND_TOKENS = 64;

/** How many messages of a similar meaning are joined to those with the words. */
const MOST_SIMILAR = 50;

/** Above the number of messages of any archive. */
const ALL = Number.MAX_SAFE_INTEGER;

/** The ids of a search: `from` of them are left out, and then at most `limit` are named. */
interface Range {
  readonly from: number;
  readonly limit: number;
}

export class ArchiveSearch {
  private readonly sql: SqlStorage;
  private readonly archive: Pick<ArchiveRows, 'exists' | 'vectors'>;

  constructor(sql: SqlStorage, archive: Pick<ArchiveRows, 'exists' | 'vectors'>) {
    this.sql = sql;
    this.archive = archive;
  }

  /**
   * Messages with all of these words (bm25, ties oldest first), best first. By meaning, these are
   * joined with the most similar ones (see `fuseRanks`).
   *
   * @param place null for the first page
   */
  page(words: string, near: Near, place: SearchPlace | null, limits: PageLimits): SearchPage {
    // The order of earlier pages can't be continued by words alone.
    const meaning = place?.byMeaning && near.meaning === 'off' ? 'failed' : near.meaning;
    if (!this.archive.exists()) return { rows: [], next: null, meaning };
    const { upTo, after, byMeaning } = place ?? {
      upTo: this.newest(),
      after: 0,
      byMeaning: meaning === 'used',
    };
    const match = matchOf(words);
    const range = { from: after, limit: limits.rows + 1 };
    const found = this.rows(this.ranked(match, near, { upTo, keys: null }, range), match);
    const rows = cut(found, limits);
    const next = { upTo, after: after + rows.length, byMeaning };
    return { rows, next: rows.length < found.length ? next : null, meaning };
  }

  /**
   * Messages in the same order, with excerpts and without their packs.
   *
   * @param keys of the messages to search; null for all
   */
  hits(words: string, near: Near, limit: number, keys: readonly string[] | null): ArchiveHits {
    const { meaning } = near;
    if (!this.archive.exists()) return { hits: [], meaning };
    const match = matchOf(words);
    const ids = this.ranked(match, near, { upTo: this.newest(), keys }, { from: 0, limit });
    // Texts may be long, so only those of the best matches are read.
    const hits = this.shown<{ position: number; role: string; text: string; found: string }>(ids, match, {
      columns: 'm.position, m.role, archive_text.text',
      ofWords: `snippet(archive_text, 0, char(${MARK.charCodeAt(0)}), '', '', ${FOUND_TOKENS}) AS found`,
      ofOthers: "'' AS found",
    }).map(({ position, role, text, found }) => ({ position, role, excerpt: excerptOf(text, found) }));
    return { hits, meaning };
  }

  private rows(ids: readonly number[], match: string): ArchivedRow[] {
    return this.shown<Row & { beginning: string }>(ids, match, {
      columns: `${COLUMNS}, substr(archive_text.text, 1, ${2 * LONGEST_BEGINNING}) AS beginning`,
      ofWords: `substr(snippet(archive_text, 0, '', '', '…', ${SNIPPET_TOKENS}), 1, ${LONGEST_SNIPPET}) AS snippet`,
      ofOthers: 'NULL AS snippet',
    }).map(({ beginning, ...row }) => ({
      ...row,
      snippet: row.snippet ?? shortened(readable(beginning), LONGEST_BEGINNING),
    }));
  }

  private ranked(match: string, near: Near, scope: SearchScope, range: Range): number[] {
    if (near.meaning !== 'used') return this.withWords(match, scope, range);
    const { from, limit } = range;
    // All of them, or the order would depend on the page.
    const withWords = this.withWords(match, scope, { from: 0, limit: ALL });
    const similar = this.archive.vectors.nearest(near.vector, scope, MOST_SIMILAR);
    return fuseRanks([withWords, similar]).slice(from, from + limit);
  }

  private withWords(match: string, { upTo, keys }: SearchScope, { from, limit }: Range): number[] {
    return this.sql
      .exec<{ archived_id: number }>(
        `SELECT rowid AS archived_id FROM archive_text
         WHERE archive_text MATCH ? AND rowid <= ? ${keys === null ? '' : `AND rowid ${AMONG_KEYS}`}
         ORDER BY rank, rowid LIMIT ? OFFSET ?`,
        match,
        upTo,
        ...(keys === null ? [] : [JSON.stringify(keys)]),
        limit,
        from,
      )
      .toArray()
      .map(({ archived_id }) => archived_id);
  }

  /**
   * Columns of some messages, in the order of their ids.
   *
   * @param columns beside that, one of those with the words, and one of the others
   */
  private shown<Columns extends Record<string, SqlStorageValue>>(
    ids: readonly number[],
    match: string,
    { columns, ofWords, ofOthers }: { columns: string; ofWords: string; ofOthers: string },
  ): Columns[] {
    type Found = Columns & { shown_id: number };
    const read = (wanted: readonly number[], column: string, condition: string, ...words: string[]) =>
      this.sql
        .exec<Found>(
          `SELECT m.archived_id AS shown_id, ${columns}, ${column}
           FROM json_each(?) k CROSS JOIN archive_messages m ON m.archived_id = k.value
           CROSS JOIN archive_text ON archive_text.rowid = m.archived_id ${condition}`,
          JSON.stringify(wanted),
          ...words,
        )
        .toArray();
    const found = read(ids, ofWords, 'WHERE archive_text MATCH ?', match);
    const byId = new Map(found.map((row) => [row.shown_id, row]));
    const others = ids.filter((id) => !byId.has(id));
    if (others.length > 0) for (const row of read(others, ofOthers, '')) byId.set(row.shown_id, row);
    return ids.flatMap((id) => {
      const { shown_id, ...row } = byId.get(id) ?? {};
      return shown_id === undefined ? [] : [row as unknown as Columns];
    });
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
