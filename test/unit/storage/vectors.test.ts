import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuseRanks, mergeArchives } from '../../../src/storage/archive/fusion.ts';
import { dimensionsOf, packVector, similarity, unitOf } from '../../../src/storage/archive/vectors.ts';
import { forAll } from '../../support/laws/runs.ts';

/** Finite numbers of any size, at least one of them not 0. */
const vector = (dimensions = { minLength: 1, maxLength: 64 }) =>
  fc
    .array(fc.double({ noNaN: true, noDefaultInfinity: true }), dimensions)
    .filter((values) => values.some((value) => value !== 0));

const packed = (values: readonly number[]): Uint8Array<ArrayBuffer> =>
  packVector(values) as Uint8Array<ArrayBuffer>;
const unit = (values: readonly number[]): Float32Array => unitOf(values) as Float32Array;
const cosine = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, index) => sum + value * (other[index] as number), 0);

describe('a stored vector', () => {
  it('is a factor and a byte for each dimension, little-endian', () => {
    expect([...packed([0, 3, -4])]).toEqual([
      ...new Uint8Array(new Float32Array([1 / Math.hypot(95, 127)]).buffer),
      0,
      95,
      129,
    ]);
    expect(dimensionsOf(packed([0, 3, -4]))).toBe(3);
  });

  it('has a direction', () => {
    expect(packVector([0, 0])).toBeUndefined();
    expect(unitOf([0, -0])).toBeUndefined();
  });

  it('is as similar to itself as can be, however large or small its numbers are', () => {
    forAll(vector(), (values) => {
      expect(similarity(packed(values).buffer, unit(values))).toBeGreaterThan(0.95);
      expect(similarity(packed(values).buffer, unit(values))).toBeLessThan(1.000_001);
      expect(similarity(packed(values).buffer, unit(values.map((value) => -value)))).toBeLessThan(-0.95);
    });
  });

  it('keeps its similarity to any other within half a step in each dimension', () => {
    const two = fc
      .integer({ min: 1, max: 64 })
      .chain((length) => fc.tuple(...[1, 2].map(() => vector({ minLength: length, maxLength: length }))));
    forAll(two, ([one = [], other = []]) => {
      const exact = cosine(unit(one), unit(other));
      const largest = Math.max(...unit(one).map(Math.abs));
      // The rounding error is at most this long, and changes the length by as much.
      const error = (Math.sqrt(one.length) * largest) / 254;
      expect(Math.abs(similarity(packed(one).buffer, unit(other)) - exact)).toBeLessThan(2 * error + 1e-6);
    });
  });

  it('does not depend on the length of what it was made of', () => {
    forAll(fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 1 }), (values) => {
      fc.pre(values.some((value) => value !== 0));
      expect(packed(values.map((value) => value * 2 ** 40))).toEqual(packed(values));
    });
  });
});

describe('the fusion of rankings', () => {
  it('scores an item by its rank in each list', () => {
    // 1/61 + 1/63 > 1/62 + 1/62 > 1/61 > 1/63 > 1/64
    expect(
      fuseRanks([
        ['a', 'b', 'c'],
        ['d', 'b', 'a', 'e'],
      ]),
    ).toEqual(['a', 'b', 'd', 'c', 'e']);
  });

  it('is the one list that is not empty', () => {
    const list = fc.uniqueArray(fc.integer());
    forAll(list, (items) => {
      expect(fuseRanks([items])).toEqual(items);
      expect(fuseRanks([[], items])).toEqual(items);
      expect(fuseRanks([items, items])).toEqual(items);
    });
  });

  it('has each item once, and never turns round what all lists agree on', () => {
    const list = fc.uniqueArray(fc.integer({ min: 0, max: 20 }));
    forAll(list, list, (one, other) => {
      const fused = fuseRanks([one, other]);
      expect(fused.toSorted()).toEqual([...new Set([...one, ...other])].toSorted());
      const places = (item: number) => [one, other].map((items) => items.indexOf(item));
      for (const [index, better] of fused.entries())
        for (const worse of fused.slice(index + 1)) {
          const ranked = places(better).map((place, list) => [place, places(worse)[list] ?? -1]);
          const isWorseEverywhere = ranked.every(
            ([first = 0, second = 0]) => second >= 0 && (first < 0 || second < first),
          );
          expect(isWorseEverywhere).toBe(false);
        }
    });
  });

  it('lets no later result change the order of those before', () => {
    const list = fc.uniqueArray(fc.integer({ min: 0, max: 200 }), { minLength: 60 });
    forAll(list, list, (words, others) => {
      const similar = others.slice(0, 50);
      const fused = fuseRanks([words, similar]);
      expect(fused.filter((item) => !similar.includes(item))).toEqual(
        words.filter((item) => !similar.includes(item)),
      );
    });
  });
});

describe('the merger of archives', () => {
  const withWords = (id: string, similarity = 0) => ({ id, hasWords: true, similarity });
  const alike = (id: string, similarity: number) => ({ id, hasWords: false, similarity });
  const idsOf = (lists: Parameters<typeof mergeArchives<ReturnType<typeof alike>>>[0]): string[] =>
    mergeArchives(lists).map(({ id }) => id);

  it('takes those with the words by their place and then by similarity, all others by similarity', () => {
    expect(
      idsOf([
        [alike('a', 0.9), alike('b', 0.2)],
        [withWords('c', 0.1), withWords('d', 0.8), alike('e', 0.7)],
        [withWords('f', 0.3), alike('g', 0.95)],
        [withWords('h')],
      ]),
    ).toEqual(['f', 'c', 'h', 'd', 'g', 'a', 'e', 'b']);
  });

  it('loses no message, puts none before one with the words, and keeps the order of each list', () => {
    const list = fc
      .tuple(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
      )
      .map(([words, others]) => [
        ...words.map((similarity) => withWords('', similarity)),
        ...others.sort((one, other) => other - one).map((similarity) => alike('', similarity)),
      ]);
    forAll(fc.array(list), (lists) => {
      const merged = mergeArchives(lists);
      expect(merged).toHaveLength(lists.flat().length);
      for (const hits of lists) expect(merged.filter((hit) => hits.includes(hit))).toEqual(hits);
      const words = lists.flat().filter(({ hasWords }) => hasWords);
      expect(merged.slice(0, words.length).every(({ hasWords }) => hasWords)).toBe(true);
    });
  });
});
