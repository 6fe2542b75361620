/**
 * What a tenant has deleted since it was saved in a backup, so that no backup brings it back. Noted
 * only if there may be a backup: the first one makes the table. See `storage-schema.md`.
 */
import { sha256Hex } from '../../tenant/identity.ts';
import type { LazyTables, Tables } from '../tables.ts';

/**
 * Deletions that are known one by one. The oldest beyond that become one: of what was saved before
 * it, nothing comes back.
 */
const MOST_DELETIONS = 10_000;

/** How far the clocks of two objects may differ, in milliseconds. */
const CLOCKS_MS = 1_000;

/** The row of what holds for everything. No other one is empty. */
const ALL = '';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS deletions (what TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS deletions_by_time ON deletions (at);
`;

/** What was deleted. The names are names of objects: see `conversationName` and `userName`. */
export type Deletable =
  | { readonly conversation: string }
  | { readonly user: string }
  /** A conversation's entry in its user's memory, by the conversation's name. */
  | { readonly entry: string }
  | { readonly ref: string }
  | { readonly block: string };

export class Deletions {
  private readonly table: LazyTables;

  constructor(tables: Tables) {
    this.table = tables.lazy(SCHEMA);
  }

  /** Whether there may be a backup. */
  any(): boolean {
    return this.table.exists();
  }

  /** Deletions are noted from now on. */
  begin(): void {
    this.table.make();
  }

  note(what: Deletable): void {
    if (!this.any()) return;
    this.set(keyOf(what), this.table.now());
    const excess = this.table.value<number>(
      `SELECT at FROM deletions WHERE what <> '${ALL}' ORDER BY at DESC LIMIT 1 OFFSET ${MOST_DELETIONS}`,
    );
    if (excess !== undefined) this.noteAll(excess);
  }

  /** Notes that everything was deleted. @param at in milliseconds */
  noteAll(at = this.table.now()): void {
    if (!this.any()) return;
    this.set(ALL, at);
    this.table.change(`DELETE FROM deletions WHERE what <> '${ALL}' AND at <= ?`, at);
  }

  /** Whether it was deleted after it was saved. @param at when it was saved, in milliseconds */
  since(what: Deletable, at: number): boolean {
    return this.table.has(
      `SELECT 1 FROM deletions WHERE what IN ('${ALL}', ?) AND at >= ? LIMIT 1`,
      keyOf(what),
      at - CLOCKS_MS,
    );
  }

  /** Takes the row of a backup. */
  set(what: string, at: number): void {
    this.table.write(
      'INSERT INTO deletions (what, at) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET at = max(at, excluded.at)',
      what,
      at,
    );
  }
}

/** A hash, since a name holds the caller's own words. */
function keyOf(what: Deletable): string {
  return sha256Hex(JSON.stringify(what)).slice(0, 32);
}
