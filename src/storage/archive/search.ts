/**
 * The search of one conversation's archive, in the SQLite of its Durable Object: first the ids of
 * the messages, best first, then what is shown of some of them.
 */

import { shortened, withoutHalfAtEnd } from '../../lib/characters.ts';
import { elementAt } from '../../lib/elements.ts';
import type { MemoryTables } from '../tables.ts';
import type { ArchiveEmbedding } from './embedding.ts';
import { excerptOf } from './excerpt.ts';
import { fuseRanks, type Scored } from './fusion.ts';
import { BY_WORDS, type MadeNear, type Near } from './near.ts';
import { passageOf } from './passage.ts';
import { type ArchivedRow, type ArchivePage, type ArchiveRows, COLUMNS, type PageLimits } from './rows.ts';
import { matchAll, readable, wordsOf } from './text.ts';
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
  readonly hits: readonly (ArchiveHit & Scored)[];
  readonly meaning: Near['meaning'];
}

/** Tokens of a snippet, and its characters, since a token may be a page of base64. */
const SNIPPET_TOKENS = 32;
const LONGEST_SNIPPET = 1_000;

/** Characters of the beginning that is shown of a message without the words. */
const LONGEST_BEGINNING = 200;

/** Tokens of the passage that an excerpt is made around. */
const FOUND_TOKENS = 64;

/** Characters of all texts of a page: ten of the longest. A page has at least one message. */
const MOST_READ = 2_000_000;

/** How many messages of a similar meaning are joined to those with the words. */
const MOST_SIMILAR = 50;

/** Above the number of messages of any archive. */
const ALL = Number.MAX_SAFE_INTEGER;

/** The ids of a search: `from` of them are left out, and then at most `limit` are named. */
interface Range {
  readonly from: number;
  readonly limit: number;
}

interface Ranked extends Scored {
  readonly id: number;
}

/**
 * `fused`: by words and meaning at once (see `fuseRanks`). `words_first`: those with the words, and
 * then the most similar of the others, for `mergeArchives`.
 */
type Order = 'fused' | 'words_first';

export class ArchiveSearch {
  private readonly tables: Pick<MemoryTables, 'exists'>;
  private readonly archive: ArchiveRows;
  private readonly embedding: ArchiveEmbedding;

  constructor(tables: MemoryTables, archive: ArchiveRows, embedding: ArchiveEmbedding) {
    this.tables = tables;
    this.archive = archive;
    this.embedding = embedding;
  }

  /**
   * Messages with all of these words (bm25, ties oldest first), best first. By meaning, these are
   * joined with the most similar ones (see `fuseRanks`). Null without a memory.
   *
   * @param place null for the first page
   */
  async search(words: string, place: SearchPlace | null, limits: PageLimits): Promise<SearchPage | null> {
    // The first page decides, since the order of the others depends on it.
    const near = place?.byMeaning === false ? BY_WORDS : await this.embedding.near(words);
    if (!this.tables.exists()) return null;
    // The order of earlier pages can't be continued by words alone.
    const meaning = place?.byMeaning && near.meaning === 'off' ? 'failed' : near.meaning;
    if (!this.archive.exists()) return { rows: [], next: null, meaning };
    const { upTo, after, byMeaning } = place ?? {
      upTo: this.newest(),
      after: 0,
      byMeaning: meaning === 'used',
    };
    const range = { from: after, limit: limits.rows + 1 };
    const ids = this.ranked(words, near, { upTo, keys: null }, range, 'fused').map(({ id }) => id);
    const { rows, taken } = this.rows(ids, words, limits);
    const next = { upTo, after: after + taken, byMeaning };
    return { rows, next: taken < ids.length ? next : null, meaning };
  }

  /**
   * The best messages, with excerpts and without their packs. Null without a memory.
   *
   * @param keys of the messages to search; null for all
   * @param made see `ArchiveEmbedding`; with it those with the words come first (`mergeArchives`)
   */
  async hits(
    words: string,
    limit: number,
    keys: readonly string[] | null,
    made: MadeNear | null = null,
  ): Promise<ArchiveHits | null> {
    const near = await this.embedding.near(words, made);
    if (!this.tables.exists()) return null;
    const { meaning } = near;
    const order = made ? 'words_first' : 'fused';
    if (!this.archive.exists()) return { hits: [], meaning };
    const ranked = this.ranked(words, near, { upTo: this.newest(), keys }, { from: 0, limit }, order);
    const ids = ranked.map(({ id }) => id);
    const wanted = wordsOf(words);
    const shown = this.shown<{ position: number; role: string }>(ids, 'm.position, m.role');
    const hits = Array.from(shown, ({ row, text, index }) => {
      const { hasWords, similarity } = elementAt(ranked, index);
      const excerpt = excerptOf(text, passageOf(text, wanted, FOUND_TOKENS)?.word ?? 0);
      return { ...row, excerpt, hasWords, similarity };
    });
    return { hits, meaning };
  }

