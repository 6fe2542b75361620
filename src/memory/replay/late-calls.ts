/** Calls that come back into the view with their late results, at a position of the phases. */
import { tokensOf } from '../edits/rehydrate.ts';
import { rehydratedWith } from '../edits/summarize.ts';
import type { PhaseStanding } from './phase-standing.ts';
import type { PhaseView } from './phase-view.ts';

/**
 * The position with the calls whose results are among the messages before an index. Undefined if
 * none comes back.
 */
export function withLateResults(
  standing: PhaseStanding,
  messages: number,
  view: PhaseView,
): PhaseStanding | undefined {
  const { held } = view;
  if (held.isEmpty) return undefined;
  const { prefix, trims, freed, leftOut } = standing;
  const covered = prefix?.unit ?? 0;
  const gone = trims.at(-1) ?? covered;
  const heldBefore = { gone: held.before(gone), covered: held.before(covered) };
  held.arrive(messages);
  const back = held.before(gone) - heldBefore.gone;
  const ofPrefix = held.before(covered) - heldBefore.covered;
  if (back <= 0) return undefined;
  const shown = prefix?.rehydrated;
  const rehydrated = view.settings.refills?.rehydrator.without(shown, covered, messages);
  const more = back - tokensOf(shown) + tokensOf(rehydrated);
  const rest = { freed: freed - more, leftOut: leftOut - more };
  const changed =
    prefix &&
    rehydratedWith(
      { ...prefix, covered: prefix.covered - ofPrefix, freed: prefix.freed - ofPrefix },
      rehydrated,
    );
  // If the summary or all replacements are longer than what they still replace, restore it.
  const isShorter =
    rest.leftOut > view.unsureBefore(gone) && (!changed || changed.freed > view.unsureBefore(covered));
  if (isShorter) return { ...standing, ...rest, prefix: changed };
  const whole = view.freedWith(0, standing.passed);
  return { ...standing, freed: whole, leftOut: 0, prefix: undefined, trims: [] };
}
