import { NO_RANK, type TokenRanks } from './ranks.ts';

/** Pieces are shorter; room for a longer one is made when it comes. */
const USUAL_BYTES = 1_024;

/**
 * Merges the bytes of a piece. Of all neighbors that make a token together, the ones of the lowest
 * rank are merged first. Quadratic, so long runs are cut before (`long-runs.ts`).
 *
 * A part is named by the place of its first byte.
 */
export class Merging {
  private readonly ranks: TokenRanks;
  /** Where each part ends. The next part starts there. */
  private ends = new Int32Array(USUAL_BYTES);
  /** The part before each part. */
  private previous = new Int32Array(USUAL_BYTES);
  /** The rank of each part together with the next one; `NO_RANK` where no part starts. */
  private pairs = new Int32Array(USUAL_BYTES);

  constructor(ranks: TokenRanks) {
    this.ranks = ranks;
  }

  /** Tokens of a piece. */
  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    this.divide(bytes, start, length);
    const { ranks, ends, previous, pairs } = this;
    let parts = length;
    for (let at = this.lowest(length); at >= 0; at = this.lowest(length)) {
      const second = ends[at] ?? 0;
      const third = ends[second] ?? 0;
      ends[at] = third;
      pairs[second] = NO_RANK;
      parts--;
      if (third === length) pairs[at] = NO_RANK;
      else {
        previous[third] = at;
        pairs[at] = ranks.rankOf(bytes, start + at, start + (ends[third] ?? 0));
      }
      if (at === 0) continue;
      const first = previous[at] ?? 0;
      pairs[first] = ranks.rankOf(bytes, start + first, start + third);
    }
    return parts;
  }

  /** Each byte becomes a part. */
  private divide(bytes: Uint8Array, start: number, length: number): void {
    if (length > this.ends.length) {
      this.ends = new Int32Array(length);
      this.previous = new Int32Array(length);
      this.pairs = new Int32Array(length);
    }
    const { ranks, ends, previous, pairs } = this;
    for (let at = 0; at < length; at++) {
      ends[at] = at + 1;
      previous[at] = at - 1;
      pairs[at] = at + 1 < length ? ranks.rankOf(bytes, start + at, start + at + 2) : NO_RANK;
    }
  }

  /** The first of the pairs with the lowest rank; -1 if no pair is a token. */
  private lowest(length: number): number {
    const { pairs } = this;
    let lowest = NO_RANK;
    let found = -1;
    for (let at = 0; at < length; at++) {
      const rank = pairs[at] ?? NO_RANK;
      if (rank < lowest) {
        lowest = rank;
        found = at;
      }
    }
    return found;
  }
}
