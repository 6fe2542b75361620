import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ChangingSums, PrefixSums } from '../../../src/lib/prefix-sums.ts';
import { forAll } from '../../support/laws/runs.ts';

it('prefix sums give the sum of any part, and the start beside all of it', () => {
  forAll(fc.array(fc.nat(1_000)), fc.nat(1_000), fc.nat(), fc.nat(), (values, start, a, b) => {
    const sums = new PrefixSums(values, start);
    const [from = 0, to = 0] = [a, b].map((at) => at % (values.length + 1)).sort((x, y) => x - y);
    const sumOf = (part: number[]): number => part.reduce((sum, value) => sum + value, 0);
    expect(sums.between(from, to)).toBe(sumOf(values.slice(from, to)));
    expect(sums.before(to)).toBe(start + sumOf(values.slice(0, to)));
    expect(sums.total).toBe(start + sumOf(values));
    expect(values.map((_, index) => sums.at(index))).toEqual(values);
  });
});

it('prefix sums refuse an index that is none', () => {
  const sums = new PrefixSums([1, 2]);
  expect(() => sums.before(3)).toThrow('no element 3 of 3');
  expect(() => sums.between(-1, 2)).toThrow(RangeError);
  expect(() => new ChangingSums(2).before(3)).toThrow(RangeError);
});

it('changing sums follow what is added', () => {
  const change = fc.tuple(fc.nat(19), fc.integer({ min: -100, max: 100 }));
  forAll(fc.array(change), (changes) => {
    const sums = new ChangingSums(20);
    const values = Array<number>(20).fill(0);
    for (const [index, value] of changes) {
      sums.add(index, value);
      values[index] = (values[index] ?? 0) + value;
    }
    const expected = new PrefixSums(values);
    for (let end = 0; end <= 20; end++) expect(sums.before(end)).toBe(expected.before(end));
  });
});
