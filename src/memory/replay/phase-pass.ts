/** One pass of the phases of `auto` over the units. */
import type { Removal } from '../edits/removal.ts';
import type { Journal } from './journal.ts';

/** The first unit that each phase has not passed. */
export interface Passed {
  readonly light: number;
  readonly heavy: number;
  readonly media: number;
  readonly reasoning: number;
}

/** The same, where no phase passes the units before one any more that may still hold these. */
export function passedBefore(unit: number, passed: Passed): Passed {
  const { media, reasoning } = passed;
  return { ...passed, media: Math.max(unit, media), reasoning: Math.max(unit, reasoning) };
}

/** One pass of the phases over the units, until it has freed enough. */
export class Pass {
  passed: Passed;
  /** The first unit that it has changed. */
  first: number | undefined;
  /** Number of units that the phases have looked at. */
  tried = 0;
  private readonly journal: Journal;
  private readonly before: number;
  private readonly goal: (first: number) => number;

  constructor(journal: Journal, passed: Passed, goal: (first: number) => number) {
    this.journal = journal;
    this.before = journal.freed;
    this.passed = passed;
    this.goal = goal;
  }

  run(phase: keyof Passed, limit: number, removals: (unit: number) => readonly Removal[]): void {
    let unit = this.passed[phase];
    for (; unit < limit && !this.isEnough(); unit++) {
      const { length } = this.journal;
      this.journal.add(unit, removals(unit));
      if (this.journal.length > length) this.first = Math.min(unit, this.first ?? unit);
    }
    this.tried += Math.max(0, unit - this.passed[phase]);
    this.passed = { ...this.passed, [phase]: Math.max(unit, this.passed[phase]) };
  }

  private isEnough(): boolean {
    return this.first !== undefined && this.journal.freed - this.before >= this.goal(this.first);
  }
}
