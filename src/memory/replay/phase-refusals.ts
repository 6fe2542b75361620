/** Why phases of `auto` that were due were not taken. */

import type { Floor, Stakes } from './floor.ts';
import type { PhaseStanding } from './phase-standing.ts';
import type { Refusal } from './refusal.ts';

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

/** At most one for each phase: at the best position which it was tried with. */
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
