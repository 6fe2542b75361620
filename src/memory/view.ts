/** The view: which messages go upstream, and with what in the place of what was removed. */
import type { Removal } from './edits/removal.ts';
import type { Plan } from './plan.ts';

export interface View {
  /** By message: what is replaced in it. */
  readonly removals: ReadonlyMap<number, readonly Removal[]>;
  /** Messages that are left out. */
  readonly dropped: ReadonlySet<number>;
  /** Tokens of the view. */
  readonly tokens: number;
  /** Whether something stayed in full because it is not known to be stored. */
  readonly incomplete: boolean;
}

/**
 * Fills a plan in.
 *
 * @param isStored whether a ref's content is known to be written; what is not stays in full
 */
export function render(plan: Plan, isStored: (ref: string) => boolean): View {
  const removals = new Map<number, Removal[]>();
  let tokens = plan.replay.after;
  let incomplete = false;
  for (const removal of plan.segments.flat()) {
    if (removal.ref !== undefined && !isStored(removal.ref)) {
      tokens += removal.freed;
      incomplete = true;
      continue;
    }
    const same = removals.get(removal.message);
    if (same) same.push(removal);
    else removals.set(removal.message, [removal]);
  }
  return { removals, dropped: new Set(plan.dropped), tokens, incomplete };
}
