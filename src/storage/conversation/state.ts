/**
 * The values that a conversation keeps beside its versions: health, settings and the frozen
 * injection.
 */
import { assertFits, HEALTHY, type Health, type Settings } from './memories.ts';
import type { MemoryTables } from './tables.ts';

const SETTINGS = ['memory_strategy', 'memory_injection'] as const satisfies readonly (keyof Settings)[];

export class ConversationState {
  private readonly tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.tables = tables;
  }

  health(): Health {
    const stored = this.tables.get('health');
    return stored === null ? HEALTHY : (JSON.parse(stored) as Health);
  }

  saveHealth(health: Health): void {
    this.tables.set('health', JSON.stringify(health));
  }

  settings(): Settings {
    return {
      memory_strategy: JSON.parse(this.tables.get('memory_strategy') ?? 'null'),
      memory_injection: JSON.parse(this.tables.get('memory_injection') ?? 'null'),
    };
  }

  /** Changes the settings that are named; null erases. @throws RangeError if one is too long */
  configure(changes: Partial<Settings>): void {
    const named = SETTINGS.filter((name) => changes[name] !== undefined);
    const values = named.map((name) => [name, JSON.stringify(changes[name])] as const);
    for (const [, value] of values) assertFits(value);
    if (!this.tables.exists() && values.every(([, value]) => value === 'null')) return;
    for (const [name, value] of values) this.tables.set(name, value);
  }

  /** The frozen text, which may be empty; null: none yet. */
  injection(): string | null {
    return this.tables.get('frozen_injection');
  }

  /** When this conversation was last reported to the tenant's object, in milliseconds; 0: never. */
  reportedAt(): number {
    return Number(this.tables.get('told_at') ?? 0);
  }

  saveReportedAt(at: number): void {
    this.tables.set('told_at', String(at));
  }

  /**
   * Freezes the first text, so that its bytes never change.
   *
   * @returns the frozen text
   * @throws RangeError if it is too long
   */
  freezeInjection(text: string): string {
    const frozen = this.injection();
    if (frozen !== null) return frozen;
    assertFits(text);
    this.tables.set('frozen_injection', text);
    return text;
  }
}
