/**
 * The tokens of an encoding by their bytes. A token's rank is its place in the order of merges.
 *
 * The table comes as bytes (`tools/token-tables.ts` writes it): the number of tokens as a
 * little-endian 32-bit integer, the length of each token in one byte, then the bytes of all tokens,
 * in the order of their ranks. Over these is a hash table with open addressing in typed arrays: no
 * string and no object is made for a token.
 */

/** What `rankOf` returns for bytes that are no token; greater than every rank. */
export const NO_RANK = 0x7fff_ffff;

const HEADER_BYTES = 4;

/**
 * A slot holds a rank plus 1 in its low bits, and bits of the token's hash above them. 0 is empty.
 */
const RANK_BITS = 18;
const RANK = 2 ** RANK_BITS - 1;
const TAG = ~RANK;

/** Two bytes have this many values. Half of all pieces have no more bytes. */
const PAIRS = 2 ** 16;

export class TokenRanks {
  private readonly tokens: Uint8Array;
  /** Where each token starts in `tokens`; one more for the end of the last one. */
  private readonly starts: Uint32Array;
  /** At most half of them are used, so that a search ends soon. */
  private readonly slots: Int32Array;
  /** The ranks of two bytes, found without a hash. */
  private readonly pairs = new Int32Array(PAIRS).fill(NO_RANK);
  private readonly longest: number;

  constructor(table: ArrayBuffer) {
    const count = new DataView(table).getUint32(0, true);
    if (count >= RANK) throw new RangeError(`a table of ${count} tokens`);
    const lengths = new Uint8Array(table, HEADER_BYTES, count);
    this.tokens = new Uint8Array(table, HEADER_BYTES + count);
    this.starts = new Uint32Array(count + 1);
    this.slots = new Int32Array(2 ** (Math.ceil(Math.log2(count + 1)) + 1));
    this.longest = this.fill(lengths);
  }

  /**
   * The rank of the token that has these bytes, or `NO_RANK`.
   *
   * @param start of the bytes @param end after them
   */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length === 2) return this.pairs[pairAt(bytes, start)] ?? NO_RANK;
    if (length > this.longest) return NO_RANK;
    const { slots } = this;
    const hash = hashOf(bytes, start, end);
    const last = slots.length - 1;
    for (let at = hash & last; ; at = (at + 1) & last) {
      const slot = slots[at] ?? 0;
      if (slot === 0) return NO_RANK;
      const rank = (slot & RANK) - 1;
      if (((slot ^ hash) & TAG) === 0 && this.isToken(rank, bytes, start, end)) return rank;
    }
  }

  private isToken(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { starts, tokens } = this;
    let at = starts[rank] ?? 0;
    if ((starts[rank + 1] ?? 0) - at !== end - start) return false;
    for (let place = start; place < end; place++, at++) if (tokens[at] !== bytes[place]) return false;
    return true;
  }

  /** @returns the length of the longest token */
  private fill(lengths: Uint8Array): number {
    const { starts, slots, pairs, tokens } = this;
    const last = slots.length - 1;
    let longest = 0;
    let start = 0;
    for (let rank = 0; rank < lengths.length; rank++) {
      const length = lengths[rank] ?? 0;
      const hash = hashOf(tokens, start, start + length);
      let at = hash & last;
      while (slots[at] !== 0) at = (at + 1) & last;
      slots[at] = (hash & TAG) | (rank + 1);
      if (length === 2) pairs[pairAt(tokens, start)] = rank;
      start += length;
      starts[rank + 1] = start;
      if (length > longest) longest = length;
    }
    return longest;
  }
}

function pairAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/**
 * FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), with its high bits mixed into the low ones.
 */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
