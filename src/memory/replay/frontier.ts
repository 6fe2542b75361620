/**
 * Finds the frontier by replaying the array from its beginning (docs/design.md#jump).
 *
 * Nothing is remembered between requests. The replay applies the same rule at each request point as
 * it did when that request was made. So any isolate finds the same frontier, a longer array finds
 * the same one or a later one, and between two moves nothing that was sent changes.
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

import type { History, RequestPoint } from '../conversation/history.ts';
import type { Refusal } from '../run/event.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { ThinkingInView } from './bound-thinking.ts';
import { CountTriggers } from './count-triggers.ts';
import { MoveCause } from './move-cause.ts';
import { type Cuts, type Due, filledUpTo, frontierUnit, type ReplayRule, type TailCuts } from './rule.ts';
import { Tails } from './tails.ts';
import type { Trigger } from './trigger.ts';

/** The cuts during a replay, and the tokens that they free. */
export interface Cursor {
  /** Current position. Assign an earlier one to undo moves. */
  position: Position;
  /** Turns that the turn trigger no longer counts. */
  turnsCut: number;
  /** See `Mover`. */
  readonly rewrites: boolean;
  /** See `Mover`. */
  arrive(messages: number): boolean;
  /** An upper bound of what a move to this unit frees. */
  mostFreed(unit: number): number;
  /** Moves the turn cut towards `limit`, until `enough` tokens are freed in total. */
  turnTo(limit: number, enough: number): void;
  /** Moves the step cut likewise. */
  stepTo(limit: number, enough: number): void;
  /**
   * Ends a move: puts contents back behind a summary that has moved, and takes them from one that
   * could not move while the view is over its budget. Absent where none come back.
   *
   * @param least tokens that stay freed
   */
  refill?(arrayTokens: number, due: Due, least: number): void;
  /** See `Mover`. Absent for a view without rounds of ours. */
  shed?(over: number): boolean;
}

/** The position of a cursor. */
export interface Position extends Standing {
  /** Turns that begin before the turn cut. */
  readonly turnsBefore: number;
}

/** Before the first unit. */
export const AT_START: Position = { cuts: { turn: 0, step: 0 }, freed: 0, turnsBefore: 0 };

/** Tokens that an edit frees in a unit. */
export interface Effect {
  /** In a unit before the turn cut. */
  whole(unit: number): number;
  /** In a unit that is only before the step cut. */
  step(unit: number): number;
}

/** Anything that a replay moves: a cursor, or the phases of `auto`. */
export interface Mover {
  /** Current position. Assign an earlier one to undo moves. */
  position: Standing;
  /** Turns that the turn trigger no longer counts. */
  turnsCut: number;
  /** Turns that have left the view. */
  readonly turnsLeftOut: number;
  /** The units before these cuts have left the view. */
  readonly leftCuts: Cuts;
  /** See `Move.settled`. */
  readonly settledUnit: number;
  /** Whether a move changes bytes even if it frees nothing. */
  readonly rewrites: boolean;
  /**
   * Adds the messages before an index. Returns whether a result among them brings something back
   * into the view.
   */
  arrive(messages: number): boolean;
  /**
   * Shortens outputs that the model has not seen, where the view would not fit its budget with them
   * whatever else left it. That is no move, since nothing of them was sent. Absent: all stay whole.
   *
   * @param since the first message that no answer has followed
   */
  see?(tail: TailCuts, arrayTokens: number, point: RequestPoint, since: number): void;
  /**
   * Lets rounds of ours leave, the oldest first: those that exceed their bounds, or as many as free
   * so many tokens. Returns whether any have left.
   */
  shed(over: number): boolean;
  /**
   * Removes large outputs that the model has answered often enough, where that pays off.
   *
   * @param index of the request point
   */
  leave?(tail: TailCuts, arrayTokens: number, point: RequestPoint, index: number): void;
  /**
   * Moves as far as necessary. Does nothing if that frees too little.
   *
   * @param tail the limit of each cut
   * @param arrayTokens tokens of the array up to this request point
   */
  move(tail: TailCuts, due: Due, arrayTokens: number, point: RequestPoint): void;
  /** Ends a request point, after its moves. */
  settle(arrayTokens: number): void;
  /** What the last move left out, and why; empty if it took all that was due. */
  readonly refused: readonly Refusal[];
}

/** The position of a mover. */
export interface Standing {
  readonly cuts: Cuts;
  /** Tokens that the view has less than the caller's array. */
  readonly freed: number;
  /**
   * The part of `freed` from messages that left the view, for movers whose cuts don't determine it.
   */
  readonly leftOut?: number;
}

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
  /** Whether a move is put off at the last request point, since it would cost thinking. */
  readonly waits?: boolean;
}

