/**
 * Verdicts on the digests of offloaded outputs, in the SQLite of a conversation's object. The first
 * verdict on a digest stays, so that every isolate and every later request shows the same words, or
 * the same preview. See `storage-schema.md`.
 *
 * Every method is one synchronous decision, as in the chain, and who writes is decided in the same
 * way (`claims.ts`).
 *
 * They have a table of their own: a view asks for all of them in one call, 20,000 are kept, and
 * none is part of the overview of a memory.
 */
import type { Nanodollars } from '../../memory/money/amounts.ts';
import type { LazyTables } from '../tables.ts';
import type { BillLedger } from './bills.ts';
import { type Ticket, turnOf } from './claims.ts';
import { afterFailure, assertFits, HEALTHY, type Health, isResting } from './memories.ts';
import type { ConversationTables, StoredPart } from './tables.ts';

const TABLE = 'output_digests';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    digest_id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest_key TEXT NOT NULL UNIQUE,
    settled INTEGER NOT NULL,
    digest_text TEXT,
    lease TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0
  );
`;

/** The newest that are kept. */
const KEPT_DIGESTS = 20_000;

/** The text of a digest; null: the preview stands. */
export interface DigestVerdict {
  readonly key: string;
  readonly text: string | null;
  /** What its writing has cost. Absent: nothing was called; null: the price is not known. */
  readonly cost?: Nanodollars | null;
}

export interface DigestsRequest {
  readonly digests: readonly {
    readonly key: string;
    /** Whether a missing digest may be written. Otherwise its preview stands from now on. */
    readonly isNew: boolean;
  }[];
  /** A new name. A call is repeated if its answer was lost, and then gets the same answer. */
  readonly lease: string;
  /** How long others wait for the caller, in milliseconds. */
  readonly leaseMs: number;
}

export type DigestClaim =
  | { readonly state: 'ready'; readonly text: string | null }
  /** The caller is the writer, and must settle it. */
  | { readonly state: 'claimed' }
  /** Another caller is the writer. */
  | { readonly state: 'busy' }
  /** The summarizer has failed recently, so the preview stands from now on. */
  | { readonly state: 'resting' };

type Row = Ticket & {
  settled: number;
  digest_text: string | null;
  lease: string | null;
};

export class OutputDigests implements StoredPart {
  private readonly tables: ConversationTables;
  private readonly table: LazyTables;
  private readonly bills: BillLedger;
  private readonly now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(tables: ConversationTables, bills: BillLedger, now: () => number) {
    this.tables = tables;
    this.table = tables.lazyOfMemory([TABLE], SCHEMA);
    this.bills = bills;
    this.now = now;
  }

  /** Makes one caller the writer of each new digest. Answers in the order of the request. */
  claim({ digests, lease, leaseMs }: DigestsRequest): DigestClaim[] {
    this.table.make();
    const until = this.now() + leaseMs;
    const claims = digests.map(({ key, isNew }) => this.claimOne(key, isNew, lease, until));
    this.prune();
    return claims;
  }

  /** The verdicts; null where there is none yet. */
  find(keys: readonly string[]): (DigestVerdict | null)[] {
    return keys.map((key) => {
      const row = this.rowOf(key);
      return row?.settled ? { key, text: row.digest_text } : null;
    });
  }

  /** Whether somebody writes a digest. */
  isPending(key: string): boolean {
    return this.rowOf(key)?.settled === 0;
  }

  /**
   * Settles claimed digests that are not settled yet. One that is gone was deleted, and is not made
   * anew.
   *
   * @param restMs the first rest if the summarizer itself has failed (see `afterFailure`); else 0
   * @returns the verdicts that stand
   * @throws RangeError if a text is too long
   */
  settle(verdicts: readonly DigestVerdict[], restMs: number): DigestVerdict[] {
    for (const { text } of verdicts) assertFits(text ?? '');
    if (!this.table.exists()) return verdicts.map(({ key }) => ({ key, text: null }));
    for (const { key, cost } of verdicts) this.bills.spend(key, cost);
    this.note(verdicts, restMs);
    return verdicts.map(({ key, text }) => {
      const settling = `UPDATE ${TABLE} SET settled = 1, digest_text = ? WHERE digest_key = ? AND settled = 0`;
      this.tables.sql.exec(settling, text, key);
      return { key, text: this.rowOf(key)?.digest_text ?? null };
    });
  }

  any(): boolean {
    return this.table.exists() && this.tables.sql.exec(`SELECT 1 FROM ${TABLE} LIMIT 1`).toArray().length > 0;
  }

  strip(): void {
    this.table.drop();
  }

  private claimOne(key: string, isNew: boolean, lease: string, until: number): DigestClaim {
    const row = this.rowOf(key);
    if (row?.settled) return { state: 'ready', text: row.digest_text };
    const health = this.health();
    const turn = turnOf(row ? [row] : [], health, this.now(), 0);
    if (turn.state === 'busy') return turn.row.lease === lease ? { state: 'claimed' } : { state: 'busy' };
    const isWritten = isNew && turn.state === 'free';
    if (isWritten && turn.health !== health) this.saveHealth(turn.health);
    this.tables.sql.exec(
      `INSERT INTO ${TABLE} (digest_key, settled, lease, lease_until) VALUES (?, ?, ?, ?)
       ON CONFLICT (digest_key) DO UPDATE SET
         settled = excluded.settled, lease = excluded.lease, lease_until = excluded.lease_until`,
      key,
      isWritten ? 0 : 1,
      isWritten ? lease : null,
      isWritten ? until : 0,
    );
    if (isWritten) return { state: 'claimed' };
    return isNew ? { state: 'resting' } : { state: 'ready', text: null };
  }

  /** Notes how writing has gone. Of several failures at once the first one counts. */
  private note(verdicts: readonly DigestVerdict[], restMs: number): void {
    const health = this.health();
    const now = this.now();
    if (restMs > 0 && !isResting(health, now)) this.saveHealth(afterFailure(health, now, restMs));
    else if (health.state === 'recovering' && verdicts.some(({ text }) => text !== null))
      this.saveHealth(HEALTHY);
  }

  private health(): Health {
    const stored = this.tables.get('digest_health');
    return stored === null ? HEALTHY : (JSON.parse(stored) as Health);
  }

  private saveHealth(health: Health): void {
    this.tables.set('digest_health', JSON.stringify(health));
  }

  /** A lease is never renewed, so it is as old as it may be. */
  private rowOf(key: string): Row | undefined {
    if (!this.table.exists()) return undefined;
    return this.tables.sql
      .exec<Row>(
        `SELECT settled, digest_text, lease, lease_until, lease_until AS created_at, 0 AS attempts
         FROM ${TABLE} WHERE digest_key = ?`,
        key,
      )
      .toArray()[0];
  }

  private prune(): void {
    this.tables.sql.exec(
      `DELETE FROM ${TABLE} WHERE digest_id <= (SELECT coalesce(max(digest_id), 0) FROM ${TABLE}) - ?`,
      KEPT_DIGESTS,
    );
  }
}
