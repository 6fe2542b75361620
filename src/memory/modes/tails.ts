/**
 * The tails of the modes, and when their turn triggers are met
 * (docs/design.md#3-what-the-caller-says).
 */
import type { CompactSettings } from '../strategy/fields.ts';
import type { Tail } from './mode.ts';

/** Turns in the tail, and steps, where a strategy does not name them. */
const COMPACT_KEEP = 2;
const KEEP_TURNS = 3;
const KEEP_STEPS = 3;

/**
 * The tail of a mode that edits contents. A caller who sets the turns and not the steps forbids
 * that it shrinks.
 *
 * @param kept the turns that the caller has asked to keep
 */
export function unitTail(kept: number | undefined, { compact_keep_steps }: CompactSettings): Tail {
  return {
    stops: 'unit',
    keepTurns: kept ?? COMPACT_KEEP,
    keepSteps: compact_keep_steps ?? (kept === undefined ? KEEP_STEPS : undefined),
  };
}

/**
 * The tail of a mode that leaves out turns. The one that is being worked on always stays: a view
 * without it would ask for nothing.
 */
export function turnTail(kept: number | undefined, turnsDue: number | undefined): Tail {
  return {
    stops: 'turn',
    keepTurns: Math.max(1, kept ?? Math.min(KEEP_TURNS, turnsDue ?? KEEP_TURNS)),
    keepSteps: kept === undefined ? KEEP_STEPS : undefined,
  };
}

/** Compaction acts over its trigger; trimming and summaries act at theirs. */
export function compactionDue({ compact_trigger_turns: turns }: CompactSettings): number | undefined {
  return turns === undefined ? undefined : turns + 1;
}
