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

/** What the phases may remove, without the outputs of missed contents. */
export interface Misses extends PhaseEdits {
  /** Removals without the ones of outputs that stay. */
  without(removals: readonly Removal[]): readonly Removal[];
  /** All misses up to here, oldest first. */
  list(): readonly Miss[];
}

export function missesIn({ requestPoints }: History, edits: Recalling, journal: Journal): Misses {
  /** The number of requests with at most this many messages. */
  const requestsBefore = (messages: number): number =>
    mostFitting(requestPoints.length, (count) => (requestPoints[count - 1]?.messages ?? 0) <= messages);
  const isMiss = (recall: Recall): boolean => {
    if (recall.how === 'fetched' || recall.isMarked) return true;
    const { of, asked } = recall;
    const gone = journal.removalOf(of);
    if (!gone || isRepeated(gone.removal) || gone.at > asked) return false;
    return requestsBefore(asked) - requestsBefore(gone.at) < SOON;
  };
  /** Whether an output has brought back a missed content, or repeats an earlier one that has. */
  const stays = (message: number): boolean => {
    const recalls = edits.recalls();
    let recall = recalls.get(message);
    for (let link = 0; recall && link < MOST_LINKS; link++) {
      if (isMiss(recall)) return true;
      if (recall.how === 'fetched' || !isRepeated(journal.removalOf(recall.of)?.removal)) return false;
      recall = recalls.get(recall.of);
    }
    return false;
  };
  const without = (removals: readonly Removal[]): readonly Removal[] =>
    removals.filter(({ kind, message }) => kind !== 'output' || !stays(message));
  const refOf = (recall: Recall): string | undefined =>
    recall.how === 'fetched' ? recall.ref : journal.removalOf(recall.of)?.removal.ref;
  return {
    ...edits,
    // An output that a later one repeats leaves, since that one has its content.
    light: (unit, until) =>
      edits.light(unit, until).filter(({ reason, message }) => reason !== 'offloaded' || !stays(message)),
    heavy: (unit, light) => without(edits.heavy(unit, light)),
    without,
    list: () => {
      if (journal.length === 0) return [];
      return [...edits.recalls()]
        .filter(([, recall]) => isMiss(recall))
        .map(([message, recall]) => ({ how: recall.how, message, ref: refOf(recall) }))
        .sort((one, other) => one.message - other.message);
    },
  };
}

/** Whether an output was removed because a later one has the same content. */
function isRepeated(removal: Removal | undefined): boolean {
  return removal?.reason === 'duplicate' || removal?.reason === 'superseded';
}
