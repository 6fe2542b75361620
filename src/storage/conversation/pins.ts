/**
 * The memory and the digest that each round uses, so that all its requests see the same. Nothing is
 * pinned while there are no rows. Each lineage has its own limit (see `lineages.ts`).
 */
import type { LazyTables } from '../tables.ts';
import { type FindRequest, LISTED, type Memory, type RoundMemory } from './memories.ts';
import type { MemoryRows } from './rows.ts';

const KEPT_PINS = 500;

interface Pin {
  /** The id of a row; null: none. */
  readonly memory_id: number | null;
  /** The hash up to which its digest reaches. Empty: no digest; null: not decided. */
  readonly digest_hash: string | null;
}

export class Pins {
  private readonly table: LazyTables;
  private readonly rows: MemoryRows;

  constructor(table: LazyTables, rows: MemoryRows) {
    this.table = table;
    this.rows = rows;
  }

  /**
   * The version that a round uses; the first request decides. A pin is decided again if its row is
   * gone or covers other messages.
   *
   * @param lineage null: nothing is stored of this conversation, and nothing is pinned
   */
  memory({ strategyHash, boundaries }: FindRequest, round: string, lineage: string | null): Memory | null {
    const pin = this.of(round, strategyHash);
    if (pin?.memory_id === null) return null;
    const kept = pin && this.rows.longest(strategyHash, boundaries, { only: pin.memory_id });
    if (kept) return kept;
    const memory = this.rows.longest(strategyHash, boundaries);
    if (lineage !== null) this.pin(round, strategyHash, lineage, memory?.memory_id ?? null, 'REPLACE');
    return memory;
  }

  /** What a round uses; undefined: it is not pinned. */
  of(round: string, strategyHash: string): Pin | undefined {
    return this.table.first<Pin>(
      'SELECT memory_id, digest_hash FROM pins WHERE round_hash = ? AND strategy_hash = ?',
      round,
      strategyHash,
    );
  }

  /** Sets that hash, unless it is set. */
  pinDigest(round: string, strategyHash: string, hash: string): void {
    this.table.change(
      'UPDATE pins SET digest_hash = ? WHERE round_hash = ? AND strategy_hash = ? AND digest_hash IS NULL',
      hash,
      round,
      strategyHash,
    );
  }

  /** The newest pins of all lineages, newest first. */
  listing(): RoundMemory[] {
    return this.table.all<RoundMemory>(
      `SELECT round_hash, strategy_hash, memory_id, digest_hash FROM pins ORDER BY pin_id DESC LIMIT ${LISTED}`,
    );
  }

  /** Pins a round to no memory, unless it is pinned. */
  pinToNone(round: string, strategyHash: string, lineage: string): void {
    this.pin(round, strategyHash, lineage, null, 'IGNORE');
  }

  /** Has a round decide again. */
  release(round: string, strategyHash: string): void {
    this.table.change('DELETE FROM pins WHERE round_hash = ? AND strategy_hash = ?', round, strategyHash);
  }

  private pin(
    round: string,
    strategyHash: string,
    lineage: string,
    memoryId: number | null,
    ifThere: 'IGNORE' | 'REPLACE',
  ): void {
    if (!this.rows.any()) return;
    const pin = { round_hash: round, strategy_hash: strategyHash, lineage, memory_id: memoryId };
    this.table.insert(pin, ifThere, 'pins');
    this.table.change(
      `DELETE FROM pins WHERE pin_id IN (
         SELECT pin_id FROM pins WHERE lineage = ? ORDER BY pin_id DESC LIMIT -1 OFFSET ${KEPT_PINS})`,
      lineage,
    );
  }
}
