/**
 * Finds the frontier by replaying the array from its beginning (docs/design.md#jump).
 *
 * The replay applies the same rule at each request point as it did when that request was made. So
 * any isolate finds the same frontier, a longer array finds the same one or a later one, and
 * between two moves nothing that was sent changes.
 *
 * It takes one pass over the request points, and one pass of each cut over the units.
 *
 * A request point is before each assistant message that answers, and at the end of the array. There
 * are two cuts: all units before the turn cut are edited; between it and the step cut, only steps
 * are, after the tail had to shrink. `jump` measures the view: tokens over the budget, or turns
 * since the last move due to turns. `slide` measures the caller's array. The answer's room is
 * checked at the last request point, after everything else.
 *
 * A move that can't free `min_reclaim_tokens` is not tried. In `auto`, a failed move is tried again
 * after a number of units that depends on how many the try has visited.
 */

import { elementAt } from '../../lib/elements.ts';
import type { History } from '../conversation/history.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { ThinkingInView } from './bound-thinking.ts';
import { CountTriggers } from './count-triggers.ts';
import { dueAt, dueByAnswer, farther, isNear, leavesAlone, nextMove } from './due.ts';
import type { Mover, Reach, ReplayPoint } from './mover.ts';
import type { NextMove, Refusal, Trigger } from './reasons.ts';
import { type Cuts, type Due, frontierUnit, type ReplayRule } from './rule.ts';
import { Tails } from './tails.ts';

export interface Replay {
  readonly cuts: Cuts;
  /** Oldest first. The units between two of them are a segment. */
  readonly moves: readonly Move[];
  /** Whether the last request point moved the frontier. */
  readonly moved: boolean;
  /** What was due at the last request point, and was not taken. */
  readonly refused: readonly Refusal[];
  /** The trigger of the last move. */
  readonly trigger: Trigger;
  /** Tokens of the caller's array and of the view, without thinking that is bound. */
  readonly before: number;
  readonly after: number;
  /** The cuts of the next move if it is near enough to prepare for; otherwise equal to `cuts`. */
  readonly next: Cuts;
  /** The messages before this one are without thinking that is bound. Absent: all have theirs. */
  readonly thinkingFrom?: number;
  /** Where the next move is expected. Absent where it does not follow from tokens. */
  readonly nextMove?: NextMove | undefined;
  /** Whether a move is put off at the last request point, since it would cost thinking. */
  readonly waits?: boolean;
  /** The requests at which a move waits for its costs alone, as the lengths of their arrays. */
  readonly waited: readonly number[];
}

export interface Move {
  readonly cuts: Cuts;
  readonly trigger: Trigger;
  /** The array that was sent, up to this message. */
  readonly messages: number;
  /** Tokens of that array and of its view. */
  readonly before: number;
  readonly after: number;
  /**
   * The units before this one are not edited by a later move, unless they leave the view, or a
   * budget that this move did not have demands their reasoning.
   */
  readonly settled: number;
}

/**
 * Where a replay is before a request point. It follows from the messages before that point: the
 * replay of a longer array comes to the same one.
 */
export interface ReplayState<State> {
  /** The index of the request point: at least 1. */
  readonly point: number;
  readonly moves: readonly Move[];
  readonly trigger: Trigger;
  /** See `CountTriggers`. */
  readonly cut: number;
  /** See `Replay`. */
  readonly thinkingFrom: number | undefined;
  readonly waited: readonly number[];
  readonly mover: State;
}

/** Where a replay starts, and who learns where the next one may. */
interface Resume<State> {
  /** Absent: from the beginning. */
  readonly from?: ReplayState<State> | undefined;
  /** Called once, before the last request point but one: a longer array has both of them. */
  reached(state: ReplayState<State>): void;
}

/**
 * Finds the frontier.
 *
 * @param mover a new one, for the strategy's edits
 * @param resume absent: from the beginning
 */
export function replay<State>(
  history: History,
  rule: ReplayRule,
  sums: TokenSums,
  mover: Mover<State>,
  resume?: Resume<State>,
): Replay {
  const pass = new Pass(history, rule, sums, mover);
  if (resume?.from) pass.state = resume.from;
  const end = history.requestPoints.length - 1;
  while (pass.point <= end) {
    // A move for the answer's room of the last point but one would leave its traces in the state.
    if (pass.point === end - 1 && pass.point > 0) resume?.reached(pass.state);
    pass.next();
  }
  return pass.result();
}

