/**
 * The tables of one conversation, in the SQLite of its Durable Object. The first write makes them,
 * so that reading an unknown conversation leaves no trace. See `storage-schema.md`.
 */

const SCHEMA_VERSION = '2';

const STATE = `
  CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

const SCHEMA = `
  ${STATE}
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
    ref TEXT,
    transcript_from TEXT NOT NULL DEFAULT '',
    transcript_earlier TEXT,
    tokens INTEGER,
    model TEXT,
    attempts INTEGER NOT NULL DEFAULT 1,
    error TEXT,
    conversation TEXT NOT NULL,
    lineage TEXT NOT NULL DEFAULT '',
    lease TEXT,
    lease_ms INTEGER NOT NULL,
    lease_until INTEGER NOT NULL DEFAULT 0,
    retry_interval_ms INTEGER NOT NULL,
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
`;

/** Tables and indices of version 2. */
const LINEAGES = `
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

/** Columns that version 1 lacks. */
const FROM_VERSION_1 = `
  ALTER TABLE memories ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
  ALTER TABLE pins ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
`;

type StateKey =
  | 'schema_version'
  | 'health'
  | 'memory_strategy'
  | 'memory_injection'
  | 'frozen_injection'
  | 'frozen_sources'
  | 'told_at'
  | 'digest_rest_until'
  | 'bill_sums'
  | 'bill_standing';

/** Values that are no memory. They make the table `state` alone. */
const BESIDE_MEMORY: ReadonlySet<StateKey> = new Set(['told_at', 'bill_sums', 'bill_standing']);

/** Readers must call `exists` first and writers `make`. `get` and `set` do that themselves. */
export class MemoryTables {
  readonly sql: SqlStorage;
  private known: boolean | undefined;
  private hasState: boolean | undefined;

  constructor(sql: SqlStorage) {
    this.sql = sql;
  }

  /** Migrates older tables on the first call. */
  exists(): boolean {
    if (this.known !== undefined) return this.known;
    this.known = this.isTable('memories');
    if (this.known && this.get('schema_version') === '1') {
      this.sql.exec(FROM_VERSION_1 + LINEAGES);
      this.set('schema_version', SCHEMA_VERSION);
    }
    return this.known;
  }

  make(): void {
    if (this.exists()) return;
    this.sql.exec(SCHEMA + LINEAGES);
    this.known = true;
    this.hasState = true;
    this.set('schema_version', SCHEMA_VERSION);
  }

  /** Deletes all versions, and what belongs to them. There must be tables. */
  deleteVersions(): void {
    for (const table of ['memories', 'pins', 'lineages']) this.sql.exec(`DELETE FROM ${table}`);
  }

  /** Deletes all rows. @param settings whether to keep the caller's settings */
  strip(settings: boolean): void {
    this.deleteVersions();
    const kept = ['schema_version', ...(settings ? ['memory_strategy', 'memory_injection', 'told_at'] : [])];
    this.deleteStateBut(kept);
  }

  /** Deletes the tables of a memory of which nothing is left. What is no memory stays. */
  unmake(): void {
    if (!this.exists()) return;
    for (const table of ['memories', 'pins', 'lineages']) this.sql.exec(`DROP TABLE IF EXISTS ${table}`);
    this.known = false;
    this.deleteStateBut([...BESIDE_MEMORY]);
  }

  /** Call this after the tables were deleted elsewhere. */
  forget(): void {
    this.known = undefined;
    this.hasState = undefined;
  }

  /** A value of the table `state`; null if there is none. */
  get(key: StateKey): string | null {
    this.hasState ??= this.isTable('state');
    if (!this.hasState) return null;
    const [row] = this.sql.exec<{ value: string }>('SELECT value FROM state WHERE key = ?', key).toArray();
    return row?.value ?? null;
  }

  /** Sets a value of the table `state`. */
  set(key: StateKey, value: string): void {
    if (!BESIDE_MEMORY.has(key)) this.make();
    else if (!this.hasState) this.makeState();
    this.sql.exec('INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)', key, value);
  }

  private makeState(): void {
    this.sql.exec(STATE);
    this.hasState = true;
  }

  private deleteStateBut(keys: readonly string[]): void {
    this.sql.exec(
      'DELETE FROM state WHERE key NOT IN (SELECT value FROM json_each(?))',
      JSON.stringify(keys),
    );
  }

  private isTable(name: string): boolean {
    return this.sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', name).toArray().length > 0;
  }
}
