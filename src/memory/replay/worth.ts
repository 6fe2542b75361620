/**
 * Whether moves have paid off so far. A move that a count demands is made whatever it costs: what
 * follows its edits is read anew, and a conversation with many small moves pays more than without
 * any. The estimate is the floor's (`floor.ts`): prices of cached and of written input, each
 * request within the cache's life. It is blind to rounds, to thinking, and to what the answers
 * cost.
 */
import type { History } from '../conversation/history.ts';
import type { ModelTerms } from '../models/terms.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { Move } from './frontier.ts';
import { frontierUnit } from './rule.ts';

/** How much dearer the requests may be, as a share, before it is said. */
const TOLERANCE = 0.01;

/** A move pays back later, so nothing is said of the first one. */
const LEAST_MOVES = 2;

/** In tokens. Shorter prompts are cached by no vendor (`least-cached.ts` in `models/`). */
const LEAST_CACHED = 1_024;

/** Whether the requests of an array cost more with the moves than without them. */
export function costsMore(
  { units, requestPoints }: Pick<History, 'units' | 'requestPoints'>,
  moves: readonly Pick<Move, 'messages' | 'before' | 'after' | 'cuts'>[],
  sums: TokenSums,
  { prices: { cached, written, boundaries }, marks }: Pick<ModelTerms, 'prices' | 'marks'>,
): boolean {
  const cost = (tokens: number, reused: number) => {
    const read = reused < LEAST_CACHED ? 0 : Math.min(tokens, reused);
    return cached * read + written * (tokens - read);
  };
  if (moves.length < LEAST_MOVES) return false;
  // Of a cache that is read at boundaries, only the preamble is read where no mark is.
  const isMarked = boundaries === undefined || marks;
  const preamble = sums.before(units[0]?.first ?? 0);
  let [edited, unedited, lastView, lastArray, freed, from, next] = [0, 0, 0, 0, 0, 0, 0];
  for (const { messages } of requestPoints) {
    const array = sums.before(messages);
    const move = moves[next]?.messages === messages ? moves[next++] : undefined;
    // Before a move all edits are before its first unit.
    const changed = sums.before(units[from]?.first ?? 0) - freed;
    const kept = move ? (isMarked ? changed : preamble) : lastView;
    if (move) [freed, from] = [move.before - move.after, frontierUnit(move.cuts)];
    edited += cost(array - freed, Math.min(kept, lastView));
    unedited += cost(array, lastArray);
    [lastView, lastArray] = [array - freed, array];
  }
  return edited > (1 + TOLERANCE) * unedited;
}
