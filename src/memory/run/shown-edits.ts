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
  const again = new EditsAgain(history, placeholders?.preview_tokens ?? undefined, context);
  return edits.map((edit) => {
    const { message, kind, call } = edit;
    return { message, kind, call, text: placeholders ? again.textOf(edit) : null };
  });
}

class EditsAgain {
  private readonly history: History;
  private readonly settings: AutoStrategy;
  private readonly context: PlanContext;
  private readonly outputs: ReadonlyMap<number, Output>;
  private readonly units: ReadonlyMap<number, Unit>;

  constructor(history: History, previewTokens: number | undefined, context: PlanContext) {
    this.history = history;
    // The lists of tools and the smallest sizes decide what is edited, and that is known.
    const settings = { mode: 'auto', compact_preview_tokens: previewTokens, compact_min_tokens: 0 };
    this.settings = auto.schema.parse(settings);
    this.context = context;
    this.outputs = new Map(history.units.flatMap(({ outputs }) => outputs.map((one) => [one.message, one])));
    this.units = new Map(history.units.map((unit) => [unit.first, unit]));
  }

  textOf(edit: RunEdit): string | null {
    if (edit.kind === 'reasoning' || edit.message >= this.history.messages.length) return null;
    const same = this.removalsFor(edit).find((removal) => isSame(removal, edit));
    return same?.replacement ?? null;
  }

  /** What the edit may have been. */
  private removalsFor(edit: RunEdit): (Removal | undefined)[] {
    const { history } = this;
    const settings = { ...this.settings, compact_offload: edit.ref !== null };
    const context = compactContext(settings, history, this.context);
    const unit = this.units.get(edit.message);
    if (edit.kind === 'part') return unit ? removeMedia(history, unit, settings, context) : [];
    if (edit.kind === 'input') return unit ? clearedInputs(history, unit, settings, context, 0) : [];
    if (edit.kind === 'hosted') {
      const answer = history.units.find(({ first, last }) => first <= edit.message && edit.message <= last);
      return answer ? compactHosted(history, answer, settings, context, 0) : [];
    }
    const output = this.outputOf(edit);
    switch (edit.reason) {
      case 'offloaded':
        return [offloadOutput(history, output, settings, context, 0)];
      case 'context_compaction':
      case 'duplicate':
      case 'superseded':
        return [compactOutput(history, output, settings, context, edit.reason, 0)];
    }
    return [];
  }

  /** Which texts are observations depends on the strategy, and the edit knows it. */
  private outputOf({ message, tool }: RunEdit): Output {
    if (tool === TEXT_OBSERVATION) return { message };
    return this.outputs.get(message) ?? { message };
  }
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
