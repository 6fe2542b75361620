/** Prefix sums of a list: the sum of any part is one subtraction. */
import { elementAt } from './elements.ts';

/** Prefix sums of a list that may grow at its end. */
export class PrefixSums {
  private readonly sums: number[];

  /** @param start added to the sum of every prefix, the empty one included */
  constructor(values: Iterable<number> = [], start = 0) {
    this.sums = [start];
    for (const value of values) this.push(value);
  }

  push(value: number): void {
    this.sums.push(this.total + value);
  }

  get length(): number {
    return this.sums.length - 1;
  }

  /** The sum of all values, plus the start. */
  get total(): number {
    return this.before(this.length);
  }

  /** The sum of the values before an index, plus the start. @throws RangeError beyond the end */
  before(index: number): number {
    return elementAt(this.sums, index);
  }

  /** The sum of the values from one index up to another, exclusive. @throws RangeError likewise */
  between(from: number, to: number): number {
    return this.before(to) - this.before(from);
  }

  /** The value at an index. @throws RangeError if there is none */
  at(index: number): number {
    return this.between(index, index + 1);
  }
}

/**
 * Prefix sums of a list of fixed length whose values change; all are 0 at first. Updates and sums
 * take logarithmic time (a Fenwick tree).
 */
export class ChangingSums {
  private readonly tree: Float64Array;

  constructor(length: number) {
    this.tree = new Float64Array(length + 1);
  }

  /** Adds to the value at an index; ignored beyond the end. */
  add(index: number, value: number): void {
    for (let at = index + 1; at < this.tree.length; at += at & -at)
      this.tree[at] = elementAt(this.tree, at) + value;
  }

  /** The sum of the values before an index. @throws RangeError beyond the end */
  before(index: number): number {
    let sum = 0;
    for (let at = index; at > 0; at -= at & -at) sum += elementAt(this.tree, at);
    return sum;
  }
}
