/** The tails of the modes, and their turn triggers (docs/design.md#tail). */
import type { CompactSettings } from '../strategy/fields.ts';
import type { Tail } from './mode.ts';

/** Default turns and steps in the tail. */
const COMPACT_KEEP = 2;
const KEEP_TURNS = 3;
const KEEP_STEPS = 3;

/**
 * The tail of a mode that edits contents. It must not shrink if the caller sets the turns, and
 * nothing about steps.
 *
 * @param kept the turns that the caller asks to keep
 */
export function unitTail(
  kept: number | undefined,
  { compact_keep_steps, compact_trigger_steps: trigger }: CompactSettings,
): Tail {
  const shrinks = kept === undefined || trigger !== undefined;
  return {
    stops: 'unit',
    keepTurns: kept ?? COMPACT_KEEP,
    keepSteps: compact_keep_steps ?? (shrinks ? Math.min(KEEP_STEPS, trigger ?? KEEP_STEPS) : undefined),
  };
}

/**
 * Results that confirm what a call has done are smaller. A model that has read much takes from it
 * after some of these steps (docs/benchmark.md#small-steps-in-the-tail).
 */
const SMALL_STEPS = { under: 20, most: 4 };

/**
 * The same for a mode that cuts what the model has just read: steps in which there is little to
 * read don't count, unless the caller says how many steps stay.
 */
export function readingTail(kept: number | undefined, settings: CompactSettings): Tail {
  const tail = unitTail(kept, settings);
  const isOwn = settings.compact_keep_steps !== undefined || settings.compact_trigger_steps !== undefined;
  return isOwn ? tail : { ...tail, smallSteps: SMALL_STEPS };
}

/**
 * The tail of a mode that drops turns. The current turn always stays, since a view without it would
 * ask nothing.
 */
export function turnTail(kept: number | undefined, turnsDue: number | undefined): Tail {
  return {
    stops: 'turn',
    keepTurns: Math.max(1, kept ?? Math.min(KEEP_TURNS, turnsDue ?? KEEP_TURNS)),
    keepSteps: kept === undefined ? KEEP_STEPS : undefined,
  };
}

/** Where compaction acts: above its triggers. Trimming and summaries act at theirs. */
export function above(trigger: number | undefined): number | undefined {
  return trigger === undefined ? undefined : trigger + 1;
}
