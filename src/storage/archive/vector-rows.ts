/**
 * The vectors of one conversation's archive, in the SQLite of its Durable Object: a vector for each
 * searchable message, all of one model, and the messages that still need one.
 *
 * A vector is stored only if its message still has the text that it was made of. So a writer that a
 * deletion or a new text has overtaken stores nothing.
 */

import { AMONG, type LazyTables, type MemoryTables } from '../tables.ts';
import { readable } from './text.ts';
import { dimensionsOf, similarity } from './vectors.ts';

/** A message at an acute angle to a search's vector. */
interface Similar {
  readonly id: number;
  /** The cosine of the angle. */
  readonly similarity: number;
}

/** A message that needs a vector. */
export interface Unembedded {
  readonly archived_id: number;
  /** The beginning of its searchable text, as it is stored. */
  readonly beginning: string;
}

/** The messages that a search may find. */
export interface SearchScope {
  /** Id of the newest of them. */
  readonly upTo: number;
  /** Their keys, one parameter of one query; null for all. */
  readonly keys: readonly string[] | null;
}

/** A condition on ids, with one parameter: the keys of messages as a JSON array. */
export const AMONG_KEYS =
  'IN (SELECT m.archived_id FROM json_each(?) k CROSS JOIN archive_messages m ON m.message_key = k.value)';

/**
 * How many messages, the newest, are queued at first and compared by a search. With 1536 dimensions
 * each they take 41 MB, and a search of them 0.2 s (docs/deploying.md#embeddings).
 */
const MOST_VECTORS = 20_000;

/** How often a message is refused before it stays without a vector. */
const MOST_TRIES = 3;

const SCHEMA = `
  CREATE TABLE archive_vectors (archived_id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
  CREATE TABLE archive_embedding (model TEXT NOT NULL, dimensions INTEGER, queued_to INTEGER NOT NULL);
  CREATE TABLE archive_unembedded (archived_id INTEGER PRIMARY KEY, tries INTEGER NOT NULL DEFAULT 0);
`;

/** The row of `archive_embedding`. */
type State = {
  readonly model: string;
  /** Null before the first vector. */
  readonly dimensions: number | null;
};

export class VectorRows {
  private readonly tables: MemoryTables;
  /** They exist if vectors were ever to be made. */
  readonly table: LazyTables;
  private readonly hasArchive: () => boolean;

  /** @param hasArchive whether anything was ever archived */
  constructor(tables: MemoryTables, hasArchive: () => boolean) {
    this.tables = tables;
    this.table = tables.lazyOfMemory(SCHEMA);
    this.hasArchive = hasArchive;
  }

  /** The number of dimensions of a model's vectors; undefined if there are none. */
  dimensions(model: string): number | undefined {
    const state = this.state();
    return state?.model === model ? (state.dimensions ?? undefined) : undefined;
  }

  /**
   * Queues the messages that were added since the last call, whether or not vectors were wanted
   * then. Vectors of another model are deleted, and their messages queued again.
   */
  queue(model: string): void {
    if (!this.hasArchive()) return;
    this.tables.atOnce(() => {
      if (this.state()?.model !== model) this.begin(model);
      this.queueAdded();
    });
  }

  /** Call this when the text of a message has changed. */
  changed(archivedId: number): void {
    this.table.change('DELETE FROM archive_vectors WHERE archived_id = ?', archivedId);
    this.table.change('INSERT OR REPLACE INTO archive_unembedded (archived_id) VALUES (?)', archivedId);
  }

  /**
   * The newest messages of the queue; after these, one that was refused before. Those without any
   * text leave the queue.
   *
   * @param length of a beginning, in code points
   */
  queued(most: number, length: number): Unembedded[] {
    const read = (which: string, limit: number): Unembedded[] =>
      this.table.all(
        `SELECT q.archived_id, substr(t.text, 1, ?) AS beginning
         FROM archive_unembedded q CROSS JOIN archive_text t ON t.rowid = q.archived_id
         WHERE ${which} LIMIT ?`,
        length,
        limit,
      );
    for (;;) {
      const fresh = read('q.tries = 0 ORDER BY q.archived_id DESC', most);
      const found = fresh.length > 0 ? fresh : read('q.tries > 0 ORDER BY q.tries, q.archived_id DESC', 1);
      const blank = found.filter(({ beginning }) => readable(beginning).trim() === '');
      if (blank.length === 0) return found;
      this.unqueue(blank.map(({ archived_id }) => archived_id));
    }
  }

