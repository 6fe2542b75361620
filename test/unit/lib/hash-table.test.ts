import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashTable, hashOf } from '../../../src/lib/hash-table.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('a hash table', () => {
  it('is a map that keeps the first number of each text', () => {
    const entry = fc.tuple(fc.string({ maxLength: 3 }), fc.nat(2 ** 31 - 2));
    forAll(fc.array(entry, { maxLength: 500 }), (entries) => {
      const table = new HashTable();
      const map = new Map<string, number>();
      for (const [text, value] of entries) {
        table.add(hashOf(text), value);
        if (!map.has(text)) map.set(text, value);
      }
      expect(table.size).toBe(map.size);
      for (const [text] of entries) expect(table.get(hashOf(text))).toBe(map.get(text));
      expect(table.get(hashOf('none of them'))).toBeUndefined();
    });
  });

  it('distinguishes texts whose hashes differ in one half', () => {
    const table = new HashTable();
    table.add({ low: 1, high: 1 }, 0);
    table.add({ low: 1, high: 2 }, 1);
    table.add({ low: 0, high: 0 }, 2);
    expect([1, 2, 3].map((high) => table.get({ low: 1, high }))).toEqual([0, 1, undefined]);
    expect(table.get({ low: 0, high: 0 })).toBe(2);
  });

  it('grows with its entries', () => {
    const table = new HashTable();
    for (let at = 0; at < 100_000; at++) table.add(hashOf(`ORD-${at}`), at);
    expect(table.size).toBe(100_000);
    expect(table.bytes).toBeLessThan(40 * 100_000);
    for (let at = 0; at < 100_000; at++)
      if (table.get(hashOf(`ORD-${at}`)) !== at) throw new Error(`ORD-${at} is lost`);
  });

  it('gives at most 64 texts of one bucket an entry, and does not grow for the others', () => {
    const table = new HashTable();
    for (let high = 0; high < 50_000; high++) table.add({ low: 77, high }, high);
    expect(table.size).toBe(64);
    expect(table.bytes).toBeLessThan(4_000);
    expect([0, 63, 64, 49_999].map((high) => table.get({ low: 77, high }))).toEqual([
      0,
      63,
      undefined,
      undefined,
    ]);
  });

  it('keeps what it has when it grows, also where a bucket was full', () => {
    const table = new HashTable();
    for (let high = 0; high < 200; high++) table.add({ low: 0, high }, high);
    for (let at = 0; at < 20_000; at++) table.add(hashOf(`ORD-${at}`), at);
    for (let high = 0; high < 200; high++)
      expect(table.get({ low: 0, high })).toBe(high < 64 ? high : undefined);
  });

  it('knows of some texts the same, whatever is added after them', () => {
    // Few values of `low`, in its high and its low bits, so that buckets are full.
    const low = fc.tuple(fc.nat(2), fc.nat(3)).map(([top, bottom]) => top * 2 ** 28 + bottom);
    const text = fc.record({ low, high: fc.nat(150) });
    const texts = fc.array(text, { minLength: 200, maxLength: 1_500, size: 'max' });
    forAll(30, texts, texts, (some, later) => {
      const table = new HashTable();
      for (const [at, one] of some.entries()) table.add(one, at);
      const known = some.map((one) => table.get(one));
      expect(new Set(known.filter((number) => number !== undefined)).size).toBe(table.size);
      for (const [at, one] of later.entries()) table.add(one, some.length + at);
      for (const [at, one] of some.entries()) {
        const now = table.get(one);
        expect(now === known[at] || (known[at] === undefined && (now ?? 0) >= some.length)).toBe(true);
      }
    });
  });

  it('has hashes of 30 bits in each half', () => {
    forAll(fc.string(), (text) => {
      const { low, high } = hashOf(text);
      for (const half of [low, high]) expect(half >= 0 && half < 2 ** 30).toBe(true);
    });
  });
});
