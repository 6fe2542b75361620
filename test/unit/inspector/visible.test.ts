import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginning, piecesOf, visible } from '../../../inspector/read/visible.ts';
import { forAll } from '../../support/laws/runs.ts';

/** What may reorder or hide text, or is none. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
/** Tab and line feed, and what joins letters and emoji, are harmless. */
const HARMLESS =
  /\u200c|\u200d|[\t\n\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}]/gu;

describe('text that anyone may have written', () => {
  it.each([
    ['an override of direction', 'abc\u202Etxt.exe', 'abc⟨U+202E⟩txt.exe'],
    ['an isolate', '\u2066a\u2069', '⟨U+2066⟩a⟨U+2069⟩'],
    ['an invisible space', 'a\u200Bb\uFEFF', 'a⟨U+200B⟩b⟨U+FEFF⟩'],
    ['an escape', '\u001B[31mred', '⟨U+001B⟩[31mred'],
    ['a tag', '\u{E0041}', '⟨U+E0041⟩'],
    ['half a character', 'a\uD83D', 'a⟨U+D83D⟩'],
    ['a lone carriage return', 'a\rb', 'a⟨U+000D⟩b'],
  ])('names %s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it('leaves other text as it is', () => {
    const text = 'שלום, Zoë 👩‍👩‍👧!\n\tmarkup: <img src=x onerror=alert(1)>';

    expect(piecesOf(text)).toEqual([{ text, isCode: false }]);
    expect(visible('one\r\ntwo')).toBe('one\ntwo');
  });

  it('has no character that could act, and loses no other', () => {
    const anything = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\u202E', '\u0000', '\r', '\n', '\uD800'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
    });
    forAll(anything, (text) => {
      expect(visible(text).replace(HARMLESS, '')).not.toMatch(UNSAFE);
      const plain = piecesOf(text).filter(({ isCode }) => !isCode);
      for (const piece of plain) expect(text).toContain(piece.text);
    });
  });

  it('names only a number of a text that consists of them', () => {
    const pieces = piecesOf('\u202E'.repeat(100_000));

    expect(pieces.length).toBe(2_000);
    expect(pieces.at(-1)?.text).toBe('… and more');
  });

  it('is not cut within a character', () => {
    expect(beginning('ab👍', 3)).toBe('ab');
    expect(beginning('ab👍', 4)).toBe('ab👍');
  });

  it('is cut after a whole line, else after a whole word', () => {
    expect(beginning('one two\nthree four', 12)).toBe('one two\n');
    expect(beginning('one\ntwo three four', 16)).toBe('one\ntwo three ');
    expect(beginning('one '.padEnd(40, 'x'), 20)).toBe('one '.padEnd(20, 'x'));
  });
});
