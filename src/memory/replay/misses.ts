/**
 * Misses: contents that the model has asked for again after they had left the view. Their outputs
 * stay from then on: what was needed twice is likely to be needed once more, and to remove it again
 * would only have it asked for again.
 *
 * `edits/repeats.ts` knows which outputs bring back an earlier one, and the journal at which move
 * that was removed. The outputs of missed contents are taken out of what the phases would remove.
 */
import type { History } from '../conversation/history.ts';
import type { Removal } from '../edits/removal.ts';
import type { Recall } from '../edits/repeats.ts';
import { mostFitting } from '../tokens/fitting.ts';
import type { Journal } from './journal.ts';
import type { PhaseEdits } from './phase-standing.ts';

/**
 * A call that is repeated within this many requests after its output has left the view is a miss. A
 * later one may ask out of habit.
 */
const SOON = 10;

/** Earlier outputs of the same call that are looked at. */
const MOST_LINKS = 8;

/** A content that was missed. */
export interface Miss {
  readonly how: Recall['how'];
  /** The output that has brought it back. */
  readonly message: number;
  /** Absent if nothing is stored. */
  readonly ref: string | undefined;
}

/** The outputs that bring contents back. */
export interface Recalling extends PhaseEdits {
  recalls(): ReadonlyMap<number, Recall>;
}

export class Misses implements PhaseEdits {
  readonly media: PhaseEdits['media'];
  readonly old: PhaseEdits['old'];
  readonly shortened: PhaseEdits['shortened'];
  private readonly history: History;
  private readonly edits: Recalling;
  private readonly journal: Journal;

  constructor(history: History, edits: Recalling, journal: Journal) {
    this.history = history;
    this.edits = edits;
    this.journal = journal;
    this.media = edits.media;
    this.old = edits.old;
    this.shortened = edits.shortened;
  }

  /**
   * The same as without misses, but for large outputs that stay. One that a later output repeats
   * leaves, since that one has its content.
   */
  readonly light = (unit: number, until: number): readonly Removal[] => {
    const light = this.edits.light(unit, until);
    const stays = ({ reason, message }: Removal): boolean => reason === 'offloaded' && this.stays(message);
    return light.filter((removal) => !stays(removal));
  };

  /** The same as without misses, but for the outputs that stay. */
  readonly heavy = (unit: number, light: readonly Removal[]): readonly Removal[] =>
    this.without(this.edits.heavy(unit, light));

  /** Removals without the ones of outputs that stay. */
  without(removals: readonly Removal[]): readonly Removal[] {
    const stays = ({ kind, message }: Removal): boolean => kind === 'output' && this.stays(message);
    return removals.filter((removal) => !stays(removal));
  }

  /** All misses up to here, oldest first. */
  list(): readonly Miss[] {
    if (this.journal.length === 0) return [];
    return [...this.edits.recalls()]
      .filter(([, recall]) => this.isMiss(recall))
      .map(([message, recall]) => ({ how: recall.how, message, ref: this.refOf(recall) }))
      .sort((one, other) => one.message - other.message);
  }

  private refOf(recall: Recall): string | undefined {
    return recall.how === 'fetched' ? recall.ref : this.journal.removalOf(recall.of)?.removal.ref;
  }

  /** Whether an output has brought back a missed content, or repeats an earlier one that has. */
  private stays(message: number): boolean {
    const recalls = this.edits.recalls();
    let recall = recalls.get(message);
    for (let link = 0; recall && link < MOST_LINKS; link++) {
      if (this.isMiss(recall)) return true;
      if (recall.how === 'fetched' || !isRepeated(this.journal.removalOf(recall.of)?.removal)) return false;
      recall = recalls.get(recall.of);
    }
    return false;
  }

  private isMiss(recall: Recall): boolean {
    if (recall.how === 'fetched' || recall.isMarked) return true;
    const { of, asked } = recall;
    const gone = this.journal.removalOf(of);
    if (!gone || isRepeated(gone.removal) || gone.at > asked) return false;
    return this.requestsBefore(asked) - this.requestsBefore(gone.at) < SOON;
  }

  /** The number of requests with at most this many messages. */
  private requestsBefore(messages: number): number {
    const { requestPoints } = this.history;
    return mostFitting(
      requestPoints.length,
      (count) => (requestPoints[count - 1]?.messages ?? 0) <= messages,
    );
  }
}

/** Whether an output was removed because a later one has the same content. */
function isRepeated(removal: Removal | undefined): boolean {
  return removal?.reason === 'duplicate' || removal?.reason === 'superseded';
}
