/** The tables of one conversation, in the SQLite of its Durable Object. See `storage-schema.md`. */

import type { BillSums } from '../../memory/money/bill-schema.ts';
import type { SumsByDay } from '../../memory/run/day-sums.ts';
import { AMONG, type LazyTables, type MemoryTables, Tables } from '../tables.ts';
import type { BlockSource, Continuity, Health, Settings } from './memories.ts';

const STATE = `
  CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS memories (
    memory_id INTEGER PRIMARY KEY AUTOINCREMENT,
    base_memory_id INTEGER,
    prefix_hash TEXT NOT NULL,
    strategy_hash TEXT NOT NULL,
    start_sequence INTEGER NOT NULL,
    end_sequence INTEGER NOT NULL,
    base_end_seq INTEGER,
    window_size INTEGER,
    covers_end INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
    memory_text TEXT,
    signed TEXT,
    ref TEXT,
    transcript_from TEXT NOT NULL DEFAULT '',
    transcript_earlier TEXT,
    tokens INTEGER,
    model TEXT,
    attempts INTEGER NOT NULL DEFAULT 1,
    lost INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    conversation TEXT NOT NULL,
    lineage TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    generation_time_ms INTEGER
  );
  CREATE INDEX IF NOT EXISTS memories_by_prefix ON memories (prefix_hash, strategy_hash, status);
  CREATE INDEX IF NOT EXISTS memories_by_strategy ON memories (strategy_hash, status);
  CREATE TABLE IF NOT EXISTS pins (
    pin_id INTEGER PRIMARY KEY,
    round_hash TEXT NOT NULL,
    strategy_hash TEXT NOT NULL,
    memory_id INTEGER,
    digest_hash TEXT,
    lineage TEXT NOT NULL DEFAULT '',
    UNIQUE (round_hash, strategy_hash)
  );
  CREATE INDEX IF NOT EXISTS memories_by_lineage ON memories (lineage);
  CREATE INDEX IF NOT EXISTS pins_by_lineage ON pins (lineage);
  CREATE TABLE IF NOT EXISTS lineages (
    lineage TEXT PRIMARY KEY,
    round_hash TEXT,
    health TEXT,
    used_at INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS lineages_by_round ON lineages (round_hash);
  CREATE INDEX IF NOT EXISTS lineages_by_use ON lineages (used_at);
`;

/** The values of the table `state`: JSON, but for a text. */
interface StateValues extends Settings {
  readonly health: Health;
  readonly continuity: Continuity;
  readonly frozen_injection: string;
  readonly frozen_sources: readonly BlockSource[];
  /** When the conversation was last reported to the tenant's object, in milliseconds. */
  readonly told_at: number;
  readonly digest_health: Health;
  /** Of the summarizer's work. The sums of versions before have no days. */
  readonly bill_sums: Partial<BillSums & { readonly days: SumsByDay }>;
}

const TEXT: keyof StateValues = 'frozen_injection';

/** Values that are no memory. They make the table `state` alone. */
const BESIDE_MEMORY: ReadonlySet<keyof StateValues> = new Set(['told_at', 'bill_sums']);

/**
 * A conversation has a memory if the tables of its versions exist. All other tables of a memory are
 * made after these and go with them.
 */
export class ConversationTables extends Tables implements MemoryTables {
  private readonly state = this.lazy(STATE);
  readonly versions = this.lazy(SCHEMA, {
    oldest: 'lineage',
    added: ['signed TEXT', 'lost INTEGER NOT NULL DEFAULT 0'],
    retired: ['lease', 'lease_ms', 'lease_until', 'retry_interval_ms'],
  });
  private readonly ofMemory: LazyTables[] = [this.versions];
  /** When everything was deleted, in milliseconds. Known while the object lives. */
  private deletedAt = 0;

  lazyOfMemory(schema: string, retired: readonly string[] = []): LazyTables {
    const tables = this.lazy(schema, { making: () => this.make(), retired });
    this.ofMemory.push(tables);
    return tables;
  }

  /** Whether there is a memory. */
  exists(): boolean {
    return this.versions.exists();
  }

  make(): void {
    this.versions.make();
  }

  noteDeletion(): void {
    this.deletedAt = this.now();
  }

  /**
   * Whether a request came before everything was deleted. Its answer has lasted longer, and what it
   * would store brings the conversation back.
   *
   * @param since when it came, in milliseconds since 1970
   */
  isLate(since: number): boolean {
    return since <= this.deletedAt;
  }

  /** Deletes the values of the table `state`. @param settings whether the caller's settings stay */
  stripState(settings: boolean): void {
    this.deleteStateBut(settings ? ['memory_strategy', 'memory_injection', 'told_at'] : []);
  }

  /** Deletes the tables of a memory of which nothing is left. What is no memory stays. */
  unmake(): void {
    for (const tables of this.ofMemory) tables.drop();
    this.deleteStateBut([...BESIDE_MEMORY]);
  }

  /** A value of the table `state`; undefined if there is none. */
  get<Key extends keyof StateValues>(key: Key): StateValues[Key] | undefined {
    const stored = this.state.value<string>('SELECT value FROM state WHERE key = ?', key);
    return stored === undefined || key === TEXT ? (stored as StateValues[Key]) : JSON.parse(stored);
  }

  /** Sets a value of the table `state`. One of the memory makes its tables. */
  set<Key extends keyof StateValues>(key: Key, value: StateValues[Key]): void {
    if (!BESIDE_MEMORY.has(key)) this.make();
    this.state.insert({ key, value: key === TEXT ? String(value) : JSON.stringify(value) }, 'REPLACE');
  }

  private deleteStateBut(keys: readonly string[]): void {
    this.state.change(`DELETE FROM state WHERE key NOT ${AMONG}`, keys);
  }
}
