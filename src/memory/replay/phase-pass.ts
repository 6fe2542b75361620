/** One pass of the phases of `auto` over the units. */
import type { Removal } from '../edits/removal.ts';
import type { Journal } from './journal.ts';
import type { RoundsInView } from './kept-rounds.ts';

/** The first unit that each phase has not passed. */
export interface Passed {
  readonly light: number;
  readonly heavy: number;
  readonly media: number;
  readonly reasoning: number;
}

/** The same, where no phase passes the units before one that may still hold these. */
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
  private readonly rounds: RoundsInView;
  private readonly before: number;
  private readonly goal: (first: number) => number;

  /** @param rounds those in the view, which leave where the phase `heavy` passes */
  constructor(journal: Journal, rounds: RoundsInView, passed: Passed, goal: (first: number) => number) {
    this.journal = journal;
    this.rounds = rounds;
    this.before = journal.freed - rounds.tokens(passed.heavy);
    this.passed = passed;
    this.goal = goal;
  }

  run(phase: keyof Passed, limit: number, removals: (unit: number) => readonly Removal[]): void {
    const passesRounds = phase === 'heavy';
    let unit = this.passed[phase];
    for (; unit < limit && !this.isEnough(passesRounds ? unit : this.passed.heavy); unit++) {
      const { length } = this.journal;
      this.journal.add(unit, removals(unit));
      const leaves = passesRounds && this.rounds.tokens(unit, unit + 1) > 0;
      if (leaves || this.journal.length > length) this.first = Math.min(unit, this.first ?? unit);
    }
    this.tried += Math.max(0, unit - this.passed[phase]);
    this.passed = { ...this.passed, [phase]: Math.max(unit, this.passed[phase]) };
  }

  private isEnough(heavy: number): boolean {
    if (this.first === undefined) return false;
    const freed = this.journal.freed - this.rounds.tokens(heavy);
    return freed - this.before >= this.goal(this.first);
  }
}
