/**
 * Where the frontier stands, found by replaying the array from its beginning
 * (docs/design.md#3-what-the-caller-says).
 *
 * Nothing is remembered between requests: at each request point the same rule is applied that was
 * applied when that request was made. So any isolate finds the same frontier, a longer array finds
 * the same one or a later one, and between two moves nothing that was sent changes.
 *
 * One pass over the request points, and one of each cut over the units.
 */

import type { History, RequestPoint } from '../conversation/history.ts';
import type { TokenSums } from '../tokens/sums.ts';
import { type Cuts, frontierUnit, type ReplayRule, type Trigger } from './rule.ts';
import { Tails } from './tails.ts';

/** The cuts while a replay moves them, and what they free. */
export interface Cursor {
  /** Where it stands; assigning one that was read before takes a move back. */
  position: Position;
  /** Turns that the turn trigger does not count any more. */
  turnsCut: number;
  /** See `Mover`. */
  readonly rewrites: boolean;
  /** See `Mover`. */
  arrive(messages: number): boolean;
  /** What a move to this unit could free at the most. */
  mostFreed(unit: number): number;
  /** Moves the turn cut towards `limit`, until `enough` tokens are freed in all. */
  turnTo(limit: number, enough: number): void;
  /** Moves the step cut towards `limit`, likewise. */
  stepTo(limit: number, enough: number): void;
}

/** A cursor's place. */
export interface Position extends Standing {
  /** Turns that begin before the turn cut. */
  readonly turnsBefore: number;
}

/** Before the first unit. */
export const AT_START: Position = { cuts: { turn: 0, step: 0 }, freed: 0, turnsBefore: 0 };

/** How many tokens an edit frees, by unit. */
export interface Effect {
  /** Of a unit before the turn cut. */
  whole(unit: number): number;
  /** Of a unit that lies only before the step cut. */
  step(unit: number): number;
}

/** Whatever a replay moves. */
export interface Mover {
  /** Where it stands; assigning one that was read before takes moves back. */
  position: Standing;
  /** Turns that the turn trigger does not count any more. */
  turnsCut: number;
  /** Turns that have left the view. */
  readonly turnsLeftOut: number;
  /** Whether a move changes bytes even where it frees nothing. */
  readonly rewrites: boolean;
  /**
   * The messages before this index have come. Whether a result among them brings back what had left
   * the view.
   */
  arrive(messages: number): boolean;
  /**
   * Moves as far as it must; does nothing where that frees too little.
   *
   * @param tail how far each cut may go
   * @param arrayTokens tokens of the array up to this request point
   */
  move(tail: Cuts, due: Due, arrayTokens: number, point: RequestPoint): void;
  /** A request point is over, its moves made. */
  settle(arrayTokens: number): void;
}

/** Where a mover stands. */
export interface Standing {
  readonly cuts: Cuts;
  /** Tokens that the view has less than the caller's array. */
  readonly freed: number;
  /**
   * The part of them that is left out, with nothing but words in its place, where that is not told
   * by the cuts.
   */
  readonly leftOut?: number;
}

export interface Replay {
  readonly cuts: Cuts;
  /** The cuts after each move, oldest first; between two of them lies a segment. */
  readonly moves: readonly Cuts[];
  /** Whether the last request point moved the frontier. */
  readonly moved: boolean;
  /** What caused the last move. */
  readonly trigger: Trigger;
  /** Tokens of the caller's array, and of the view. */
  readonly before: number;
  readonly after: number;
  /** What the next move would edit, when it is near enough to prepare for; else equal to `cuts`. */
  readonly next: Cuts;
}

/**
 * From this share of the budget on the next move is prepared, where a strategy sets no watermark.
 */
const PREPARE_FROM = 0.6;

