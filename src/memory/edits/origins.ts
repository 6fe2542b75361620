/** Where the literals of an array first occur. */
import type { Literal } from './literals.ts';

/**
 * Literals whose first occurrence is remembered. With more, a preview may repeat a literal of an
 * earlier message: that wastes a few tokens, while remembering more would take other requests'
 * memory.
 */
const MOST_ORIGINS = 150_000;

/** Bytes of an entry: two numbers in a map. */
const ORIGIN_BYTES = 40;

/**
 * The first message with each literal. Literals are known by their hashes. An array at the bound
 * has two that share one with a probability of about one in a million; one of them would then be
 * missing from a preview.
 */
export class Origins {
  /** The number of messages that have been read. */
  read = 0;
  private readonly first = new Map<number, number>();

  /** Bytes of memory. */
  get bytes(): number {
    return ORIGIN_BYTES * this.first.size;
  }

  /** Reads the next message. @param literals of each of its texts */
  readNext(literals: () => readonly Iterable<Literal>[]): void {
    if (!this.isFull) for (const found of literals()) this.add(found);
    this.read++;
  }

  /** The first message that holds a literal; undefined if none that was read does. */
  of(literal: string): number | undefined {
    return this.first.get(hashOf(literal));
  }

  private get isFull(): boolean {
    return this.first.size >= MOST_ORIGINS;
  }

  private add(literals: Iterable<Literal>): void {
    for (const { text } of literals) {
      if (this.isFull) return;
      const hash = hashOf(text);
      if (!this.first.has(hash)) this.first.set(hash, this.read);
    }
  }
}

/** A hash of 53 bits, made of two products over the text, each mixed at the end. */
function hashOf(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x2f0b4c47;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5bd1e995);
  }
  return (mixed(high) & 0x1fffff) * 0x1_0000_0000 + mixed(low);
}

/** Spreads the bits of a hash, as an unsigned number (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
