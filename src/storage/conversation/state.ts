/** What a conversation keeps beside its versions: settings, and the frozen injection. */

import type { StoredPart } from '../tables.ts';
import { assertFits, type FrozenBlock, type Settings } from './memories.ts';
import type { ConversationTables } from './tables.ts';

const SETTINGS = ['memory_strategy', 'memory_injection'] as const satisfies readonly (keyof Settings)[];

export class ConversationState implements StoredPart {
  private readonly tables: ConversationTables;

  constructor(tables: ConversationTables) {
    this.tables = tables;
  }

  settings(): Settings {
    return {
      memory_strategy: this.tables.get('memory_strategy') ?? null,
      memory_injection: this.tables.get('memory_injection') ?? null,
    };
  }

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
    for (const name of named) assertFits(JSON.stringify(changes[name]));
    if (!this.tables.exists() && named.every((name) => changes[name] === null)) return;
    for (const name of named) this.tables.set(name, changes[name]);
  }

  /** The frozen block; null: none yet. */
  injection(): FrozenBlock | null {
    const text = this.tables.get('frozen_injection');
    return text === undefined ? null : { text, sources: this.tables.get('frozen_sources') ?? [] };
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
    this.tables.set('frozen_sources', block.sources);
    return block;
  }
}
