/**
 * What the caller's copy of an answer repeats of Precis's rounds before it. The caller got the
 * answers of all rounds joined into one, so its array has the words, thoughts and items of earlier
 * rounds in that answer, and a view has them in the rounds, too. There they are where the model
 * wrote them: thinking is bound to what was before it, and OpenAI refuses an item id twice. So the
 * caller's copies are left out (docs/design.md#kept-rounds).
 */
import { asList, parseJson } from '../lib/json.ts';

/** How a piece of an answer is recognized: a block, an item, or an element of a list. */
export interface Piece {
  /** An id, a signature, or encrypted data: nothing else has the same. */
  readonly id?: string | undefined;
  /** What it says, where it or the other one has no id. */
  readonly words?: string | undefined;
}

/**
 * The index of the first piece that no round has: with it, the last answer begins. Pieces that
 * can't be recognized belong to the next one that can be.
 *
 * @param pieces of the caller's answer
 * @param earlier the pieces of the rounds, in order. The caller need not have seen all of them
 * @returns the number of pieces if rounds have all of them
 */
export function firstOwn(pieces: readonly Piece[], earlier: readonly Piece[]): number {
  let at = 0;
  const first = pieces.findIndex((piece) => {
    if (piece.id === undefined && piece.words === undefined) return false;
    while (at < earlier.length && !areSame(piece, earlier[at])) at++;
    return at++ >= earlier.length;
  });
  return first < 0 ? pieces.length : first;
}

function areSame(one: Piece, other: Piece = {}): boolean {
  if (one.id !== undefined && other.id !== undefined) return one.id === other.id;
  return one.words !== undefined && one.words === other.words;
}

/** The messages or items of rounds. @param json see `ShownRounds` */
export function readRounds(json: string): readonly unknown[] {
  return asList(parseJson(`[${json}]`));
}
