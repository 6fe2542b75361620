/**
 * Large outputs that the model has answered with in view often enough. They may leave in a move of
 * their own, whatever the budget: little follows them, so little is read again.
 */
import { elementAt } from '../../lib/elements.ts';
import type { RequestPoint } from '../conversation/history.ts';
import type { Removal } from '../edits/removal.ts';
import { mostFitting } from '../tokens/fitting.ts';

/** A large output that may leave the view. */
export interface LargeOutput {
  readonly unit: number;
  readonly removal: Removal;
}

/** Which large outputs may leave, and when. */
export interface EarlyLeaving {
  /** In the order of their units. */
  readonly outputs: readonly LargeOutput[];
  /** Answers that follow an output before it may leave. */
  readonly answers: number;
  /** Whether outputs in the tail stay longer. */
  readonly keepsTail: boolean;
}

/** Outputs that wait to leave; of more, the oldest are left to the moves of the budget. */
const MOST_WAITING = 64;

/** How far the outputs have been looked through. */
export interface SeenState {
  readonly next: number;
  readonly waiting: readonly LargeOutput[];
}

/** The outputs at successive request points. */
export class SeenOutputs {
  private readonly leaving: EarlyLeaving;
  private readonly points: readonly RequestPoint[];
  /** Assign an earlier one to go on from there. */
  state: SeenState = { next: 0, waiting: [] };

  constructor(leaving: EarlyLeaving, points: readonly RequestPoint[]) {
    this.leaving = leaving;
    this.points = points;
  }

  /**
   * Those that may leave at a request point, latest first. Empty unless there are new ones: more
   * and more follows the others, so what did not pay for them before does not pay now.
   *
   * @param point the index of the request point; call it for points in order
   * @param limit the unit before which they are
   * @param isShown whether an output is still in the view
   */
  at(point: number, limit: number, isShown: (output: LargeOutput) => boolean): readonly LargeOutput[] {
    const due = this.dueAt(point, limit);
    if (due.length === 0) return [];
    const { next, waiting } = this.state;
    const all = [...due.toReversed(), ...waiting].filter(isShown).slice(0, MOST_WAITING);
    this.state = { next: next + due.length, waiting: all };
    return all;
  }

  /** Those that may leave from a request point on, and not before it. */
  dueAt(point: number, limit = Number.POSITIVE_INFINITY): readonly LargeOutput[] {
    const { outputs, answers } = this.leaving;
    const { next } = this.state;
    let end = next;
    for (let output = outputs[end]; output && output.unit < limit; output = outputs[++end])
      if (point - this.requestOf(output) < answers) break;
    return outputs.slice(next, end);
  }

  /** The index of the first request with an output. */
  private requestOf({ removal }: LargeOutput): number {
    const { points } = this;
    return mostFitting(points.length, (count) => elementAt(points, count - 1).messages <= removal.message);
  }
}
