/** A text that is known by its hash. */
export interface Hashed {
  /** 30 bits each, so that both are small integers in any engine. */
  readonly low: number;
  readonly high: number;
}

const SLOT_WORDS = 3;
/** Slots of a bucket: the most that any search reads. */
const BUCKET_SLOTS = 64;
const BUCKET_WORDS = BUCKET_SLOTS * SLOT_WORDS;
/** The bits of `low` above those that choose the bucket; there a search of the bucket begins. */
const START_SHIFT = 24;
/** Of the slots, as a share. */
const MOST_TAKEN = 0.6;

/**
 * Numbers by the hashes of texts. It holds no object per entry, and no text. Two texts with the
 * same hash share an entry; of 150,000 texts two do so with a probability of about one in a hundred
 * million.
 *
 * The hashes have no seed, so anyone can make texts that collide. Therefore an entry stays in the
 * bucket that its hash chooses, and a text that finds its bucket full gets no entry. A text keeps
 * its entry: when the table doubles, each bucket splits in two. So whether a text has an entry
 * depends on the texts added until then alone. Of 150,000 texts that nobody has chosen, hardly one
 * gets no entry.
 */
export class HashTable {
  size = 0;
  /** Low, high, and the number plus one, of each slot; zeros if it is free. */
  private slots: Int32Array = new Int32Array(BUCKET_WORDS);

  get bytes(): number {
    return this.slots.byteLength;
  }

  /** The number of a text; undefined if it has no entry. */
  get(text: Hashed): number | undefined {
    const slot = slotOf(this.slots, text.low, text.high);
    const value = slot === undefined ? 0 : (this.slots[slot + 2] ?? 0);
    return value === 0 ? undefined : value - 1;
  }

  /**
   * Gives a text a number, unless it has one or its bucket is full.
   *
   * @param value 0 to 2,147,483,646
   */
  add({ low, high }: Hashed, value: number): void {
    const slot = slotOf(this.slots, low, high);
    if (slot === undefined || this.slots[slot + 2] !== 0) return;
    if (this.size + 1 > (MOST_TAKEN * this.slots.length) / SLOT_WORDS) this.slots = doubled(this.slots);
    put(this.slots, low, high, value + 1);
    this.size++;
  }
}

/** Where a text is, or would be; undefined if its bucket is full of others. */
function slotOf(slots: Int32Array, low: number, high: number): number | undefined {
  const buckets = slots.length / BUCKET_WORDS;
  const bucket = (low & (buckets - 1)) * BUCKET_WORDS;
  const start = low >>> START_SHIFT;
  for (let probe = 0; probe < BUCKET_SLOTS; probe++) {
    const slot = bucket + SLOT_WORDS * ((start + probe) & (BUCKET_SLOTS - 1));
    if (slots[slot + 2] === 0 || (slots[slot] === low && slots[slot + 1] === high)) return slot;
  }
  return undefined;
}

/** The entries in twice as many buckets. Each takes entries of one bucket alone, so all fit. */
function doubled(before: Int32Array): Int32Array {
  const slots = new Int32Array(2 * before.length);
  for (let from = 0; from < before.length; from += SLOT_WORDS) {
    const low = before[from] ?? 0;
    const high = before[from + 1] ?? 0;
    const value = before[from + 2] ?? 0;
    if (value !== 0) put(slots, low, high, value);
  }
  return slots;
}

function put(slots: Int32Array, low: number, high: number, value: number): void {
  const slot = slotOf(slots, low, high);
  if (slot === undefined) return;
  slots[slot] = low;
  slots[slot + 1] = high;
  slots[slot + 2] = value;
}

/**
 * The hash of a text, or of its part from `from` to `to`: two products over it, each mixed at the
 * end.
 */
export function hashOf(text: string, from = 0, to: number = text.length): Hashed {
  let low = 0x811c9dc5;
  let high = 0x2f0b4c47;
  for (let at = from; at < to; at++) {
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