const NO_THINKING = { loss: 0, ahead: 0 };

/** One pass over the request points. */
class Pass<State> {
  /** The index of the next request point. */
  point = 0;
  private readonly history: History;
  private readonly rule: ReplayRule;
  private readonly sums: TokenSums;
  private readonly mover: Mover<State>;
  private readonly tails: Tails;
  private readonly counts: CountTriggers;
  private readonly thinking: ThinkingInView | undefined;
  private moves: Move[] = [];
  private trigger: Trigger = 'none';
  private moved = false;
  /** The last one that was passed. */
  private at: ReplayPoint | undefined;
  /** The position of the request before the last one, including its answer's room. */
  private previous: Reach | undefined;
  private refused: readonly Refusal[] = [];
  private waits = false;
  private waited: number[] = [];

  constructor(history: History, rule: ReplayRule, sums: TokenSums, mover: Mover<State>) {
    this.history = history;
    this.rule = rule;
    this.sums = sums;
    this.mover = mover;
    this.tails = new Tails(history, rule, sums);
    this.counts = new CountTriggers(history, rule);
    this.thinking = rule.thinking && new ThinkingInView(history, rule.thinking);
  }

  get state(): ReplayState<State> {
    const { point, moves, trigger, counts, thinking, waited, mover } = this;
    const { cut } = counts;
    const lists = { moves: [...moves], waited: [...waited] };
    return { point, ...lists, trigger, cut, thinkingFrom: thinking?.from, mover: mover.state };
  }

  set state({ point, moves, trigger, cut, thinkingFrom, waited, mover }: ReplayState<State>) {
    this.point = point;
    this.moves = [...moves];
    this.waited = [...waited];
    this.trigger = trigger;
    this.counts.cut = cut;
    if (this.thinking) this.thinking.from = thinkingFrom ?? 0;
    this.mover.arrive(elementAt(this.history.requestPoints, point - 1).messages);
    this.mover.state = mover;
  }

  /** Passes the next request point. */
  next(): void {
    const { history, rule, mover, thinking, counts } = this;
    const index = this.point++;
    const end = history.requestPoints.length - 1;
    const point = elementAt(history.requestPoints, index);
    const before = this.sums.before(point.messages);
    const at = { ...point, index, tail: this.tails.at(point), arrayTokens: before };
    this.at = at;
    const last = index === end;
    const cameBack = mover.arrive(point.messages);
    if (cameBack) thinking?.leave(point);
    mover.see?.(at, history.requestPoints[index - 1]?.messages ?? 0);
    const { freed } = mover.position;
    mover.shed(0);
    const shed = mover.position.freed;
    const thought = thinking?.tokens(point) ?? 0;
    const isStill = last && rule.still === true && before - shed + thought <= rule.window - rule.answer;
    // What leaves early saves less than thinking is worth.
    if (!isStill && !thinking?.isIn(point)) mover.leave?.(at);
    const early = mover.position.freed;
    const made: Due[] = [];
    let known = early;
    const note = (due: Due | undefined): void => {
      if (due && mover.position.freed > known) made.push(due);
      known = mover.position.freed;
    };
    const view = before - early + thought;
    const isPutOff = !(rule.force && last) && thinking?.waits(point, view) === true;
    const { loss, ahead } = thinking?.weigh(point, view, this.sums) ?? NO_THINKING;
    const isOpen = thinking?.isOpen(point);
    const met = isStill
      ? undefined
      : dueAt(history, point, rule, mover, before + thought + ahead, last, isOpen);
    this.waits = isPutOff && met !== undefined;
    const due = isPutOff ? undefined : thought > 0 ? farther(met, loss) : met;
    if (due) mover.move(due, at);
    note(due);
    const isCold = due !== undefined && this.movesCold(due, at, early);
    note(due);
    const ofDue = due && mover.refused;
    const counted = isStill || isPutOff ? undefined : counts.move(at, mover);
    note(counted);
    shedOver(rule.window, mover, before);
    note(due);
    // The answer's room is checked last, so that the rule above is the same at every request.
    const dueForAnswer = last && !isStill ? dueByAnswer(rule, before - mover.position.freed) : undefined;
    if (dueForAnswer) mover.move(dueForAnswer, at);
    if (dueForAnswer) shedOver(rule.window - rule.answer, mover, before);
    note(dueForAnswer);
    if (index === end - 1) this.previous = this.cutByAnswer(at);
    // A try for a count of messages says nothing of why the view is over its budget.
    const tried = dueForAnswer ? mover.refused : (ofDue ?? (counted && mover.refused));
    this.refused = tried ?? [];
    const isEdited = mover.position.freed > freed;
    const isMove = isEdited || (due !== undefined && leavesAlone(rule, due, before - freed, thought));
    if (isMove) thinking?.leave(point);
    this.moved = isMove || cameBack;
    mover.settle(before);
    if (!isMove) return;
    const other = early > shed ? 'large_output' : 'token_budget';
    this.trigger = isCold ? 'cold_return' : ((isEdited ? triggerOf(made) : due?.trigger) ?? other);
    this.moves.push(this.moveAt(at));
  }

