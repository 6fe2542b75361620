/** The triggers that count steps and messages, at successive request points of one array. */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import { goesWithSteps, type History, messagesOf, type Unit } from '../conversation/history.ts';
import type { Mover, ReplayPoint } from './mover.ts';
import { type Cuts, type Due, frontierUnit, type ReplayRule } from './rule.ts';

/** The least share of `max_messages` that a move takes out, so that not every request is a move. */
const LEAST_SHARE = 0.5;

export class CountTriggers {
  private readonly history: History;
  private readonly rule: ReplayRule;
  private readonly steps: PrefixSums;
  private readonly messages: PrefixSums;
  /** Messages of the units that leave as steps. */
  private readonly stepMessages: PrefixSums;
  /** The units before this one are no longer counted by the trigger for steps. */
  cut = 0;

  constructor(history: History, rule: ReplayRule) {
    this.history = history;
    this.rule = rule;
    const sums = (of: (unit: Unit) => number): PrefixSums => new PrefixSums(history.units.map(of));
    const size = (unit: Unit): number => (unit.kind === 'summary' ? 0 : messagesOf(history, unit).length);
    this.steps = sums(({ step }) => (step ? 1 : 0));
    this.messages = sums(size);
    this.stepMessages = sums((unit) => (goesWithSteps(unit) ? size(unit) : 0));
  }

  /** Moves up to the tail if a trigger is met. Returns that trigger. */
  move(at: ReplayPoint, mover: Mover): Due | undefined {
    const due = this.dueBySteps(at) ?? this.dueByMessages(at, mover);
    if (!due) return undefined;
    const before = mover.position;
    mover.move(due, at);
    if (due.trigger === 'steps' && mover.position !== before)
      this.cut = Math.max(this.cut, frontierUnit(at.tail));
    return due;
  }

  /** Whether the next step meets a trigger. */
  isNear(mover: Mover): boolean {
    const { stepsDue = NEVER, messagesDue = NEVER } = this.rule;
    const end = this.history.units.length;
    const messages = this.messages.before(end) - this.leftOut(mover.leftCuts, mover.rewrites);
    return this.stepsUpTo(end) + 1 >= stepsDue || messages + MESSAGES_PER_STEP >= messagesDue;
  }

  private dueBySteps({ units, tail }: ReplayPoint): Due | undefined {
    const { stepsDue } = this.rule;
    if (stepsDue === undefined || this.stepsUpTo(units) < stepsDue) return undefined;
    const inTurns = this.steps.between(Math.min(tail.turn, units), units);
    return this.toTail('steps', Number.POSITIVE_INFINITY, inTurns >= stepsDue);
  }

  private dueByMessages({ units, tail }: ReplayPoint, { leftCuts, rewrites }: Mover): Due | undefined {
    const { messagesDue, frontier } = this.rule;
    if (messagesDue === undefined) return undefined;
    const all = this.messages.before(units);
    const left = frontier === 'slide' ? 0 : this.leftOut(leftCuts, rewrites);
    if (all - left < messagesDue) return undefined;
    const turn = Math.max(leftCuts.turn, tail.turn);
    const withTurns = this.leftOut({ turn, step: leftCuts.step }, rewrites);
    const shrinks = all - withTurns >= messagesDue && this.rule.keepSteps !== undefined;
    const step = Math.max(leftCuts.step, tail.tight);
    const leaves = shrinks ? this.leftOut({ turn, step }, rewrites) : withTurns;
    if (leaves - left < Math.max(1, messagesDue * LEAST_SHARE)) return undefined;
    return this.toTail('messages', 0, shrinks);
  }

  private toTail(trigger: 'steps' | 'messages', lossyOver: number, shrinks: boolean): Due {
    const { hard, window, frontier } = this.rule;
    const trimOver = Math.min(hard ?? window, window);
    const unconditional = frontier === 'slide';
    return { trigger, lossyOver, trimOver, unconditional, target: 0, tightOver: shrinks ? 0 : undefined };
  }

  private stepsUpTo(unit: number): number {
    const from = this.rule.frontier === 'slide' ? 0 : Math.min(this.cut, unit);
    return this.steps.between(from, unit);
  }

  /** The messages before the cuts. @param rewrites whether the request of a cut turn stays */
  private leftOut(cuts: Cuts, rewrites: boolean): number {
    const { units, turns } = this.history;
    if (!rewrites) {
      const { turn, step } = cuts;
      return this.messages.before(turn) + (step > turn ? this.stepMessages.between(turn, step) : 0);
    }
    const unit = frontierUnit(cuts);
    const isInTurn = units[unit]?.kind !== 'user' && (turns[0] ?? unit) < unit;
    return this.messages.before(unit) - (isInTurn ? 1 : 0);
  }
}

/** An assistant message and a result. */
const MESSAGES_PER_STEP = 2;
const NEVER = Number.POSITIVE_INFINITY;
