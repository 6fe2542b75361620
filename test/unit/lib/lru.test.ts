import { describe, expect, it } from 'vitest';
import { lruOf, TenantLru } from '../../../src/lib/lru.ts';

const keys = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

describe('a cache under a bound in bytes', () => {
  it('forgets what was not used for long, and holds no more than it may', () => {
    const lru = lruOf<number>({ bytes: 45_000, sizeOf: () => 10_000 });
    for (const [index, key] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      lru.set(key, index);
      lru.get('a');
    }
    const kept = ['a', 'b', 'c', 'd', 'e'].filter((key) => lru.get(key) !== undefined);
    expect(kept).toContain('a');
    expect(kept).toContain('e');
    expect(kept).not.toContain('b');
    expect(kept.length).toBeLessThanOrEqual(4);
  });

  it('F3: holds few large values and many small ones', () => {
    const keptOf = (size: number): number => {
      const lru = lruOf<string>({ bytes: 1_000_000, sizeOf: (value) => value.length });
      for (const key of keys(2_000)) lru.set(key, 'x'.repeat(size));
      return keys(2_000).filter((key) => lru.get(key) !== undefined).length;
    };
    expect(keptOf(10)).toBe(2_000);
    expect(keptOf(10_000)).toBeLessThanOrEqual(100);
    expect(keptOf(10_000)).toBeGreaterThanOrEqual(49);
  });

  it('F3: counts the keys, and takes no entry that is larger than half of the bound', () => {
    const lru = lruOf<number>({ bytes: 100_000 });
    lru.set('small', 1);
    lru.set('k'.repeat(30_000), 2);
    expect(lru.get('k'.repeat(30_000))).toBeUndefined();
    expect(lru.get('small')).toBe(1);
    for (const key of keys(100)) lru.set(key.padEnd(1_000), 3);
    expect(lru.get('small')).toBeUndefined();
  });

  it('F3: replaces a value by one that is too large to be kept, and knows neither', () => {
    const lru = lruOf<string>({ bytes: 10_000, sizeOf: (value) => value.length });
    lru.set('key', 'short');
    lru.set('key', 'x'.repeat(20_000));
    expect(lru.get('key')).toBeUndefined();
  });

  it('F3: counts what was replaced or deleted no more', () => {
    const lru = lruOf<string>({ bytes: 20_000, sizeOf: (value) => value.length });
    lru.set('kept', 'x');
    for (let time = 0; time < 100; time++) lru.set('replaced', 'x'.repeat(1_000));
    for (const key of keys(100)) {
      lru.set(key, 'x'.repeat(1_000));
      lru.delete(key);
    }
    expect(lru.get('kept')).toBe('x');
    expect(lru.get('replaced')).toBeDefined();
  });
});

describe('a cache of many tenants', () => {
  it('F7: gives a tenant nothing that another one has put in', () => {
    const lru = new TenantLru<number>({ bytes: 10_000 });
    lru.of('a').set('key', 1);
    expect(lru.of('b').get('key')).toBeUndefined();
    expect(lru.of('b').remember('key', () => 2)).toBe(2);
    lru.of('b').delete('key');
    expect(lru.of('a').get('key')).toBe(1);
  });

  it('F7: has one bound for all tenants, however many they are', () => {
    const lru = new TenantLru<number>({ bytes: 100_000 });
    const tenants = Array.from({ length: 5_000 }, (_, index) => `tenant ${index}`);
    for (const tenant of tenants) lru.of(tenant).set('key', 1);
    const kept = tenants.filter((tenant) => lru.of(tenant).get('key') !== undefined).length;
    expect(kept).toBeGreaterThan(50);
    expect(kept).toBeLessThan(500);
  });

  it('forgets an owner with all of its parts, wherever they are, and leaves the others', () => {
    const lru = new TenantLru<number>({ bytes: 20_000 });
    lru.set('a', 'old', 1);
    for (const key of keys(60)) lru.set('b', key, 1);
    for (const owner of ['a', 'a:ann:c', 'aa', 'b']) lru.set(owner, 'key', 1);
    expect(lru.get('a', 'old')).toBe(1);
    lru.forget('a');
    const owners = ['a', 'a:ann:c', 'aa', 'b'];
    expect(owners.map((owner) => lru.get(owner, 'key'))).toEqual([undefined, undefined, 1, 1]);
    expect(lru.get('a', 'old')).toBeUndefined();
  });

  it('counts what it has forgotten no more', () => {
    const lru = new TenantLru<string>({ bytes: 40_000, sizeOf: (value) => value.length });
    lru.set('kept', 'key', 'x');
    for (const key of keys(100)) {
      lru.set('gone', key, 'x'.repeat(5_000));
      lru.forget('gone');
    }
    expect(lru.get('kept', 'key')).toBe('x');
  });
});
