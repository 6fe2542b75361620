/** A text that is known by its hash. */
export interface Hashed {
  /** 30 bits each, so that both are small integers in any engine. */
  readonly low: number;
  readonly high: number;
}

const SLOT_WORDS = 3;
const LEAST_SLOTS = 64;
/** Of the slots, as a share. */
const MOST_TAKEN = 0.6;

/**
 * Numbers by the hashes of texts. It holds no object per entry, and no text. Two texts with the
 * same hash share an entry; of 150 000 texts two do so with a probability of about one in a hundred
 * million.
 */
export class HashTable {
  /** The number of entries. */
  size = 0;
  /** Low, high, and the number plus one, of each slot; zeros if it is free. */
  private slots = new Int32Array(LEAST_SLOTS * SLOT_WORDS);

  /** Bytes of memory. */
  get bytes(): number {
    return this.slots.byteLength;
  }

  /** The number of a text; undefined if it has none. */
  get(text: Hashed): number | undefined {
    const value = this.slots[this.slotOf(this.slots, text) + 2] ?? 0;
    return value === 0 ? undefined : value - 1;
  }

  /** Gives a text a number unless it has one. @param value 0 to 2 147 483 646 */
  add(text: Hashed, value: number): void {
    let slot = this.slotOf(this.slots, text);
    if (this.slots[slot + 2] !== 0) return;
    if (this.size + 1 > (MOST_TAKEN * this.slots.length) / SLOT_WORDS) {
      this.grow();
      slot = this.slotOf(this.slots, text);
    }
    put(this.slots, slot, text.low, text.high, value + 1);
    this.size++;
  }

  /** Where a text is, or would be. */
  private slotOf(slots: Int32Array, { low, high }: Hashed): number {
    const mask = slots.length / SLOT_WORDS - 1;
    for (let at = low & mask; ; at = (at + 1) & mask) {
      const slot = SLOT_WORDS * at;
      if (slots[slot + 2] === 0 || (slots[slot] === low && slots[slot + 1] === high)) return slot;
    }
  }

  private grow(): void {
    const before = this.slots;
    const slots = new Int32Array(2 * before.length);
    for (let from = 0; from < before.length; from += SLOT_WORDS) {
      const [low = 0, high = 0, value = 0] = before.subarray(from, from + SLOT_WORDS);
      if (value !== 0) put(slots, this.slotOf(slots, { low, high }), low, high, value);
    }
    this.slots = slots;
  }
}

function put(slots: Int32Array, slot: number, low: number, high: number, value: number): void {
  slots[slot] = low;
  slots[slot + 1] = high;
  slots[slot + 2] = value;
}

/** The hash of a text: two products over it, each mixed at the end. */
export function hashOf(text: string): Hashed {
  let low = 0x811c9dc5;
  let high = 0x2f0b4c47;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5bd1e995);
  }
  return { low: mixed(low), high: mixed(high) };
}

/** Spreads the bits of a hash (the finalizer of MurmurHash3). The result has 30 bits. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 2;
}
