/**
 * Requests of a conversation that came when the upstream's cache had nothing of it left, and whose
 * move waited (docs/design.md#cold-returns), by the prefix hash of their arrays. The views of all
 * longer arrays follow from them, so a row stays. See `storage-schema.md`.
 *
 * Only the object's own clock decides, as it has seen the events of requests come.
 */
import type { LazyTables } from '../tables.ts';
import type { RunEvents } from './run-events.ts';
import type { ConversationTables } from './tables.ts';

/**
 * A session made from a hash holds many conversations. What is known stays, so no more are added.
 */
const MOST = 100;

/** An event comes after its answer, and the next request may be faster. In milliseconds. */
const GRACE_MS = 60_000;

const TABLE = 'cold_returns';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    return_id INTEGER PRIMARY KEY AUTOINCREMENT,
    point TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL
  );
`;

export interface WaitingRequest {
  /** The prefix hash of its array. */
  readonly point: string;
  /** How long the upstream's cache keeps an unused prefix at most, in milliseconds. */
  readonly lifetimeMs: number;
  /** When it came, in milliseconds since the epoch. */
  readonly since: number;
  /** Whether its view is sent. */
  readonly isSent: boolean;
}

export class ColdReturns {
  readonly table: LazyTables;
  private readonly requests: RunEvents;

  constructor(tables: ConversationTables, requests: RunEvents) {
    this.table = tables.lazy(SCHEMA);
    this.requests = requests;
  }

  /** The points that are known, oldest first. */
  points(): string[] {
    return this.rows().map(({ point }) => point);
  }

  /** Whether a request that comes now is one that is not known yet. */
  isNew({ point, lifetimeMs }: WaitingRequest): boolean {
    const rows = this.rows();
    const newestAt = this.requests.newestAt();
    if (rows.length >= MOST || newestAt === 0 || rows.some((row) => row.point === point)) return false;
    // The event of the newest one may not have come.
    const usedAt = rows.reduce((newest, { at }) => Math.max(newest, at), newestAt);
    return this.table.now() - usedAt > lifetimeMs + GRACE_MS;
  }

  /** @returns the points that are known then */
  add({ point }: WaitingRequest): string[] {
    this.table.insert({ point, at: this.table.now() }, 'IGNORE');
    return this.points();
  }

  private rows(): { point: string; at: number }[] {
    return this.table.all<{ point: string; at: number }>(`SELECT point, at FROM ${TABLE} ORDER BY return_id`);
  }
}
