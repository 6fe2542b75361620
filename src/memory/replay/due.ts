/** Which trigger is met at a request point, and the goals of its move. */
import type { History, RequestPoint } from '../conversation/history.ts';
import type { Mover } from './mover.ts';
import type { NextMove, Refusal, Trigger } from './reasons.ts';
import { type Due, filledUpTo, type ReplayRule, turnsBefore } from './rule.ts';

/** Share of the budget from which the next move is prepared, without a watermark. */
const PREPARE_FROM = 0.6;

/** Waiting ends at this multiple of the budget (docs/design.md#floor). */
const OVERDUE = 3;

/** The same in the middle of a turn, where the move loses thinking that is bound. */
const OVERDUE_IN_TURN = 4;

/** Placeholders that bring an overdue view under this multiple need no summary beside them. */
const ENOUGH = 1.5;

/**
 * The trigger that tokens or turns meet, or force; undefined if none does.
 *
 * @param arrayTokens tokens of the array up to this request point
 * @param last whether it is the last one
 * @param isOpen whether a move loses thinking of a turn that is not over
 */
export function dueAt(
  history: History,
  point: RequestPoint,
  rule: ReplayRule,
  mover: Mover,
  arrayTokens: number,
  last: boolean,
  isOpen = false,
): Due | undefined {
  // Slide measures the array and edits on every request; jump measures the view and edits
  // occasionally.
  const slides = rule.frontier === 'slide';
  const tokens = slides ? arrayTokens : arrayTokens - mover.position.freed;
  const turns = slides ? point.turns : point.turns - mover.turnsCut;
  const leftTurns =
    rule.turnsLossy === undefined || slides
      ? point.turns
      : point.turns - turnsBefore(history, mover.leftCuts.turn);
  const overflows = tokens > Math.min(rule.window, rule.limit ?? rule.window);
  const forced = rule.force && last;
  const unconditional = overflows || slides || forced;

  const over = tokens > (rule.hard ?? Number.POSITIVE_INFINITY);
  const overSoft = tokens > (rule.soft ?? Number.POSITIVE_INFINITY);
  const budget = Math.min(rule.hard ?? rule.window, rule.window);
  const whole = { trimOver: budget, unconditional, target: 0 };
  if (over || overSoft || overflows) {
    const limit = Math.min(budget, rule.soft ?? budget);
    const target = slides ? 0 : limit * rule.watermark;
    const trimOver = over || !overSoft ? budget : Number.POSITIVE_INFINITY;
    const isOverdue = tokens > overdueFrom(rule, limit, isOpen) && !unconditional;
    return {
      trigger: triggerOf(rule, over, overSoft),
      lossyOver: isOverdue ? ENOUGH * trimOver : trimOver,
      trimOver,
      unconditional,
      overdue: isOverdue ? Math.max(1, limit) : undefined,
      step: rule.step !== undefined && tokens > rule.step ? rule.step : undefined,
      target,
      tightOver: limit,
    };
  }
  const summarizes = rule.turnsLossy !== undefined && leftTurns >= rule.turnsLossy;
  if (summarizes || (rule.turnsDue !== undefined && turns >= rule.turnsDue)) {
    const lossyOver = summarizes ? 0 : Number.POSITIVE_INFINITY;
    return { trigger: 'turns', lossyOver, ...whole };
  }
  return forced ? { trigger: 'force', lossyOver: 0, ...whole, tightOver: tokens - 1 } : undefined;
}

/**
 * Tokens of a view from which a move no longer waits. From there it frees at least a budget, so
 * that the next one is no nearer than that.
 */
export function overdueFrom({ waits }: ReplayRule, budget: number, isOpen = false): number {
  return waits === true ? (isOpen ? OVERDUE_IN_TURN : OVERDUE) * budget : Number.POSITIVE_INFINITY;
}