  /**
   * Stores vectors, all or none of those whose messages are as they were. If they have another
   * number of dimensions than earlier ones, these are deleted, and their messages queued again.
   *
   * @param model that made them; nothing is stored if another one is wanted by now
   * @param made the vectors (see `packVector`), all with as many dimensions
   * @param length of a beginning (see `queued`)
   */
  store(
    model: string,
    made: readonly { readonly message: Unembedded; readonly vector: Uint8Array }[],
    length: number,
  ): void {
    const [first] = made;
    if (!first) return;
    const dimensions = dimensionsOf(first.vector);
    this.tables.atOnce(() => {
      const state = this.state();
      if (state?.model !== model) return;
      if (state.dimensions !== null && state.dimensions !== dimensions) {
        this.begin(model);
        this.queueAdded();
      }
      this.table.change('UPDATE archive_embedding SET dimensions = ?', dimensions);
      for (const { message, vector } of made) {
        const { archived_id, beginning } = message;
        const isStored = this.table.has(
          `INSERT OR REPLACE INTO archive_vectors (archived_id, vector)
           SELECT rowid, ? FROM archive_text WHERE rowid = ? AND substr(text, 1, ?) = ? RETURNING archived_id`,
          vector,
          archived_id,
          length,
          beginning,
        );
        if (isStored) this.unqueue([archived_id]);
      }
    });
  }

  /** Counts a try of messages that were refused. After the last one they leave the queue. */
  refused(archivedIds: readonly number[]): void {
    this.table.change(
      `UPDATE archive_unembedded SET tries = tries + 1 WHERE archived_id ${AMONG}`,
      archivedIds,
    );
    this.table.change('DELETE FROM archive_unembedded WHERE tries >= ?', MOST_TRIES);
  }

  /**
   * The messages at an acute angle to the vector, the most similar first, ties newest first. The
   * others have nothing in common with it.
   *
   * @param vector of unit length, with as many dimensions as those stored
   */
  nearest(vector: Float32Array, { upTo, keys }: SearchScope): Similar[] {
    const near: Similar[] = [];
    // One row at a time: all of them together may be larger than an isolate.
    const rows = this.table.each<{ id: number; packed: ArrayBuffer }>(
      `SELECT archived_id AS id, vector AS packed FROM archive_vectors
       WHERE archived_id <= ? ${keys === null ? '' : `AND archived_id ${AMONG_KEYS}`}
       ORDER BY archived_id DESC LIMIT ?`,
      upTo,
      ...(keys === null ? [] : [keys]),
      MOST_VECTORS,
    );
    for (const { id, packed } of rows) {
      const found = similarity(packed, vector);
      if (found > 0) near.push({ id, similarity: found });
    }
    return near.sort((one, other) => other.similarity - one.similarity);
  }

  private state(): State | undefined {
    return this.table.first('SELECT model, dimensions FROM archive_embedding');
  }

  /** Makes empty tables for a model. */
  private begin(model: string): void {
    this.table.drop();
    this.table.write('INSERT INTO archive_embedding (model, queued_to) VALUES (?, 0)', model);
  }

  private queueAdded(): void {
    this.table.change(
      `INSERT OR IGNORE INTO archive_unembedded (archived_id)
       SELECT rowid FROM archive_text WHERE rowid > (SELECT queued_to FROM archive_embedding)
       ORDER BY rowid DESC LIMIT ?`,
      MOST_VECTORS,
    );
    this.table.change(
      'UPDATE archive_embedding SET queued_to = (SELECT coalesce(max(archived_id), 0) FROM archive_messages)',
    );
  }

  private unqueue(archivedIds: readonly number[]): void {
    this.table.change(`DELETE FROM archive_unembedded WHERE archived_id ${AMONG}`, archivedIds);
  }
}
