/**
 * What a replay has removed so far, unit by unit: sums of what it frees before any unit, and the
 * way back.
 */
import { ChangingSums } from '../../lib/prefix-sums.ts';
import type { Removal } from '../edits/removal.ts';

/** The removals of one unit by one phase. */
export interface JournalEntry {
  readonly unit: number;
  readonly removals: readonly Removal[];
  readonly freed: number;
}

/** Appending, taking back and summing up to a unit cost the logarithm of the number of units. */
export class Journal {
  private readonly list: JournalEntry[] = [];
  private readonly sums: ChangingSums;
  private readonly freesOf: (unit: number, tokens: number) => void;
  private sum = 0;

  /**
   * @param freesOf is called with what a unit has less, or with less than 0 where that is taken
   *   back
   */
  constructor(units: number, freesOf: (unit: number, tokens: number) => void = () => {}) {
    this.sums = new ChangingSums(units);
    this.freesOf = freesOf;
  }

  get length(): number {
    return this.list.length;
  }

  /** Tokens that all entries free. */
  get freed(): number {
    return this.sum;
  }

  /** Tokens that the entries of the units before one free. */
  freedBefore(unit: number): number {
    return this.sums.before(unit);
  }

  /** Nothing is noted of a unit that nothing is removed of. */
  add(unit: number, removals: readonly Removal[]): void {
    if (removals.length === 0) return;
    const freed = removals.reduce((sum, removal) => sum + removal.freed, 0);
    this.list.push({ unit, removals, freed });
    this.count(unit, freed);
  }

  /** Takes back what was added last. */
  truncate(length: number): void {
    while (this.list.length > length) {
      const entry = this.list.pop();
      if (entry) this.count(entry.unit, -entry.freed);
    }
  }

  entries(from: number, to: number): readonly JournalEntry[] {
    return this.list.slice(from, to);
  }

  private count(unit: number, freed: number): void {
    this.sum += freed;
    this.freesOf(unit, freed);
    this.sums.add(unit, freed);
  }
}
