/**
 * The lossy phases of `auto`: where a move may end that summarizes or trims.
 *
 * The summary's boundary is the frontier of the previous request, for which a summary has been
 * prepared, even if two moves end in one request. Trimmed messages are between that and the new
 * frontier.
 */
import { mostFitting } from '../tokens/fitting.ts';
import type { ReplayPoint } from './mover.ts';
import { type PhaseStanding, passedBefore, summarizerCost, withRehydrated } from './phase-standing.ts';
import type { PhaseView } from './phase-view.ts';
import { refillOf } from './prefix-cursor.ts';
import { type Due, filledUpTo } from './rule.ts';

/** One move, before it is decided where it ends. */
interface OpenMove {
  /** The position before it. */
  readonly start: PhaseStanding;
  /** The position after its reversible edits. */
  readonly reversible: PhaseStanding;
  readonly due: Due;
  readonly at: ReplayPoint;
}

/**
 * The positions to try, best first; none if the reversible edits were enough.
 *
 * @returns `futile`: a trimmed position that would not be enough
 */
export function lossyPositions(view: PhaseView, move: OpenMove) {
  const { start, reversible, due, at } = move;
  const viewOf = (standing: PhaseStanding): number => at.arrayTokens - standing.freed;
  if (viewOf(reversible) <= due.lossyOver) return { tried: [], futile: undefined };
  const { heavy } = reversible.passed;
  // Summarize up to the frontier of the previous request; at the first move, up to the new one.
  const { frontier } = view.settled;
  const last = due.isCold ? goalUnit(view, move, heavy) : heavy;
  const first = summarized(view, move, frontier > 0 ? frontier : last);
  // If there is nothing more to summarize, the outputs after the summary leave first.
  const bare = withRehydrated(reversible, undefined);
  const whole = first ?? bare;
  const shorter = viewOf(whole) > due.trimOver ? trimmed(view, whole, move) : undefined;
  // If trimming would bring the view neither below its budget nor below the step of the price, it
  // is not worth the loss, unless the window demands it.
  const brings = (limit: number) => shorter && viewOf(whole) > limit && viewOf(shorter) <= limit;
  const isWorth = due.unconditional || brings(due.trimOver) || brings(due.step ?? due.trimOver);
  const trimming = isWorth ? shorter : undefined;
  // If that is not enough and trimming does not help, summarize up to the new frontier.
  const further = trimming ? undefined : summarized(view, move, last);
  const withRefill = (standing: PhaseStanding | undefined): (PhaseStanding | undefined)[] => [
    standing && refilled(view, standing, viewOf(standing), move),
    standing,
  ];
  const tried = [trimming, ...withRefill(first), ...withRefill(further)];
  if (bare !== reversible) tried.push({ ...bare, kept: view.untouched(bare.prefix?.unit ?? 0, start) });
  return {
    tried: tried.filter((standing) => standing !== undefined),
    futile: trimming ? undefined : shorter,
  };
}

/** A position with outputs after its summary, as far as the goal of the move leaves room. */
function refilled(
  view: PhaseView,
  standing: PhaseStanding,
  tokens: number,
  { due, at }: OpenMove,
): PhaseStanding | undefined {
  const { refills } = view.settings;
  const { prefix } = standing;
  if (!refills || !prefix) return undefined;
  const room = filledUpTo(due, refills.watermark) - tokens;
  const space = Math.min(refillOf(prefix.freed, room), prefix.freed - view.unsureBefore(prefix.unit) - 1);
  const rehydrated = refills.rehydrator.choose(prefix.unit, at.messages, space);
  return rehydrated && withRehydrated(standing, rehydrated);
}

/** The first unit before which a summary brings the view to its goal; else the last one. */
function goalUnit(view: PhaseView, move: OpenMove, last: number): number {
  const isOver = (unit: number): boolean => {
    const freed = summarized(view, move, unit)?.freed ?? 0;
    return move.at.arrayTokens - freed > move.due.target;
  };
  return Math.min(last, 1 + mostFitting(last, isOver));
}

/**
 * The position with a summary of everything before a unit; undefined if it would not make the
 * view smaller.
 */
function summarized(
  view: PhaseView,
  { start, reversible, at }: OpenMove,
  unit: number,
): PhaseStanding | undefined {
  const covering = view.prefixBefore(unit, start.prefix);
  if (!covering) return undefined;
  const prefix = { ...covering, since: at.messages };
  const before = start.prefix ? view.prefixes.before(start.prefix.unit) : 0;
  const read = prefix.covered - before + (start.prefix?.limit ?? 0);
  const spent = summarizerCost(read, prefix.limit, view.settings.outputPrice);
  const left = { prefix, trims: [], leftOut: prefix.freed };
  const standing = view.moved(start, passedBefore(unit, reversible.passed), left);
  if (standing.freed <= view.freedWith(start.prefix?.freed ?? 0, standing.passed)) return undefined;
  return { ...standing, kept: view.untouched(unit, start), spent };
}

/**
 * Drops the oldest units until the view is at the target or the tail is reached. Undefined if it
 * frees nothing, or if no user message is left for the trim line.
 */
function trimmed(
  view: PhaseView,
  standing: PhaseStanding,
  { start, due, at: { arrayTokens, units } }: OpenMove,
): PhaseStanding | undefined {
  const enough = arrayTokens - due.target;
  const { passed, prefix, trims } = standing;
  const from = prefix?.unit ?? 0;
  let unit = trims.at(-1) ?? from;
  let leftOut = standing.leftOut;
  while (unit < passed.heavy && view.freedWith(leftOut, passed) < enough)
    leftOut = view.leftOut(++unit, prefix);
  const freed = view.freedWith(leftOut, passed);
  const place = view.prefixes.linePlace(unit);
  const later = view.history.units[units]?.first ?? Number.POSITIVE_INFINITY;
  if (
    freed <= standing.freed ||
    leftOut <= view.unsureBefore(unit) ||
    !place ||
    ('opens' in place && place.opens >= later)
  )
    return undefined;
  const trim = { leftOut, freed, trims: [...trims, unit], passed: passedBefore(unit, passed) };
  return { ...standing, ...trim, kept: view.untouched(unit, start) };
}