/** A move of the frontier. */
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

/** Share of the budget from which the next move is prepared, without a watermark. */
const PREPARE_FROM = 0.6;

/** Finds the frontier. @param mover a new one, for the strategy's edits */
export function replay(history: History, rule: ReplayRule, sums: TokenSums, mover: Mover): Replay {
  const tails = new Tails(history, rule, sums);
  const counts = new CountTriggers(history, rule);
  const thinking = rule.thinking && new ThinkingInView(history, rule.thinking);
  const moves: Move[] = [];
  let trigger: Trigger = 'none';
  let moved = false;
  let before = 0;
  let previous: Standing | undefined;
  let refused: readonly Refusal[] = [];
  let waits = false;

  const end = history.requestPoints.length - 1;
  for (const [index, point] of history.requestPoints.entries()) {
    before = sums.before(point.messages);
    const tail = tails.at(point);
    const last = index === end;
    const cameBack = mover.arrive(point.messages);
    if (cameBack) thinking?.leave(point);
    mover.see?.(tail, before, point, history.requestPoints[index - 1]?.messages ?? 0);
    const { freed } = mover.position;
    mover.shed(0);
    const shed = mover.position.freed;
    const thought = thinking?.tokens(point) ?? 0;
    const isStill = last && rule.still === true && before - shed + thought <= rule.window - rule.answer;
    // What leaves early saves less than thinking is worth.
    if (!isStill && !thinking?.isIn(point)) mover.leave?.(tail, before, point, index);
    const early = mover.position.freed;
    const cause = new MoveCause(mover);
    const isPutOff = !(rule.force && last) && thinking?.waits(point, before - early + thought) === true;
    const met = isStill ? undefined : dueAt(point, rule, mover, before + thought, last);
    waits = isPutOff && met !== undefined;
    const due = isPutOff ? undefined : thought > 0 ? farther(met) : met;
    if (due) mover.move(tail, due, before, point);
    cause.note(due);
    const counted = isStill || isPutOff ? undefined : counts.move(tail, mover, before, point);
    cause.note(counted);
    shedOver(rule.window, mover, before);
    cause.note(due);
    // The answer's room is checked last, so that the rule above is the same at every request.
    const dueForAnswer = last && !isStill ? dueByAnswer(rule, before - mover.position.freed) : undefined;
    if (dueForAnswer) mover.move(tail, dueForAnswer, before, point);
    if (dueForAnswer) shedOver(rule.window - rule.answer, mover, before);
    cause.note(dueForAnswer);
    if (index === end - 1) previous = cutByAnswer(mover, rule, tail, before, point);
    refused = (due ?? counted ?? dueForAnswer) ? mover.refused : [];
    const isEdited = mover.position.freed > freed;
    const isMove = isEdited || (due !== undefined && leavesAlone(rule, due, before - freed, thought));
    if (isMove) thinking?.leave(point);
    moved = isMove || cameBack;
    mover.settle(before);
    if (!isMove) continue;
    const { cuts, freed: gone } = mover.position;
    trigger = (isEdited ? cause.trigger : due?.trigger) ?? (early > shed ? 'large_output' : 'token_budget');
    const { settledUnit: settled } = mover;
    const array = before + (rule.thinking?.tokens.before(point.messages) ?? 0);
    moves.push({ cuts, trigger, messages: point.messages, before: array, after: before - gone, settled });
  }
  // A move for the answer's room of the previous request is not kept, and a summary that it showed
  // would disappear.
  moved ||= mover.rewrites && previous !== undefined && !isSame(previous, mover.position);

  const { cuts, freed } = mover.position;
  const after = before - freed;
  const thought = thinking?.tokens({ messages: history.messages.length }) ?? 0;
  const near = isNear(history, rule, mover, after + thought) || counts.isNear(mover);
  const gone = thinking ? { thinkingFrom: thinking.from, waits } : {};
  return { cuts, moves, moved, refused, trigger, before, after, next: near ? tails.beyond() : cuts, ...gone };
}

/**
 * The same, so that what takes thinking along goes as far as it is meant to: a summary leaves no
 * view between watermark and budget.
 */
function farther(due: Due | undefined): Due | undefined {
  if (!due || !Number.isFinite(due.lossyOver)) return due;
  return { ...due, lossyOver: Math.min(due.lossyOver, due.target || due.lossyOver) };
}

/** The position for a request that is not the last one, including its answer's room. */
function cutByAnswer(
  mover: Mover,
  rule: ReplayRule,
  tail: TailCuts,
  arrayTokens: number,
  point: RequestPoint,
): Standing {
  const { position, turnsCut } = mover;
  const due = dueByAnswer(rule, arrayTokens - position.freed);
  if (due) mover.move(tail, due, arrayTokens, point);
  const moved = mover.position;
  mover.position = position;
  mover.turnsCut = turnsCut;
  return moved;
}

