import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutAfter, cutBefore, withoutHalfAtEnd, withoutHalfAtStart } from '../../../src/lib/characters.ts';
import { forAll } from '../../support/laws/runs.ts';

const text = fc.string({ unit: fc.constantFrom('a', '\n', 'é', '転', '😀', '𝒳', '🇩🇪'), maxLength: 12 });
const place = fc.nat({ max: 40 });
const cutText = fc.tuple(text, place).map(([text, place]) => ({ text, at: Math.min(place, text.length) }));

describe('a cut between characters', () => {
  it('parts no pair, and lies beside its place only where that is inside of one', () => {
    forAll(cutText, ({ text, at }) => {
      const parts = (at: number): boolean => !text.slice(0, at).isWellFormed();
      expect(cutBefore(text, at)).toBe(parts(at) ? at - 1 : at);
      expect(cutAfter(text, at)).toBe(parts(at) ? at + 1 : at);
    });
  });

  it('anywhere leaves the same characters, once the halves are gone', () => {
    forAll(cutText, ({ text, at }) => {
      expect(withoutHalfAtEnd(text.slice(0, at))).toBe(text.slice(0, cutBefore(text, at)));
      expect(withoutHalfAtStart(text.slice(at))).toBe(text.slice(cutAfter(text, at)));
    });
  });

  it.each([
    ['a first half alone', 'a\ud83db', 2],
    ['a second half alone', 'a\ude00b', 1],
    ['a second half at the beginning', '\ude00b', 0],
    ['a first half at the end', 'a\ud83d', 2],
  ])('before %s stays where it is', (_, text, at) => {
    expect(cutBefore(text, at)).toBe(at);
  });

  it('after which a second half is alone leaves it to what is before', () => {
    expect(cutAfter('a\ude00b', 1)).toBe(2);
    expect(withoutHalfAtStart('\ude00b')).toBe('b');
    expect(withoutHalfAtStart('\ude00\ude00b')).toBe('\ude00b');
  });

  it('of a text without any character is at its beginning', () => {
    expect([cutBefore('', 0), cutAfter('', 0)]).toEqual([0, 0]);
    expect([withoutHalfAtStart(''), withoutHalfAtEnd('')]).toEqual(['', '']);
  });
});