  /**
   * Makes a move that waits for its costs, where the upstream's cache is cold: then all is read
   * anew, with the move or without. Thinking in the middle of a turn is worth more than that.
   *
   * @param freed before the try that has failed
   */
  private movesCold(due: Due, at: ReplayPoint, freed: number): boolean {
    const { mover, rule, thinking } = this;
    if (!rule.cold || due.unconditional || mover.position.freed !== freed) return false;
    const waits = mover.refused.some(({ because }) => because === 'floor' || because === 'regret');
    if (!waits || thinking?.isOpen(at)) return false;
    if (rule.cold.has(at.messages)) mover.move({ ...due, isCold: true }, at);
    const isMove = mover.position.freed > freed;
    if (!isMove) this.waited.push(at.messages);
    return isMove;
  }

  /** The position for a request that is not the last one, including its answer's room. */
  private cutByAnswer(at: ReplayPoint): Reach {
    const { mover } = this;
    const { position, turnsCut } = mover;
    const due = dueByAnswer(this.rule, at.arrayTokens - position.freed);
    if (due) mover.move(due, at);
    const moved = mover.position;
    mover.position = position;
    mover.turnsCut = turnsCut;
    return moved;
  }

  /** The move that a request point has made. */
  private moveAt({ messages, arrayTokens: before }: ReplayPoint): Move {
    const { rule, mover, trigger } = this;
    const { cuts, freed } = mover.position;
    const array = before + (rule.thinking?.tokens.before(messages) ?? 0);
    return { cuts, trigger, messages, before: array, after: before - freed, settled: mover.settledUnit };
  }

  /** After the last request point. */
  result(): Replay {
    const { history, rule, mover, thinking, moves, refused, trigger, previous, waited, at } = this;
    const before = at?.arrayTokens ?? 0;
    const { cuts, freed } = mover.position;
    // A move for the answer's room of the previous request is not kept, and a summary that it
    // showed would disappear.
    const isGone =
      mover.rewrites &&
      previous !== undefined &&
      (frontierUnit(previous.cuts) !== frontierUnit(cuts) || previous.leftOut !== mover.position.leftOut);
    const moved = this.moved || isGone;
    const after = before - freed;
    const thought = thinking?.tokens({ messages: history.messages.length }) ?? 0;
    const near = isNear(history, rule, mover, after + thought) || this.counts.isNear(mover);
    const next = near ? this.tails.beyond() : cuts;
    const gone = thinking ? { thinkingFrom: thinking.from, waits: this.waits } : {};
    const paysFrom = at && mover.paysFrom?.(at);
    const isOpen = at && thinking?.isOpen(at);
    const expected = nextMove(rule, after + thought, refused, paysFrom, isOpen);
    return { cuts, moves, moved, refused, trigger, before, after, next, waited, nextMove: expected, ...gone };
  }
}

/** Lets Precis's rounds leave a view that is over a limit, after all else that may leave. */
function shedOver(limit: number, mover: Mover, arrayTokens: number): void {
  const over = arrayTokens - mover.position.freed - limit;
  if (over > 0) mover.shed(over);
}

/**
 * The first trigger by which messages or reasoning may have left, else the first one that has moved
 * the frontier; undefined if none has.
 */
function triggerOf(made: readonly Due[]): Trigger | undefined {
  return (made.find(({ lossyOver }) => Number.isFinite(lossyOver)) ?? made[0])?.trigger;
}