/** Lets rounds of ours leave a view that is over a limit, after all else that may leave. */
function shedOver(limit: number, mover: Mover, arrayTokens: number): void {
  const over = arrayTokens - mover.position.freed - limit;
  if (over > 0) mover.shed(over);
}

/**
 * Whether thinking leaves in a move that edits nothing else: where the view is over its budget for
 * it, and without it would be where moves stop; or where nothing else helps.
 *
 * @param rest tokens of the view without it
 */
function leavesAlone(rule: ReplayRule, due: Due, rest: number, thought: number): boolean {
  const { window, hard = window, step = window, watermark } = rule;
  const view = rest + thought;
  if (thought === 0 || view <= Math.min(hard, window)) return false;
  return rest <= filledUpTo(due, watermark) || view > window || (view > step && rest <= step);
}

function isSame(one: Standing, other: Standing): boolean {
  return frontierUnit(one.cuts) === frontierUnit(other.cuts) && one.leftOut === other.leftOut;
}

function dueAt(
  point: RequestPoint,
  rule: ReplayRule,
  mover: Mover,
  arrayTokens: number,
  last: boolean,
): Due | undefined {
  // Slide measures the array and edits on every request; jump measures the view and edits
  // occasionally.
  const slides = rule.frontier === 'slide';
  const tokens = slides ? arrayTokens : arrayTokens - mover.position.freed;
  const turns = slides ? point.turns : point.turns - mover.turnsCut;
  const leftTurns = rule.turnsLossy === undefined || slides ? point.turns : point.turns - mover.turnsLeftOut;
  const overflows = tokens > rule.window;
  const forced = rule.force && last;
  const unconditional = overflows || slides || forced;

  const over = tokens > (rule.hard ?? Number.POSITIVE_INFINITY);
  const overSoft = tokens > (rule.soft ?? Number.POSITIVE_INFINITY);
  const budget = Math.min(rule.hard ?? rule.window, rule.window);
  if (over || overSoft || overflows) {
    const limit = Math.min(budget, rule.soft ?? budget);
    const target = slides ? 0 : limit * rule.watermark;
    const lossyOver = over || !overSoft ? budget : Number.POSITIVE_INFINITY;
    return {
      trigger: triggerOf(rule, over, overSoft),
      lossyOver,
      trimOver: lossyOver,
      unconditional,
      step: rule.step !== undefined && tokens > rule.step ? rule.step : undefined,
      target,
      shrinkOver: target > 0 ? target : limit,
      tightOver: limit,
    };
  }
  const summarizes = rule.turnsLossy !== undefined && leftTurns >= rule.turnsLossy;
  if (summarizes || (rule.turnsDue !== undefined && turns >= rule.turnsDue)) {
    const lossyOver = summarizes ? 0 : Number.POSITIVE_INFINITY;
    const shrinks = { shrinkOver: undefined, tightOver: undefined };
    return { trigger: 'turns', lossyOver, trimOver: budget, unconditional, target: 0, ...shrinks };
  }
  if (forced)
    return {
      trigger: 'force',
      lossyOver: 0,
      trimOver: budget,
      unconditional: true,
      target: 0,
      shrinkOver: tokens - 1,
      tightOver: tokens - 1,
    };
  return undefined;
}

function triggerOf(rule: ReplayRule, over: boolean, overSoft: boolean): Trigger {
  if (over) return 'token_budget';
  if (overSoft) return 'token_soft_budget';
  return rule.learned ? 'upstream_limit' : 'token_budget';
}

/** Due if the view leaves too little of the window for the answer. */
function dueByAnswer(rule: ReplayRule, view: number): Due | undefined {
  const limit = rule.window - rule.answer;
  if (view <= limit) return undefined;
  const target = rule.frontier === 'slide' ? 0 : limit * rule.watermark;
  const trigger = triggerOf(rule, false, false);
  return {
    trigger,
    lossyOver: limit,
    trimOver: limit,
    unconditional: true,
    target,
    shrinkOver: target > 0 ? target : limit,
    tightOver: limit,
  };
}

function isNear(history: History, rule: ReplayRule, { turnsCut }: Mover, view: number): boolean {
  const budget = Math.min(rule.hard ?? rule.window, rule.soft ?? rule.window);
  if (view >= budget * (rule.watermark || PREPARE_FROM)) return true;
  const turns = history.turns.length - (rule.frontier === 'slide' ? 0 : turnsCut);
  return rule.turnsDue !== undefined && turns + 1 >= rule.turnsDue;
}
