/**
 * Lineages: the conversations in one object whose session is the hash of an opening, which all
 * conversations with that opening share. Each has its own health, order of rolling memories, and
 * limits of rows and pins. An object with a session named by a caller has a single lineage, the
 * empty one.
 *
 * Rows belong to the lineage of the newest row among the array's boundaries. The row of the opening
 * itself is common to all, so a row built on it begins a lineage. Rolling conversations are also
 * known by their last round, since their rows may not reach beyond the opening.
 *
 * Their rows never match each other's arrays. So no conversation can slow down, suspend or evict
 * another.
 */
import type { Boundary } from '../../memory/conversation/passage.ts';
import { AMONG, type LazyTables } from '../tables.ts';
import { HEALTHY, type Health, type HealthState, type RoundHashes, type TextRequest } from './memories.ts';
import type { ConversationTables } from './tables.ts';
import type { ChainPorts } from './writer.ts';

/** With more, the least recently used lineage is deleted with its rows and pins. */
const KEPT_LINEAGES = 1_000;

/** How often the use of a lineage is noted, in milliseconds. */
const NOTING_MS = 60 * 60_000;

/** The only lineage of an object with a session named by a caller. */
const NAMED = '';

const WORST_FIRST: readonly HealthState[] = ['degraded', 'recovering', 'retry'];

export class Lineages {
  private readonly tables: ConversationTables;
  private readonly table: LazyTables;
  private readonly ports: ChainPorts;
  private readonly opening: string | undefined;

  /** @param opening the hash that names the session; undefined if a caller named it */
  constructor(tables: ConversationTables, ports: ChainPorts, opening: string | undefined) {
    this.ports = ports;
    this.tables = tables;
    this.table = tables.versions;
    this.opening = opening;
  }

  /** The lineage of an array; null if nothing is stored of it. */
  find(boundaries: readonly Boundary[], round: RoundHashes | undefined): string | null {
    if (this.opening === undefined) return NAMED;
    return this.byRows(boundaries, this.opening) ?? this.byRound(round);
  }

  /** The lineage of a claim, which may begin a new one. */
  of({ bases, boundary, round }: Pick<TextRequest, 'bases' | 'boundary' | 'round'>): string {
    return this.find([...bases, boundary], round) ?? ownHash(round) ?? boundary.prefixHash;
  }

  /**
   * Notes that a lineage is in use, by a round if there is one. There must be tables.
   *
   * @param now in milliseconds
   */
  use(lineage: string, round: RoundHashes | undefined, now: number): void {
    if (lineage === NAMED) return;
    const hash = ownHash(round);
    const known = this.table.first<{ round_hash: string | null; used_at: number }>(
      'SELECT round_hash, used_at FROM lineages WHERE lineage = ?',
      lineage,
    );
    const isSameRound = hash === undefined || known?.round_hash === hash;
    if (known && isSameRound && now - known.used_at < NOTING_MS) return;
    this.table.change(
      `INSERT INTO lineages (lineage, round_hash, used_at) VALUES (?1, ?2, ?3) ON CONFLICT (lineage)
       DO UPDATE SET round_hash = coalesce(excluded.round_hash, round_hash), used_at = excluded.used_at`,
      lineage,
      hash ?? null,
      now,
    );
    if (!known) this.prune();
  }

  health(lineage: string | null): Health {
    if (lineage === NAMED) return this.tables.get('health') ?? HEALTHY;
    const health =
      lineage !== null && this.table.value<string>('SELECT health FROM lineages WHERE lineage = ?', lineage);
    return health ? (JSON.parse(health) as Health) : HEALTHY;
  }

  /** The worst health of all lineages. */
  worst(): HealthState {
    const rows = this.table.column<string>('SELECT health FROM lineages WHERE health IS NOT NULL');
    const states = rows.map((health) => (JSON.parse(health) as Health).state);
    const all = new Set([this.health(NAMED).state, ...states]);
    return WORST_FIRST.find((state) => all.has(state)) ?? 'healthy';
  }

  saveHealth(lineage: string, health: Health): void {
    const { state } = this.health(lineage);
    if (state !== health.state) this.ports.healthChanged?.(state, health.state);
    if (lineage === NAMED) this.tables.set('health', health);
    else
      this.table.change('UPDATE lineages SET health = ? WHERE lineage = ?', JSON.stringify(health), lineage);
  }

  private byRows(boundaries: readonly Boundary[], opening: string): string | undefined {
    return this.table.value(
      `SELECT m.lineage FROM json_each(?) c
         CROSS JOIN memories m INDEXED BY memories_by_prefix ON m.prefix_hash = c.value
       WHERE m.lineage <> '' AND m.prefix_hash <> ? ORDER BY c.key DESC, m.memory_id LIMIT 1`,
      boundaries.toSorted((a, b) => a.end - b.end).map(({ prefixHash }) => prefixHash),
      opening,
    );
  }

  private byRound(round: RoundHashes | undefined): string | null {
    if (!round || round.previous === null) return null;
    const found = this.table.value<string>(
      'SELECT lineage FROM lineages WHERE round_hash IN (?1, ?2) ORDER BY round_hash = ?1 DESC, used_at DESC LIMIT 1',
      round.hash,
      round.previous,
    );
    return found ?? null;
  }

  /** Lineages with a row in the making stay. */
  private prune(): void {
    const gone = this.table.column<string>(
      `DELETE FROM lineages WHERE lineage IN (
         SELECT lineage FROM lineages
         WHERE lineage NOT IN (
           SELECT lineage FROM memories WHERE memory_id ${AMONG})
         ORDER BY used_at, rowid LIMIT max(0, (SELECT count(*) FROM lineages) - ${KEPT_LINEAGES}))
       RETURNING lineage`,
      this.ports.making(),
    );
    for (const lineage of gone)
      for (const table of ['memories', 'pins'])
        this.table.change(`DELETE FROM ${table} WHERE lineage = ?`, lineage);
  }
}

/**
 * The hash of a round that identifies its conversation; undefined for the first round, whose
 * question may be common.
 */
function ownHash(round: RoundHashes | undefined): string | undefined {
  return round && round.previous !== null ? round.hash : undefined;
}
