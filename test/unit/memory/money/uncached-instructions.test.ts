import { describe, expect, it } from 'vitest';
import {
  afterAnswer,
  areUncached,
  type PlacedAnswer,
  type PlacedInstructions,
} from '../../../../src/memory/money/uncached-instructions.ts';

const MINUTE = 60_000;

/** What is known after answers, a minute apart unless they say otherwise. */
function after(...answers: readonly Partial<PlacedAnswer>[]): PlacedInstructions | undefined {
  let known: PlacedInstructions | undefined;
  for (const [index, answer] of answers.entries())
    known = afterAnswer(known, {
      place: 'field',
      preamble: 'a',
      at: index * MINUTE,
      tokens: 10_000,
      cached: 0,
      ...answer,
    });
  return known;
}

const isUncached = (...answers: readonly Partial<PlacedAnswer>[]): boolean => {
  const known = after(...answers);
  return known !== undefined && areUncached(known);
};

const many = (count: number, answer: Partial<PlacedAnswer> = {}) =>
  Array.from({ length: count }, () => answer);

describe('instructions that no cache holds', () => {
  it('are known after three answers in a row that read less than them, beside the first', () => {
    expect(isUncached(...many(3))).toBe(false);
    expect(isUncached(...many(4))).toBe(true);
    expect(isUncached(...many(4, { cached: 2_000 }))).toBe(true);
  });

  it.each<[string, Partial<PlacedAnswer>]>([
    ['the cache reaches beyond them', { cached: 10_240 }],
    ['the cache ends with them, in steps of 128 tokens', { cached: 9_984 }],
    ['the upstream counts some less', { cached: 9_088 }],
    ['they are too short for a cache', { tokens: 1_000 }],
    ['the upstream does not say what it has read', { cached: null }],
    ['they stand in the array', { place: 'message' }],
  ])('are none where %s', (_, answer) => {
    expect(isUncached(...many(9, answer))).toBe(false);
  });

  it('are none where they change', () => {
    expect(isUncached(...many(9).map((_, at) => ({ preamble: `date ${at}` })))).toBe(false);
  });

  it('are counted from the last answer that has read them', () => {
    expect(isUncached(...many(3), { cached: 20_000 }, ...many(2))).toBe(false);
    expect(isUncached(...many(3), { cached: 20_000 }, ...many(3))).toBe(true);
  });

  it('are not seen in an answer after a pause, which takes nothing back', () => {
    expect(isUncached(...many(9).map((_, at) => ({ at: at * 5 * MINUTE })))).toBe(false);
    const late = { at: 20 * MINUTE };
    expect(isUncached(...many(4), late)).toBe(true);
  });
});
