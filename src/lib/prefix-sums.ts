/** Sums of the beginnings of a list: the sum of any part is the difference of two of them. */
import { elementAt } from './elements.ts';

/** Sums of a list that may grow at its end. */
export class PrefixSums {
  private readonly sums: number[];

  /** @param start what is added to the sum of every beginning, the empty one included */
  constructor(values: Iterable<number> = [], start = 0) {
    this.sums = [start];
    for (const value of values) this.push(value);
  }

  push(value: number): void {
    this.sums.push(this.total + value);
  }

  /** How many values there are. */
  get length(): number {
    return this.sums.length - 1;
  }

  /** The sum of all values, with the start. */
  get total(): number {
    return this.before(this.length);
  }

  /** The sum of the values before an index, with the start. @throws RangeError beyond the end */
  before(index: number): number {
    return elementAt(this.sums, index);
  }

  /** The sum of the values from one index up to and without another. @throws RangeError likewise */
  between(from: number, to: number): number {
    return this.before(to) - this.before(from);
  }

  /** The value at an index. @throws RangeError where there is none */
  at(index: number): number {
    return this.between(index, index + 1);
  }
}

/**
 * Sums of a list of fixed length whose values change, all 0 at first. A change and a sum cost the
 * logarithm of the length (a Fenwick tree).
 */
export class ChangingSums {
  private readonly tree: Float64Array;

  constructor(length: number) {
    this.tree = new Float64Array(length + 1);
  }

  /** Adds to the value at an index; behind the end there is nothing to add to. */
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
