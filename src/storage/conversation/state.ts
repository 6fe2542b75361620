/**
 * The values that a conversation keeps beside its versions: health, settings and the frozen
 * injection.
 */

import type { StoredPart } from '../tables.ts';
import {
  assertFits,
  type BlockSource,
  type FrozenBlock,
  HEALTHY,
  type Health,
  type Settings,
} from './memories.ts';
import type { ConversationTables } from './tables.ts';

/** Whether a conversation's requests continue each other. */
interface Continuity {
  /** Claims in a row whose array has held nothing of the summaries before. */
  readonly unlinked: number;
  /** When another one is made, in milliseconds since the epoch. */
  readonly retryAt: number;
}

const SETTINGS = ['memory_strategy', 'memory_injection'] as const satisfies readonly (keyof Settings)[];

export class ConversationState implements StoredPart {
  private readonly tables: ConversationTables;

  constructor(tables: ConversationTables) {
    this.tables = tables;
  }

  health(): Health {
    const stored = this.tables.get('health');
    return stored === null ? HEALTHY : (JSON.parse(stored) as Health);
  }

  saveHealth(health: Health): void {
    this.tables.set('health', JSON.stringify(health));
  }

  /** See `MemoryChain`. */
  continuity(): Continuity {
    const stored = this.tables.get('continuity');
    return stored === null ? { unlinked: 0, retryAt: 0 } : (JSON.parse(stored) as Continuity);
  }

  saveContinuity(continuity: Continuity): void {
    this.tables.set('continuity', JSON.stringify(continuity));
  }

  settings(): Settings {
    return {
      memory_strategy: JSON.parse(this.tables.get('memory_strategy') ?? 'null'),
      memory_injection: JSON.parse(this.tables.get('memory_injection') ?? 'null'),
    };
  }

  /** Whether a caller has set anything. */
  hasSettings(): boolean {
    const { memory_strategy, memory_injection } = this.settings();
    return memory_strategy !== null || memory_injection !== null;
  }

  any(): boolean {
    return this.hasSettings() || this.injection() !== null;
  }

  strip(settings: boolean): void {
    this.tables.stripState(settings);
  }

  /** Changes the settings that are named; null erases. @throws RangeError if one is too long */
  configure(changes: Partial<Settings>): void {
    const named = SETTINGS.filter((name) => changes[name] !== undefined);
    const values = named.map((name) => [name, JSON.stringify(changes[name])] as const);
    for (const [, value] of values) assertFits(value);
    if (!this.tables.exists() && values.every(([, value]) => value === 'null')) return;
    for (const [name, value] of values) this.tables.set(name, value);
  }

  /** The frozen block; null: none yet. */
  injection(): FrozenBlock | null {
    const text = this.tables.get('frozen_injection');
    if (text === null) return null;
    return { text, sources: JSON.parse(this.tables.get('frozen_sources') ?? '[]') as BlockSource[] };
  }

  /** When this conversation was last reported to the tenant's object, in milliseconds; 0: never. */
  reportedAt(): number {
    return Number(this.tables.get('told_at') ?? 0);
  }

  saveReportedAt(at: number): void {
    this.tables.set('told_at', String(at));
  }

  /**
   * Freezes a block, so that its bytes don't change.
   *
   * @param replaced the text of the block that it replaces; null: the first block
   * @returns the frozen block, which is another one if a caller was faster
   * @throws RangeError if it is too long
   */
  freezeInjection(block: FrozenBlock, replaced: string | null): FrozenBlock {
    const frozen = this.injection();
    if (frozen !== null && frozen.text !== replaced) return frozen;
    assertFits(block.text);
    this.tables.set('frozen_injection', block.text);
    this.tables.set('frozen_sources', JSON.stringify(block.sources));
    return block;
  }
}