  /** A page of these messages. @returns also how many of the ids it takes */
  private rows(
    ids: readonly number[],
    words: string,
    limits: PageLimits,
  ): { rows: readonly ArchivedRow[]; taken: number } {
    const wanted = wordsOf(words);
    const rows: ArchivedRow[] = [];
    let bytes = 0;
    let read = 0;
    for (const { row, text, index } of this.shown<ArchivedRow>(ids, `${COLUMNS}, NULL AS snippet`)) {
      bytes += row.bytes;
      read += text.length;
      const isFull = rows.length >= limits.rows || bytes > limits.bytes || read > MOST_READ;
      if (isFull && rows.length > 0) return { rows, taken: index };
      rows.push({ ...row, snippet: snippetOf(text, wanted) });
    }
    return { rows, taken: ids.length };
  }

  private ranked(words: string, near: Near, scope: SearchScope, range: Range, order: Order): Ranked[] {
    // Without any word, an empty phrase, which matches nothing.
    const match = matchAll(words) ?? '""';
    if (near.meaning !== 'used')
      return this.withWords(match, scope, range).map((id) => ({ id, hasWords: true, similarity: 0 }));
    const { from, limit } = range;
    // All of them, or the order would depend on the page.
    const withWords = new Set(this.withWords(match, scope, { from: 0, limit: ALL }));
    const alike = this.archive.vectors.nearest(near.vector, scope);
    const similarities = new Map(alike.map(({ id, similarity }) => [id, similarity]));
    const similar = alike.slice(0, MOST_SIMILAR).map(({ id }) => id);
    const ids =
      order === 'fused' ? fuseRanks([[...withWords], similar]) : new Set([...withWords, ...similar]);
    return [...ids].slice(from, from + limit).map((id) => ({
      id,
      hasWords: withWords.has(id),
      similarity: similarities.get(id) ?? 0,
    }));
  }

  private withWords(match: string, { upTo, keys }: SearchScope, { from, limit }: Range): number[] {
    return this.archive.own.column(
      `SELECT rowid FROM archive_text
       WHERE archive_text MATCH ? AND rowid <= ? ${keys === null ? '' : `AND rowid ${AMONG_KEYS}`}
       ORDER BY rank, rowid LIMIT ? OFFSET ?`,
      match,
      upTo,
      ...(keys === null ? [] : [keys]),
      limit,
      from,
    );
  }

  /**
   * Some messages with their texts, one by one, in the order of their ids.
   *
   * @param columns of `archive_messages m`
   */
  private *shown<Columns extends object>(
    ids: readonly number[],
    columns: string,
  ): Generator<{ row: Columns; text: string; index: number }> {
    for (const [index, id] of ids.entries()) {
      const found = this.archive.own.first<Columns & { text: string }>(
        `SELECT ${columns}, archive_text.text FROM archive_messages m
         CROSS JOIN archive_text ON archive_text.rowid = m.archived_id WHERE m.archived_id = ?`,
        id,
      );
      if (!found) continue;
      const { text, ...row } = found;
      yield { row: row as unknown as Columns, text, index };
    }
  }

  private newest(): number {
    return this.archive.own.value<number | null>('SELECT max(archived_id) FROM archive_messages') ?? 0;
  }
}

/** What a page shows of a message: the text around the words, or its beginning. */
function snippetOf(text: string, words: readonly (readonly string[])[]): string {
  const passage = passageOf(text, words, SNIPPET_TOKENS);
  if (!passage) return shortened(readable(text.slice(0, 2 * LONGEST_BEGINNING)), LONGEST_BEGINNING);
  const { start, end } = passage;
  const snippet = `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
  return withoutHalfAtEnd(snippet.slice(0, LONGEST_SNIPPET));
}
