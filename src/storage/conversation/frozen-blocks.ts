/**
 * The memory blocks that a conversation's views show, frozen at a point of its array. See
 * `storage-schema.md`.
 */
import type { MemoryBlock } from '../../memory/strategy/memory-blocks.ts';
import { AMONG, type LazyTables } from '../tables.ts';
import type { ConversationTables } from './tables.ts';

/**
 * Frozen blocks kept, about the newest ones. A session made from a hash holds many conversations.
 */
const KEPT = 2_000;

const TABLE = 'frozen_blocks';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    frozen_id INTEGER PRIMARY KEY AUTOINCREMENT,
    point TEXT NOT NULL,
    label TEXT NOT NULL,
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (point, label)
  );
`;

export class FrozenBlocks {
  readonly table: LazyTables;

  constructor(tables: ConversationTables) {
    this.table = tables.lazyOfMemory(SCHEMA);
  }

  /** The blocks that are frozen at a point, of these labels. */
  at(point: string, labels: readonly string[]): MemoryBlock[] {
    return this.table.all(
      `SELECT label, version, text FROM ${TABLE} WHERE point = ? AND label ${AMONG}`,
      point,
      labels,
    );
  }

  /**
   * Freezes blocks, so that their bytes don't change.
   *
   * @param replaces whether they replace blocks that are frozen there already
   * @returns the frozen blocks, which are others if a caller was faster
   */
  freeze(point: string, blocks: readonly MemoryBlock[], replaces: boolean): MemoryBlock[] {
    for (const { label, version, text } of blocks)
      this.table.insert({ point, label, version, text }, replaces ? 'REPLACE' : 'IGNORE');
    const labels = blocks.map(({ label }) => label);
    const frozen = this.at(point, labels);
    this.table.keepNewest(KEPT, 'frozen_id');
    return frozen;
  }
}
