/**
 * How a Durable Object is saved in a backup and put back.
 *
 * Its rows leave in pages. If anything was written between two of them, the object begins again, so
 * that its pages are of one moment; after three times they are taken as they arrive. They come back
 * in parts that are put aside, and become its rows in one transaction when all are there.
 */

import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../config.ts';
import { InvariantError } from '../lib/invariant-error.ts';
import { createObjectLog, type Log } from '../log.ts';
import {
  changesOf,
  columnIn,
  type RowPlace,
  type RowRules,
  readRows,
  UnknownRows,
  writeRows,
} from './table-rows.ts';
import type { LazyTables, Tables } from './tables.ts';

/** How far the saving of an object is. */
export interface SavePlace {
  readonly rows: RowPlace;
  /** The number of the next part. */
  readonly part: number;
  /** Shows whether the object was written to. */
  readonly stamp: string;
  /** How often the object has begun again. */
  readonly restarts: number;
}

/** A part of an object. One with the number 0 replaces all before it. */
export interface SavedPart {
  readonly part: number;
  readonly text: string;
  readonly next: SavePlace | null;
}

/** A part that comes back. Times are in milliseconds since 1970. */
export interface PartName {
  /** The backup's id. */
  readonly backup: string;
  readonly part: number;
  /** When its part 0 was read: what was deleted since does not come back. */
  readonly at: number;
  /** When the conversation was last used; null if that is not known. */
  readonly used: number | null;
}

/** What is to be put back: the number of its parts, instead of the number of one. */
export interface PutBack extends Omit<PartName, 'part'> {
  readonly parts: number;
}

/** Why it does not come back: what is there stays; it was deleted since; it would have expired. */
export type NotTaken = 'kept' | 'deleted' | 'expired';

/**
 * What has become of an object. `missing`: not all of its parts are put aside. `later`: a later
 * version has saved it, with tables that this one does not know.
 */
export type PutBackState = 'restored' | 'missing' | 'later' | NotTaken;

/** Methods of all objects that other isolates can call. */
export interface BackupApi {
  /** A part of what is stored; null if nothing is. @param place null: the first one */
  saveRows(place: SavePlace | null): SavedPart | null;
  /** Puts a part aside, unless it would not come back. */
  putAside(name: PartName, text: string): Promise<void>;
  /** Makes rows of the parts that are put aside, all or none. */
  putBack(saved: PutBack): Promise<PutBackState>;
}

const MOST_RESTARTS = 3;

/** SQLite limits a row to 2 MB (see `memories.ts`). */
const PIECE_BYTES = 1_000_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS put_aside (
    part INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    backup TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (part, piece)
  ) WITHOUT ROWID;
`;

/** A Durable Object whose rows a backup has. */
export abstract class SavedObject extends DurableObject<Env> implements Omit<BackupApi, 'putBack'> {
  // Fields, since remote callers can't reach them and tests can replace them.
  protected now: () => number = Date.now;
  protected log: Log = createObjectLog(this.env);

  protected abstract readonly tables: Tables;
  protected abstract readonly backup: ObjectBackup;

  /** The name that it was opened by. */
  protected get ownName(): string {
    const { name } = this.ctx.id;
    if (name === undefined) throw new InvariantError('an object with a backup is opened by its name');
    return name;
  }

  saveRows(place: SavePlace | null): SavedPart | null {
    return this.backup.save(place);
  }

  async putAside(name: PartName, text: string): Promise<void> {
    this.backup.putAside(name, text);
  }

  protected async deleteAll(): Promise<void> {
    const deleted = this.ctx.storage.deleteAll();
    this.tables.forget();
    await deleted.finally(() => this.tables.forget());
  }
}

export class ObjectBackup {
  protected readonly tables: Tables;
  private readonly aside: LazyTables;
  /** This life of the object: SQLite counts changes in each. */
  private readonly life = crypto.randomUUID();

  constructor(tables: Tables) {
    this.tables = tables;
    this.aside = tables.lazy(SCHEMA, { passing: true });
  }

  save(place: SavePlace | null, rules: RowRules = {}): SavedPart | null {
    if (this.tables.saved().length === 0) return null;
    const stamp = this.stamp();
    const isStale = place !== null && place.stamp !== stamp;
    const restarts = (place?.restarts ?? 0) + Number(isStale);
    const goesOn = place !== null && (!isStale || restarts > MOST_RESTARTS);
    const part = goesOn ? place.part : 0;
    const { text, next } = readRows(this.tables, goesOn ? place.rows : { table: 0, after: null }, rules);
    return { part, text, next: next && { rows: next, part: part + 1, stamp, restarts } };
  }

  /** Part 0 drops what was put aside before. One without the part before it is not put aside. */
  putAside({ backup, part }: Pick<PartName, 'backup' | 'part'>, text: string): void {
    if (part === 0) this.drop();
    else if (!this.hasAside(backup, part - 1)) return;
    const bytes = new TextEncoder().encode(text);
    this.aside.change('DELETE FROM put_aside WHERE part >= ?', part);
    for (let piece = 0; piece * PIECE_BYTES < bytes.length; piece++)
      this.aside.insert({
        part,
        piece,
        backup,
        bytes: bytes.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES).buffer,
      });
  }

  /** Whether a part of a backup is put aside. */
  hasAside(backup: string, part = 0): boolean {
    const query = 'SELECT 1 FROM put_aside WHERE part = ? AND backup = ? LIMIT 1';
    return this.aside.has(query, part, backup);
  }

  /** Makes rows of all parts, all or none; `kept` if each that is taken is there. */
  putBack({ backup, parts }: Pick<PutBack, 'backup' | 'parts'>, rules: RowRules = {}): PutBackState {
    if (!this.hasAside(backup, parts - 1)) return 'missing';
    const rows = { taken: 0, added: 0 };
    try {
      this.tables.atOnce(() => {
        for (let part = 0; part < parts; part++) {
          const { taken, added } = writeRows(this.tables, this.textOf(part), rules);
          rows.taken += taken;
          rows.added += added;
        }
      });
    } catch (error) {
      if (!(error instanceof UnknownRows)) throw error;
      return 'later';
    }
    this.drop();
    return rows.taken > 0 && rows.added === 0 ? 'kept' : 'restored';
  }

  /** The values of a column in the rows that are put aside. */
  columnAside(table: string, column: string): SqlStorageValue[] {
    const parts = this.aside.column<number>('SELECT DISTINCT part FROM put_aside ORDER BY part');
    return parts.flatMap((part) => columnIn(this.textOf(part), table, column));
  }

  drop(): void {
    this.aside.drop();
  }

  private textOf(part: number): string {
    const pieces = this.aside.all<{ bytes: ArrayBuffer }>(
      'SELECT bytes FROM put_aside WHERE part = ? ORDER BY piece',
      part,
    );
    const decoder = new TextDecoder();
    return pieces.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join('') + decoder.decode();
  }

  private stamp(): string {
    return `${this.life} ${changesOf(this.tables.sql)}`;
  }
}