/** Finds the frontier. @param mover a new one, which knows what the strategy's edits free */
export function replay(history: History, rule: ReplayRule, sums: TokenSums, mover: Mover): Replay {
  const tails = new Tails(history, rule);
  const moves: Cuts[] = [];
  let trigger: Trigger = 'none';
  let moved = false;
  let before = 0;
  let shown: Standing | undefined;

  const end = history.requestPoints.length - 1;
  for (const [index, point] of history.requestPoints.entries()) {
    before = sums.before(point.messages);
    const tail = tails.at(point);
    const last = index === end;
    const cameBack = mover.arrive(point.messages);
    const { freed } = mover.position;
    const due = dueAt(point, rule, mover, before, last);
    if (due) mover.move(tail, due, before, point);
    // The answer's room is looked at when all else is done, so that the rule above is the same one
    // at every request.
    const tight = last ? dueByAnswer(rule, before - mover.position.freed) : undefined;
    if (tight) mover.move(tail, tight, before, point);
    if (index === end - 1) shown = cutByAnswer(mover, rule, tail, before, point);
    const isMove = mover.position.freed > freed;
    moved = isMove || cameBack;
    mover.settle(before);
    if (!isMove) continue;
    moves.push(mover.position.cuts);
    trigger = (due ?? tight)?.trigger ?? trigger;
  }
  // What the answer's room moved at the request before does not stay moved, and a summary would
  // have to be unwritten.
  moved ||= mover.rewrites && shown !== undefined && !isSame(shown, mover.position);

  const { cuts, freed } = mover.position;
  const after = before - freed;
  const next = isNear(history, rule, mover, after) ? tails.beyond() : cuts;
  return { cuts, moves, moved, trigger, before, after, next };
}

/** Where a mover stood for a request that is not the last one, its answer's room included. */
function cutByAnswer(
  mover: Mover,
  rule: ReplayRule,
  tail: Cuts,
  arrayTokens: number,
  point: RequestPoint,
): Standing {
  const { position, turnsCut } = mover;
  const tight = dueByAnswer(rule, arrayTokens - position.freed);
  if (tight) mover.move(tail, tight, arrayTokens, point);
  const shown = mover.position;
  mover.position = position;
  mover.turnsCut = turnsCut;
  return shown;
}

function isSame(one: Standing, other: Standing): boolean {
  return frontierUnit(one.cuts) === frontierUnit(other.cuts) && one.leftOut === other.leftOut;
}

/** A trigger that is met, and where the move is to stop. */
export interface Due {
  readonly trigger: Trigger;
  /**
   * Tokens of the view over which a summary may take the place of messages; infinite where none
   * may.
   */
  readonly lossyOver: number;
  /** Tokens of the view over which messages may go for a line; infinite where none may. */
  readonly trimOver: number;
  /** Whether the move is made however little it frees. */
  readonly must: boolean;
  /** Tokens at which the move stops; 0 is the tail. */
  readonly target: number;
  /** Tokens over which the tail shrinks to steps; undefined where it must not. */
  readonly shrinkOver: number | undefined;
}

function dueAt(
  point: RequestPoint,
  rule: ReplayRule,
  mover: Mover,
  arrayTokens: number,
  last: boolean,
): Due | undefined {
  // Slide measures the caller's array, jump the view: the one edits on every request, the other
  // once in a while.
  const slides = rule.frontier === 'slide';
  const tokens = slides ? arrayTokens : arrayTokens - mover.position.freed;
  const turns = slides ? point.turns : point.turns - mover.turnsCut;
  const leftTurns = rule.turnsLossy === undefined || slides ? point.turns : point.turns - mover.turnsLeftOut;
  const overflows = tokens > rule.window;
  const forced = rule.force && last;
  const must = overflows || slides || forced;

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
      must,
      target,
      shrinkOver: target > 0 ? target : limit,
    };
  }
  const summarizes = rule.turnsLossy !== undefined && leftTurns >= rule.turnsLossy;
  if (summarizes || (rule.turnsDue !== undefined && turns >= rule.turnsDue)) {
    const lossyOver = summarizes ? 0 : Number.POSITIVE_INFINITY;
    return { trigger: 'turns', lossyOver, trimOver: budget, must, target: 0, shrinkOver: undefined };
  }
  if (forced)
    return {
      trigger: 'force',
      lossyOver: 0,
      trimOver: budget,
      must: true,
      target: 0,
      shrinkOver: tokens - 1,
    };
  return undefined;
}

