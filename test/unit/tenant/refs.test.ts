import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tenants } from '../../../src/tenant/identity.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('the refs of a tenant', () => {
  const tenants = new Tenants('a secret of at least 16');
  const [ours, theirs] = [
    tenants.ofToken('sk-ours-0123456789abcdef'),
    tenants.ofToken('sk-theirs-0123456789abcd'),
  ];

  it('are one for the same content of the same tenant, and another for every other tenant', () => {
    forAll(fc.string(), (content) => {
      const ref = ours.refs.name(`key ${content}`, () => content);
      expect(ref).toMatch(/^ref_[a-z2-7]{26}$/);
      expect(ours.refs.name(`other key ${content}`, () => content)).toBe(ref);
      expect(theirs.refs.name(`key ${content}`, () => content)).not.toBe(ref);
      expect(ours.refs.owns(ref)).toBe(true);
      expect(theirs.refs.owns(ref)).toBe(false);
    });
  });

  it('fail their check when one character differs', () => {
    const ref = ours.refs.name('k', () => 'content');
    for (let index = 4; index < ref.length; index++) {
      const other = ref[index] === 'a' ? 'b' : 'a';
      expect(ours.refs.owns(ref.slice(0, index) + other + ref.slice(index + 1))).toBe(false);
    }
  });

  it('belong to tenants whose ids tell nothing of their keys', () => {
    expect(ours.id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Tenants('another secret of 16').ofToken('sk-ours-0123456789abcdef').id).not.toBe(ours.id);
    expect(tenants.ofName('sk-ours-0123456789abcdef').id).not.toBe(ours.id);
  });
});
