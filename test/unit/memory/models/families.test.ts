import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowOf, spelling } from '../../../../src/memory/models/families.ts';
import { PUBLISHED_PRICES } from '../../../../src/memory/models/published-prices.ts';

const rows = (...families: string[]) => families.map((family) => ({ family }));
const familyOf = (name: string, ...families: string[]) => rowOf(name, rows(...families))?.family;

describe('the family of a model', () => {
  it.each([
    ['gpt-4.1-mini', 'gpt-4.1'],
    ['gpt-4.10', 'gpt-4'],
    ['gpt-4-1106-preview', 'gpt-4'],
    ['gpt-4o', undefined],
    ['gpt-41', undefined],
    ['GPT-4.1', 'gpt-4.1'],
    ['gpt-4-1', 'gpt-4.1'],
    ['', undefined],
  ])('of %s is the longest that ends with a word or number: %s', (name, family) => {
    expect(familyOf(name, 'gpt-4', 'gpt-4.1')).toBe(family);
  });

  it.each(['qwen3-coder', 'qwen-max', 'Qwen2.5', 'qwen'])('may end before the number of %s', (name) => {
    expect(familyOf(name, 'qwen')).toBe('qwen');
  });

  it('is that of the first row of equal ones that is accepted', () => {
    const table = [
      { family: 'a', until: 1 },
      { family: 'a', until: 2 },
    ];
    expect(rowOf('a', table)?.until).toBe(1);
    expect(rowOf('a', table, ({ until }) => until > 1)?.until).toBe(2);
    expect(rowOf('a', table, ({ until }) => until > 2)).toBeUndefined();
  });

  it('is a shorter one where the longest is not accepted', () => {
    const table = rows('a', 'a-b');
    expect(rowOf('a-b-c', table, ({ family }) => family !== 'a-b')?.family).toBe('a');
    expect(rowOf('a-b-c', table, (_, rest) => rest === '-c')?.family).toBe('a-b');
  });

  it('is its own, in each spelling, for each row of the prices', () => {
    for (const { family } of PUBLISHED_PRICES)
      for (const name of [family, spelling(family), family.toUpperCase(), `${family}-2026-01-01`])
        expect(rowOf(name, PUBLISHED_PRICES)?.family).toBe(family);
  });

  it('is the longest family that begins the name, for any table', () => {
    const word = fc.constantFrom('a', 'b1', '2', 'c');
    const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join('-'));
    fc.assert(
      fc.property(name, fc.array(name, { maxLength: 8 }), (model, families) => {
        const fitting = families.filter((family) => `${model}-`.startsWith(`${family}-`));
        const longest = fitting.toSorted((one, other) => other.length - one.length)[0];
        expect(familyOf(model, ...families)).toBe(longest);
      }),
    );
  });
});
