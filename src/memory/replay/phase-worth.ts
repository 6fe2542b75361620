/**
 * Whether moves of the phases are worth their cost, and when to try again after one is not.
 *
 * Both rules of `floor.ts` are waived if the view would not fit the window, if the move brings it
 * under the step of the model's price, or if it has waited long enough.
 */
import type { Floor, Stakes } from './floor.ts';
import type { PhaseStanding } from './phase-standing.ts';
import type { Refusal } from './reasons.ts';
import type { Due } from './rule.ts';
import type { LargeOutput } from './seen-outputs.ts';

/**
 * After a failed move, one more unit must come per this many units tried, before the next try. This
 * keeps a replay linear in the array.
 */
const TRIED_PER_UNIT = 512;

/**
 * Requests of a conversation before which a summary is made only if it pays off. To write one costs
 * as much as to read what it replaces from the cache that often, at a tenth of the price; and a
 * conversation that has had few requests may soon be over.
 */
const SHORT_LIFE = 16;

/** What is known of the tries so far. */
export interface WorthState {
  /** The number of units from which a move is tried again. */
  readonly retryFrom: number;
  /** Why the move was due that has failed last; empty after one that was made. */
  readonly failed: readonly Pressure[];
}

/** What is worth a try of its own: the view is over the step of the price, or has waited enough. */
type Pressure = 'step' | 'overdue';

function pressuresOf(due: Due): Pressure[] {
  return (['step', 'overdue'] as const).filter((pressure) => due[pressure] !== undefined);
}

/** The array and the view before a move, in tokens. */
type Before = Pick<Stakes, 'array' | 'view'>;

export class PhaseWorth {
  private readonly floor: Floor;
  /** The caller's minimum of freed tokens, which replaces the floor. */
  private readonly minReclaim: number | undefined;
  /** Assign an earlier one to go on from there. */
  state: WorthState = { retryFrom: 0, failed: [] };

  constructor(floor: Floor, minReclaim: number | undefined) {
    this.floor = floor;
    this.minReclaim = minReclaim;
  }

  /** Whether to try a move. @param units up to this request point */
  isTried(units: number, due: Due): boolean {
    const { retryFrom, failed } = this.state;
    if (due.unconditional || due.isCold || units >= retryFrom) return true;
    return pressuresOf(due).some((pressure) => !failed.includes(pressure));
  }

  /** @param tried units that the move has passed */
  note(made: boolean, units: number, tried: number, due: Due): void {
    if (due.unconditional) return;
    const failed = { retryFrom: units + tried / TRIED_PER_UNIT, failed: pressuresOf(due) };
    this.state = made ? { retryFrom: 0, failed: [] } : failed;
  }

  /** The least that a move must free. */
  least(
    { kept, spent }: Pick<Stakes, 'kept' | 'spent'>,
    { unconditional, overdue, step, loss = 0, isCold = false }: Due,
    before: Before,
  ): Least {
    if (unconditional) return { least: 1 };
    if (this.minReclaim !== undefined) return { least: Math.max(1, this.minReclaim) };
    const isEarly = spent > 0 && this.floor.requests < SHORT_LIFE;
    if (overdue !== undefined && !isEarly && !isCold) return { least: overdue };
    const stakes = { ...before, kept, spent, loss, isCold };
    const least = Math.max(1, this.floor.least(stakes));
    const floor = { of: this.floor, stakes };
    return { least: step === undefined ? least : Math.min(least, before.view - step), floor };
  }

