/** The tail: the recent units that no edit touches. */

import { elementAt } from '../../lib/elements.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { Cuts, ReplayRule, TailCuts } from './rule.ts';

/** The tail at successive request points. */
export class Tails {
  private readonly history: History;
  private readonly rule: ReplayRule;
  private readonly sums: Pick<TokenSums, 'at'>;
  private readonly steps: readonly number[];
  private stepsSeen = 0;
  private unitsSeen = 0;
  private lastAssistant: number | undefined;
  /** The first unit of results after it. */
  private results: number | undefined;
  private point: RequestPoint = { messages: 0, units: 0, turns: 0 };

  /** @param sums tokens of the messages */
  constructor(history: History, rule: ReplayRule, sums: Pick<TokenSums, 'at'>) {
    this.history = history;
    this.rule = rule;
    this.sums = sums;
    this.steps = history.units.flatMap((unit, index) => (unit.step ? [index] : []));
  }

  /** The limit of each cut at a request point. Call it for request points in order. */
  at(point: RequestPoint): TailCuts {
    this.point = point;
    while ((this.steps[this.stepsSeen] ?? Number.POSITIVE_INFINITY) < point.units) this.stepsSeen++;
    for (; this.unitsSeen < point.units; this.unitsSeen++) this.pass(this.unitsSeen);
    const fresh = this.freshUnit();
    const { keepTurns, keepSteps } = this.rule;
    return {
      turn: this.stopBefore(Math.min(this.turnLimit(keepTurns), fresh)),
      step: Math.min(this.stepLimit(this.withSmallSteps(keepSteps)), fresh),
      tight: Math.min(this.stepLimit(keepSteps), fresh),
    };
  }

  private pass(unit: number): void {
    const kind = this.history.units[unit]?.kind;
    if (kind === 'assistant') {
      this.lastAssistant = unit;
      this.results = undefined;
    } else if (kind === 'late' || kind === 'orphan') this.results ??= unit;
  }

  /** The limits at the next request, which begins a turn or a step. */
  beyond(): Cuts {
    const { keepTurns, keepSteps } = this.rule;
    return {
      turn: this.turnLimit(Math.max(0, keepTurns - 1)),
      step: this.stepLimit(keepSteps === undefined ? undefined : Math.max(0, keepSteps - 1)),
    };
  }

  /** The cut for a limit; at the beginning of a turn if whole turns are dropped. */
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

  /** The number of steps in a tail in which this many are not small. */
  private withSmallSteps(keep: number | undefined): number | undefined {
    const { smallSteps } = this.rule;
    if (keep === undefined || !smallSteps) return keep;
    let steps = 0;
    for (let counted = 0; counted < keep && steps < Math.min(smallSteps.most, this.stepsSeen); steps++)
      if (this.readIn(elementAt(this.steps, this.stepsSeen - 1 - steps)) >= smallSteps.under) counted++;
    return Math.max(keep, steps);
  }

  /** Tokens of the results in a step. */
  private readIn(unit: number): number {
    const { outputs } = elementAt(this.history.units, unit);
    return outputs.reduce((sum, { message }) => sum + this.sums.at(message), 0);
  }

  private stepLimit(keep: number | undefined): number {
    if (keep === undefined) return 0;
    if (keep === 0) return this.point.units;
    return this.stepsSeen <= keep ? 0 : elementAt(this.steps, this.stepsSeen - keep);
  }

  /**
   * The first unit with fresh results, which the model has not seen and which nothing may remove:
   * results of the last assistant message, or after it the results of earlier calls and of no call.
   * Or the answer that an array ends with: the model continues it, unless the whole array is put
   * away.
   */
  private freshUnit(): number {
    const unit = this.lastAssistant;
    if (unit !== undefined && this.history.units[unit]?.step) return unit;
    return this.results ?? (this.rule.whole ? this.point.units : this.answerInProgress());
  }

  /** The first unit of the answer that ends the array, or the end where another unit does. */
  private answerInProgress(): number {
    const { units } = this.history;
    const isAnswer = (unit: number): boolean => units[unit]?.kind === 'assistant' && !units[unit]?.step;
    let unit = this.point.units;
    while (isAnswer(unit - 1)) unit--;
    return unit;
  }
}
