/** The cursor of edits that free tokens unit by unit. */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { HeldTokens } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import { AT_START, type Cursor, type Effect } from './mover.ts';
import { frontierUnit, type ReplayRule, turnsBefore } from './rule.ts';

export class UnitCursor implements Cursor {
  position = AT_START;
  readonly rewrites = false;
  /** Tokens that whole units would free, computed on demand, from the first one asked for. */
  private readonly sums = new PrefixSums();
  private summedFrom: number | undefined;
  private readonly history: History;
  private readonly stops: ReplayRule['stops'];
  private readonly effect: Effect;
  private readonly held: HeldTokens | undefined;

  /** @param held for edits that drop units */
  constructor(history: History, { stops }: Pick<ReplayRule, 'stops'>, effect: Effect, held?: HeldTokens) {
    this.history = history;
    this.stops = stops;
    this.effect = effect;
    this.held = held;
  }

  get turnsBefore(): number {
    return turnsBefore(this.history, this.position.cuts.turn);
  }

  arrive(messages: number): boolean {
    const { cuts, freed } = this.position;
    const back = this.held?.arrive(messages, frontierUnit(cuts)) ?? 0;
    if (back > 0) this.position = { cuts, freed: freed - back };
    return back > 0;
  }

  /** Sums are cached, so that all request points together take one pass. */
  mostFreed(unit: number): number {
    const { cuts } = this.position;
    // The cut never goes back after the one of an earlier move.
    this.summedFrom ??= cuts.turn;
    const from = this.summedFrom;
    for (let next = from + this.sums.length; next < Math.max(unit, cuts.turn); next++)
      this.sums.push(this.effect.whole(next));
    const held = this.heldBefore(frontierUnit(cuts)) - this.heldBefore(unit);
    return this.sums.between(cuts.turn - from, unit - from) + held;
  }

  turnTo(limit: number, enough: number): void {
    let { cuts, freed } = this.position;
    while (cuts.turn < limit && freed < enough) {
      const stop = this.nextStop(cuts.turn, limit);
      for (let unit = cuts.turn; unit < stop; unit++)
        freed += this.effect.whole(unit) - (unit < cuts.step ? this.effect.step(unit) : 0);
      const held = this.heldBefore(frontierUnit(cuts));
      cuts = { turn: stop, step: cuts.step };
      freed += held - this.heldBefore(frontierUnit(cuts));
    }
    this.position = { cuts, freed };
  }

  stepTo(limit: number, enough: number): void {
    const { cuts } = this.position;
    let { freed } = this.position;
    let step = frontierUnit(cuts);
    for (; step < limit && freed < enough; step++)
      freed += this.effect.step(step) + this.heldBefore(step) - this.heldBefore(step + 1);
    this.position = { cuts: { turn: cuts.turn, step }, freed };
  }

  private heldBefore(unit: number): number {
    return this.held?.before(unit) ?? 0;
  }

  private nextStop(from: number, limit: number): number {
    if (this.stops === 'unit') return from + 1;
    for (let unit = from + 1; unit < limit; unit++)
      if (this.history.units[unit]?.kind === 'user') return unit;
    return limit;
  }
}