function triggerOf(rule: ReplayRule, over: boolean, overSoft: boolean): Trigger {
  if (over) return 'token_budget';
  if (overSoft) return 'token_soft_budget';
  return rule.learned ? 'upstream_limit' : 'token_budget';
}

/** Due when the view would leave too little of the window for the answer. */
function dueByAnswer(rule: ReplayRule, view: number): Due | undefined {
  const limit = rule.window - rule.answer;
  if (view <= limit) return undefined;
  const target = rule.frontier === 'slide' ? 0 : limit * rule.watermark;
  const trigger = triggerOf(rule, false, false);
  return {
    trigger,
    lossyOver: limit,
    trimOver: limit,
    must: true,
    target,
    shrinkOver: target > 0 ? target : limit,
  };
}

/** Moves a cursor. */
export class CursorMover implements Mover {
  private readonly rule: ReplayRule;
  private readonly cursor: Cursor;

  constructor(rule: ReplayRule, cursor: Cursor) {
    this.rule = rule;
    this.cursor = cursor;
  }

  get position(): Position {
    return this.cursor.position;
  }

  set position(position: Position) {
    this.cursor.position = position;
  }

  get turnsCut(): number {
    return this.cursor.turnsCut;
  }

  set turnsCut(turns: number) {
    this.cursor.turnsCut = turns;
  }

  get turnsLeftOut(): number {
    return this.cursor.turnsCut;
  }

  get rewrites(): boolean {
    return this.cursor.rewrites;
  }

  arrive(messages: number): boolean {
    return this.cursor.arrive(messages);
  }

  move(tail: Cuts, due: Due, arrayTokens: number): void {
    move(this.cursor, this.rule, tail, due, arrayTokens);
  }

  settle(): void {}
}

/**
 * Moves the cuts as far as they must go; takes the move back when it frees too little. One that
 * frees nothing at all stays: it changes no byte, and a view that comes back as the array then
 * replays in step with the array that it was made of.
 */
function move(cursor: Cursor, rule: ReplayRule, tail: Cuts, due: Due, arrayTokens: number): void {
  const leastFreed = due.must ? 0 : rule.minReclaim;
  if (leastFreed > 0 && cursor.mostFreed(frontierUnit(tail)) < leastFreed) return;
  const before = cursor.position;
  cursor.turnTo(tail.turn, arrayTokens - due.target);
  const turned = cursor.position;
  if (
    due.shrinkOver !== undefined &&
    rule.keepSteps !== undefined &&
    arrayTokens - cursor.position.freed > due.shrinkOver
  )
    cursor.stepTo(tail.step, arrayTokens - due.target);
  // A user's request that stays may weigh more than the steps that go.
  if (cursor.rewrites && cursor.position.freed <= turned.freed) cursor.position = turned;
  const freed = cursor.position.freed - before.freed;
  const least = cursor.rewrites ? Math.max(1, leastFreed) : leastFreed;
  if (freed < least && (freed > 0 || cursor.rewrites)) cursor.position = before;
  // Where turns leave the view, whatever dropped them counts. Where they stay, the turn trigger
  // counts from its own last move: tokens that are gone from an array which comes back would
  // otherwise shift it.
  else if (rule.stops === 'turn' || due.trigger === 'turns') cursor.turnsCut = cursor.position.turnsBefore;
}

function isNear(history: History, rule: ReplayRule, { turnsCut }: Mover, view: number): boolean {
  const budget = Math.min(rule.hard ?? rule.window, rule.soft ?? rule.window);
  if (view >= budget * (rule.watermark || PREPARE_FROM)) return true;
  const turns = history.turns.length - (rule.frontier === 'slide' ? 0 : turnsCut);
  return rule.turnsDue !== undefined && turns + 1 >= rule.turnsDue;
}