  /**
   * Of large outputs that may leave in a move of their own, those with which most is saved. They
   * must make up for what is read again by the time when the regret is measured.
   *
   * @param outputs latest first; a later one leaves with each
   * @param keptBefore the view before a unit, as far as it is read from the cache
   */
  leaving(
    outputs: readonly LargeOutput[],
    before: Before,
    keptBefore: (unit: number) => number,
  ): { readonly outputs: readonly LargeOutput[]; readonly kept: number } | undefined {
    let best: { readonly count: number; readonly kept: number } | undefined;
    let most = 0;
    let freed = 0;
    for (const [index, { unit, removal }] of outputs.entries()) {
      freed += removal.freed;
      const stakes = { ...before, kept: keptBefore(unit), spent: 0 };
      const gain = this.floor.gain(stakes, freed);
      const least = Math.max(this.minReclaim ?? 0, this.floor.withoutRegret(stakes));
      if (gain <= most || freed < least) continue;
      most = gain;
      best = { count: index + 1, kept: stakes.kept };
    }
    return best && { outputs: outputs.slice(0, best.count), kept: best.kept };
  }

  /** See `Mover`. @param kept of the view before the frontier @param tail tokens of the tail */
  paysFrom(kept: number, tail: number, array: number): number {
    return kept + (this.minReclaim ?? this.floor.leastBefore(tail, array)) + tail;
  }

  /** How much a move frees, if it can. @param kept of the view before the first changed byte */
  goal(kept: number, { unconditional, overdue, target, loss = 0, isCold }: Due, before: Before): number {
    const enough = before.view - target;
    if (unconditional || isCold || overdue !== undefined) return Math.max(1, enough);
    return Math.max(enough, this.minReclaim ?? this.floor.goal({ ...before, kept, spent: 0, loss }));
  }
}

/** A try to move, and the positions that it has found. */
interface Try {
  readonly start: PhaseStanding;
  /** Best first. */
  readonly found: readonly PhaseStanding[];
  /** The one that was taken. */
  readonly made: PhaseStanding | undefined;
  /** One with trimmed messages that would still leave the view over its budget. */
  readonly futile: PhaseStanding | undefined;
  /** Tokens that it would have to free. */
  readonly needed: number;
  /** Whether a summary was due. */
  readonly isLossy: boolean;
}

/** The least that a move to a position must free, and whether the floor asks for that. */
export interface Least {
  readonly least: number;
  /** Absent: the floor decides alone. */
  readonly floor?: { readonly of: Floor; readonly stakes: Stakes };
}

/**
 * Why phases that were due were not taken. At most one refusal for each phase: at the best position
 * which it was tried with.
 */
export function refusalsOf(tried: Try, leastOf: (standing: PhaseStanding) => Least): readonly Refusal[] {
  const { start, found, made, futile, needed, isLossy } = tried;
  const refusals = new Map<Refusal['phase'], Refusal>();
  const refuse = (refusal: Refusal): void => {
    if (!refusals.has(refusal.phase)) refusals.set(refusal.phase, refusal);
  };
  const better = made ? found.slice(0, found.indexOf(made)) : found;
  for (const standing of better) refuse(refusalOf(standing, start, leastOf(standing)));
  if (futile) {
    const freed = futile.freed - start.freed;
    const least = Math.max(1, Math.ceil(needed));
    refuse({ phase: 'trim', because: freed > 0 ? 'not_enough' : 'nothing_to_free', freed, least });
  }
  const isFound = found.some((standing) => phaseOf(standing, start) !== 'reversible');
  if (isLossy && !isFound && !futile)
    refuse({ phase: 'summarize', because: 'nothing_to_free', freed: 0, least: 1 });
  return [...refusals.values()];
}

function refusalOf(standing: PhaseStanding, start: PhaseStanding, { least, floor }: Least): Refusal {
  const freed = standing.freed - start.freed;
  const isBelow = !floor || floor.of.isBelow(floor.stakes, freed);
  const because = freed <= 0 ? 'nothing_to_free' : isBelow ? 'floor' : 'regret';
  return { phase: phaseOf(standing, start), because, freed, least: Math.ceil(least) };
}

function phaseOf({ trims, prefix }: PhaseStanding, start: PhaseStanding): Refusal['phase'] {
  if (trims.length > 0 && trims !== start.trims) return 'trim';
  return prefix === start.prefix ? 'reversible' : 'summarize';
}
