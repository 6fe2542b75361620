/** The tail: the recent units that no edit reaches. */

import { elementAt } from '../../lib/elements.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import type { Cuts, ReplayRule } from './rule.ts';

/** The protected recent units, at one request point after the other. */
export class Tails {
  private readonly history: History;
  private readonly rule: ReplayRule;
  private readonly steps: readonly number[];
  private stepsSeen = 0;
  private unitsSeen = 0;
  private lastAssistant: number | undefined;
  /** The first unit of results after it. */
  private results: number | undefined;
  private point: RequestPoint = { messages: 0, units: 0, turns: 0 };

  constructor(history: History, rule: ReplayRule) {
    this.history = history;
    this.rule = rule;
    this.steps = history.units.flatMap((unit, index) => (unit.step ? [index] : []));
  }

  /** How far each cut may go at this request point. Points must be asked for in their order. */
  at(point: RequestPoint): Cuts {
    this.point = point;
    while ((this.steps[this.stepsSeen] ?? Number.POSITIVE_INFINITY) < point.units) this.stepsSeen++;
    for (; this.unitsSeen < point.units; this.unitsSeen++) this.pass(this.unitsSeen);
    const fresh = this.freshUnit();
    const { keepTurns, keepSteps } = this.rule;
    return {
      turn: this.stopBefore(Math.min(this.turnLimit(keepTurns), fresh)),
      step: Math.min(this.stepLimit(keepSteps), fresh),
    };
  }

  private pass(unit: number): void {
    const kind = this.history.units[unit]?.kind;
    if (kind === 'assistant') {
      this.lastAssistant = unit;
      this.results = undefined;
    } else if (kind === 'late' || kind === 'orphan') this.results ??= unit;
  }

  /** How far they could go at the next request, which begins a turn or a step. */
  beyond(): Cuts {
    const { keepTurns, keepSteps } = this.rule;
    return {
      turn: this.turnLimit(Math.max(0, keepTurns - 1)),
      step: this.stepLimit(keepSteps === undefined ? undefined : Math.max(0, keepSteps - 1)),
    };
  }

  /** Where whole turns go, the cut stands at the beginning of one. */
  private stopBefore(unit: number): number {
    if (this.rule.stops === 'unit' || unit === 0) return unit;
    for (let turn = this.point.turns - 1; turn >= 0; turn--) {
      const first = elementAt(this.history.turns, turn);
      if (first <= unit) return first;
    }
    return 0;
  }

  private turnLimit(keep: number): number {
    const { turns, units } = this.point;
    if (keep === 0) return units;
    return turns <= keep ? 0 : elementAt(this.history.turns, turns - keep);
  }

  private stepLimit(keep: number | undefined): number {
    if (keep === undefined) return 0;
    if (keep === 0) return this.point.units;
    return this.stepsSeen <= keep ? 0 : elementAt(this.steps, this.stepsSeen - keep);
  }

  /**
   * The first unit whose results are fresh: the model has not seen them, so nothing may remove
   * them. Of an assistant message the last one, open or not; after that the results of earlier
   * calls, and those of no call.
   */
  private freshUnit(): number {
    const unit = this.lastAssistant;
    if (unit !== undefined && this.history.units[unit]?.step) return unit;
    return this.results ?? this.point.units;
  }
}