function triggerOf(rule: ReplayRule, over: boolean, overSoft: boolean): Trigger {
  if (over) return 'token_budget';
  if (overSoft) return 'token_soft_budget';
  return rule.learned ? 'upstream_limit' : 'token_budget';
}

/** Due if the view leaves too little of the window for the answer. */
export function dueByAnswer(rule: ReplayRule, view: number): Due | undefined {
  const limit = rule.window - rule.answer;
  if (view <= limit) return undefined;
  const target = rule.frontier === 'slide' ? 0 : limit * rule.watermark;
  const trigger = triggerOf(rule, false, false);
  return { trigger, lossyOver: limit, trimOver: limit, unconditional: true, target, tightOver: limit };
}

/**
 * The same, so that what takes thinking along goes as far as it is meant to: a summary leaves no
 * view between watermark and budget.
 *
 * @param loss see `Due`
 */
export function farther(due: Due | undefined, loss = 0): Due | undefined {
  if (!due) return undefined;
  const { lossyOver, target } = due;
  const least = Number.isFinite(lossyOver) ? Math.min(lossyOver, target || lossyOver) : lossyOver;
  return { ...due, lossyOver: least, loss };
}

/**
 * Whether thinking leaves in a move that edits nothing else: where the view is over its budget for
 * it, and without it would be where moves stop; or where nothing else helps.
 *
 * @param rest tokens of the view without it
 */
export function leavesAlone(rule: ReplayRule, due: Due, rest: number, thought: number): boolean {
  const { window, hard = window, step = window, watermark } = rule;
  const view = rest + thought;
  if (thought === 0 || view <= Math.min(hard, window)) return false;
  return rest <= filledUpTo(due, watermark) || view > window || (view > step && rest <= step);
}

/** Whether the next move is near enough to prepare for. @param view its tokens */
export function isNear(history: History, rule: ReplayRule, { turnsCut }: Mover, view: number): boolean {
  const budget = Math.min(rule.hard ?? rule.window, rule.soft ?? rule.window);
  if (view >= budget * (rule.watermark || PREPARE_FROM)) return true;
  const turns = history.turns.length - (rule.frontier === 'slide' ? 0 : turnsCut);
  return rule.turnsDue !== undefined && turns + 1 >= rule.turnsDue;
}

/**
 * Where the next move is expected: an estimate for the caller, which nothing else depends on. It
 * takes for granted that the conversation goes on as it has, in steps of the same size whose
 * outputs may leave.
 *
 * @param paysFrom see `Mover`
 * @param isOpen see `dueAt`
 * @returns undefined where a move follows from turns, steps or messages, or each request makes one
 */
export function nextMove(
  rule: ReplayRule,
  view: number,
  refused: readonly Refusal[],
  paysFrom = 0,
  isOpen = false,
): NextMove | undefined {
  const { frontier, turnsDue, turnsLossy, stepsDue, messagesDue, window, hard, soft, step, limit } = rule;
  const counts = turnsDue ?? turnsLossy ?? stepsDue ?? messagesDue;
  if (frontier === 'slide' || counts !== undefined) return undefined;
  const budget = Math.min(hard ?? window, soft ?? window, window);
  // What was due and did not pay off says by how much.
  const lacking = Math.max(0, ...refused.map(({ least, freed }) => least - freed));
  const short = lacking > 0 ? view + lacking : 0;
  const latest = overdueFrom(rule, budget, isOpen);
  const cost = view > latest && short > 0 ? short : Math.min(Math.max(paysFrom, short), latest);
  let next: NextMove = { tokens: budget, because: budget < window ? 'budget' : 'window' };
  if (cost > next.tokens && limit === undefined) next = { tokens: cost, because: 'cost' };
  const sooner = (tokens: number | undefined, because: NextMove['because']) => {
    if (tokens !== undefined && tokens > budget && next.tokens > tokens) next = { tokens, because };
  };
  sooner(step, 'price_step');
  sooner(window, 'window');
  return { ...next, tokens: Number(next.tokens.toPrecision(2)) };
}
