/**
 * The tables of the register of callers: one object for the whole deployment, which no tenant has
 * the name of. Isolates read it now and then (`request/callers/register.ts`); no request waits for
 * a write. See `storage-schema.md`.
 */
import type { CallerLimits, CallerState } from '../../memory/money/caller-limits.ts';
import { AMONG, type LazyTables, type Tables } from '../tables.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS callers (
    name TEXT PRIMARY KEY,
    tenant TEXT,
    state TEXT NOT NULL,
    key_hash TEXT,
    limits TEXT,
    changed_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS seen_tenants (
    tenant TEXT PRIMARY KEY,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS register_version (version INTEGER NOT NULL);
`;

/** A caller that an operator has added or changed. */
export interface RegisteredCaller {
  /** The name of its access key, or the short name of a tenant. */
  readonly name: string;
  /** Its id, if it is no name of an access key: those follow from the name. */
  readonly tenant: string | null;
  /** A deleted one stays here, so that its key stays refused while it is in `ACCESS_KEYS`. */
  readonly state: CallerState;
  /** A keyed hash of an access key that was made here; null: the configuration has the key. */
  readonly keyHash: string | null;
  /** Null: the configuration's. */
  readonly limits: CallerLimits | null;
}

/** The registered callers, as they were at one time. */
export interface RegisteredCallers {
  /** Another one after each change. */
  readonly version: number;
  readonly callers: readonly RegisteredCaller[];
}

/** A change of a caller. What is absent stays. */
export interface CallerChange extends Partial<Omit<RegisteredCaller, 'name'>> {
  readonly name: string;
}

/** A tenant that has stored something, or spent under limits. Times in milliseconds since 1970. */
export interface SeenTenant {
  readonly tenant: string;
  readonly firstSeen: number;
  /** To the day: a tenant's object reports it once a day, in each of its lives. */
  readonly lastSeen: number;
}

/** Some of the tenants that were seen, and how many there are. */
export interface SeenTenants {
  readonly tenants: readonly SeenTenant[];
  readonly count: number;
}

type CallerRow = Omit<RegisteredCaller, 'limits'> & { readonly limits: string | null };

const SEEN = 'tenant, first_seen AS firstSeen, last_seen AS lastSeen';

export class CallerRows {
  private readonly tables: LazyTables;

  constructor(tables: Tables) {
    this.tables = tables.lazy(SCHEMA);
  }

  /** All registered callers; null if they are the same as in a version. */
  read(known: number | null): RegisteredCallers | null {
    const version = this.version();
    if (version === known) return null;
    return { version, callers: this.rows('ORDER BY name').map(callerOf) };
  }

  /** Adds or changes a caller. */
  change({ name, ...change }: CallerChange): RegisteredCaller {
    const before: RegisteredCaller = this.rows('WHERE name = ?', name).map(callerOf)[0] ?? {
      name,
      tenant: null,
      state: 'active',
      keyHash: null,
      limits: null,
    };
    const caller = { ...before, ...change };
    const { tenant, state, keyHash: key_hash } = caller;
    const limits = caller.limits && JSON.stringify(caller.limits);
    this.tables.insert({ name, tenant, state, key_hash, limits, changed_at: this.tables.now() }, 'REPLACE');
    const version = this.version() + 1;
    this.tables.change('DELETE FROM register_version');
    this.tables.change('INSERT INTO register_version (version) VALUES (?)', version);
    return caller;
  }

  /** Notes that a tenant is there. */
  see(tenant: string): void {
    this.tables.write(
      `INSERT INTO seen_tenants (tenant, first_seen, last_seen) VALUES (?1, ?2, ?2)
       ON CONFLICT (tenant) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)`,
      tenant,
      this.tables.now(),
    );
  }

  /** Forgets tenants whose data is deleted. */
  unsee(tenants: readonly string[]): void {
    this.tables.change(`DELETE FROM seen_tenants WHERE tenant ${AMONG}`, tenants);
  }

  /**
   * A page of tenants by their id.
   *
   * @param after the last one of the page before; empty: from the first
   */
  seen(after: string, most: number): SeenTenant[] {
    return this.tables.all<SeenTenant>(
      `SELECT ${SEEN} FROM seen_tenants WHERE tenant > ? ORDER BY tenant LIMIT ?`,
      after,
      most,
    );
  }

  /**
   * The tenants that were seen since a time, the last seen first, and how many they are.
   *
   * @param since in milliseconds
   */
  seenSince(since: number, most: number): SeenTenants {
    const all = this.tables.all<SeenTenant & { count: number }>(
      `SELECT ${SEEN}, count(*) OVER () AS count FROM seen_tenants
       WHERE last_seen >= ? ORDER BY last_seen DESC, tenant LIMIT ?`,
      since,
      most,
    );
    return { tenants: all.map(({ count: _, ...one }) => one), count: all[0]?.count ?? 0 };
  }

  /** The tenants among these that were seen. */
  seenAmong(tenants: readonly string[]): SeenTenant[] {
    return this.tables.all<SeenTenant>(`SELECT ${SEEN} FROM seen_tenants WHERE tenant ${AMONG}`, tenants);
  }

  private rows(which: string, ...values: string[]): CallerRow[] {
    const columns = 'name, tenant, state, key_hash AS keyHash, limits';
    return this.tables.all(`SELECT ${columns} FROM callers ${which}`, ...values);
  }

  private version(): number {
    return this.tables.value<number>('SELECT version FROM register_version') ?? 0;
  }
}

function callerOf({ limits, ...row }: CallerRow): RegisteredCaller {
  return { ...row, limits: limits === null ? null : JSON.parse(limits) };
}
