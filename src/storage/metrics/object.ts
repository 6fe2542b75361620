/** The Durable Object of the deployment's metrics: it adds up what the isolates have counted. */

import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../config.ts';
import { Tables } from '../tables.ts';
import type { Counts } from './families.ts';

/** What one isolate has counted. A batch that is sent again has the same id. */
export interface Batch {
  readonly id: string;
  readonly counts: Counts;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS totals (id INTEGER PRIMARY KEY CHECK (id = 1), counts TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS batches (batch TEXT PRIMARY KEY, added_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS batches_by_age ON batches (added_at);
`;

/** How long a batch is remembered, in milliseconds. Isolates give theirs up earlier. */
const REMEMBERED_MS = 60 * 60_000;

/** There is one, see `METRICS_OBJECT`. */
export class MetricsObject extends DurableObject<Env> {
  // A field, since remote callers can't reach it and tests can replace it.
  protected now: () => number = Date.now;

  private readonly tables = new Tables(this.ctx.storage).lazy(SCHEMA);

  /** Adds a batch, unless it has been added before. */
  add({ id, counts }: Batch): void {
    this.tables.make();
    const now = this.now();
    // Two rows are written for each batch, however many series it has.
    this.ctx.storage.transactionSync(() => {
      const adding = 'INSERT OR IGNORE INTO batches (batch, added_at) VALUES (?, ?) RETURNING batch';
      if (!this.tables.has(adding, id, now)) return;
      this.tables.change('DELETE FROM batches WHERE added_at < ?', now - REMEMBERED_MS);
      const totals: Record<string, number> = { ...this.read() };
      for (const [series, by] of Object.entries(counts)) totals[series] = (totals[series] ?? 0) + by;
      this.tables.write('INSERT OR REPLACE INTO totals (id, counts) VALUES (1, ?)', JSON.stringify(totals));
    });
  }

  read(): Counts {
    return JSON.parse(this.tables.value('SELECT counts FROM totals') ?? '{}') as Counts;
  }
}
