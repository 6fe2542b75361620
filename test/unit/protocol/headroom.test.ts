import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HASH_PATTERN, hashOfRef, refStartOf } from '../../../src/protocol/headroom.ts';
import { forAll } from '../../support/laws/runs.ts';

const characters = [...'abcdefghijklmnopqrstuvwxyz234567'];
const ref = fc
  .array(fc.constantFrom(...characters), { minLength: 26, maxLength: 26 })
  .map((all) => `ref_${all.join('')}`);

describe('a hash', () => {
  it('leads to its ref, and to none that differs in the first 19 characters', () => {
    forAll(ref, ref, (one, other) => {
      const hash = hashOfRef(one);
      expect(hash).toMatch(HASH_PATTERN);
      expect(one.startsWith(refStartOf(hash))).toBe(true);
      expect(other.startsWith(refStartOf(hash))).toBe(other.slice(0, 23) === one.slice(0, 23));
    });
  });

  it('has the bits of the content that it names, in order', () => {
    expect(hashOfRef(`ref_${'a'.repeat(26)}`)).toBe('0'.repeat(24));
    expect(hashOfRef(`ref_${'7'.repeat(26)}`)).toBe('f'.repeat(24));
    expect(hashOfRef(`ref_b${'a'.repeat(25)}`)).toBe(`08${'0'.repeat(22)}`);
    expect(refStartOf(`08${'0'.repeat(22)}`)).toBe(`ref_b${'a'.repeat(18)}`);
  });
});
