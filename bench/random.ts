/** Random numbers from a seed, so that conversations are reproducible. */

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  /**
   * From 0, inclusive, to 1, exclusive. The generator is mulberry32
   * (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c).
   */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends inclusive. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /**
   * A log-normal length, as tool outputs have it: most are short, a few very long. `spread` is the
   * standard deviation of the logarithm.
   */
  length(median: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return Math.round(median * Math.exp(spread * normal));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.int(0, items.length - 1)] ?? items[0];
  }

  /** The items in random order (Fisher and Yates). */
  shuffle<Item>(items: readonly Item[]): Item[] {
    const left = [...items];
    const shuffled: Item[] = [];
    while (left.length > 0) shuffled.push(...left.splice(this.int(0, left.length - 1), 1));
    return shuffled;
  }

  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.int(0, 0xffff).toString(16).padStart(4, '0');
    return text.slice(0, digits);
  }
}
