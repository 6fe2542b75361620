/**
 * What was in a view instead of each edit of a run event. The event has no content, but its edits
 * are pure: the array of the request and the settings that shape placeholders give the same text
 * again.
 */
import type { History, Output, Unit } from '../conversation/history.ts';
import { clearedInputs, compactOutput } from '../edits/compact.ts';
import { compactHosted } from '../edits/hosted.ts';
import { removeMedia } from '../edits/media.ts';
import { offloadOutput } from '../edits/offload.ts';
import { TEXT_OBSERVATION } from '../edits/placeholder.ts';
import type { Removal } from '../edits/removal.ts';
import { auto } from '../modes/auto.ts';
import type { AutoStrategy } from '../modes/auto-settings.ts';
import { compactContext } from '../modes/compact.ts';
import type { PlanContext } from '../modes/planned.ts';
import type { RunEdit, RunEvent } from './event.ts';

/** An edit, and its text in the view. */
export interface ShownEdit extends Pick<RunEdit, 'message' | 'kind' | 'call'> {
  /**
   * Null for reasoning, which leaves without a word, and where the array or a model's words about
   * an output don't give the text again.
   */
  readonly text: string | null;
}

/**
 * The edits of an event with their texts, in order. A text is only shown if it is of the edit's own
 * ref, tokens and savings: of another array, another model's tokenizer or another key it is not.
 *
 * @param history of the request's array
 */
export function shownEdits(
  history: History,
  { edits, placeholders }: Pick<RunEvent, 'edits' | 'placeholders'>,
  context: PlanContext,
): ShownEdit[] {
  // The lists of tools and the smallest sizes decide what is edited, and that is known.
  const preview = { compact_preview_tokens: placeholders?.preview_tokens ?? undefined };
  const settings = auto.schema.parse({ mode: 'auto', ...preview, compact_min_tokens: 0 });
  const outputs = new Map(history.units.flatMap((unit) => unit.outputs.map((one) => [one.message, one])));
  const units = new Map(history.units.map((unit) => [unit.first, unit]));
  return edits.map((edit) => {
    const { message, kind, call, tool } = edit;
    const isKnown = placeholders && kind !== 'reasoning' && message < history.messages.length;
    // Which texts are observations depends on the strategy, and the edit knows it.
    const output = tool === TEXT_OBSERVATION ? undefined : outputs.get(message);
    const again = isKnown
      ? removalsFor(edit, history, output ?? { message }, units.get(message), settings, context)
      : [];
    const same = again.find((removal) => isSame(removal, edit));
    return { message, kind, call, text: same?.replacement ?? null };
  });
}

/** What an edit may have been. */
function removalsFor(
  { message, kind, reason, ref }: RunEdit,
  history: History,
  output: Output,
  unit: Unit | undefined,
  strategy: AutoStrategy,
  given: PlanContext,
): (Removal | undefined)[] {
  const context = compactContext({ ...strategy, compact_offload: ref !== null }, history, given);
  if (kind === 'part') return unit ? removeMedia(unit, context) : [];
  if (kind === 'input') return unit ? clearedInputs(unit, context, 0) : [];
  if (kind === 'hosted') {
    const answer = history.units.find(({ first, last }) => first <= message && message <= last);
    return answer ? compactHosted(answer, context, 0) : [];
  }
  switch (reason) {
    case 'offloaded':
      return [offloadOutput(output, context, 0)];
    case 'context_compaction':
    case 'duplicate':
    case 'superseded':
      return [compactOutput(output, context, reason, 0)];
  }
  return [];
}

function isSame(removal: Removal | undefined, edit: RunEdit): removal is Removal {
  return (
    removal !== undefined &&
    removal.message === edit.message &&
    removal.call === edit.call &&
    (removal.ref ?? null) === edit.ref &&
    removal.tokens === edit.tokens &&
    removal.freed === edit.freed
  );
}
