import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONGEST_RUN, longRunsIn } from '../../../../src/memory/tokens/tokens.ts';
import { forAll } from '../../../support/laws/runs.ts';

/** Every run of one class that is longer than the longest, by one expression each. */
const RUN = /[\p{L}\p{M}]{129,}|\s{129,}|[^\s\p{L}\p{N}]{129,}|[\r\n/]{129,}/gu;

const found = (text: string) => [...longRunsIn(text)].map(({ index, 0: run }) => [index, run.length]);
const all = (text: string) => [...text.matchAll(RUN)].map(({ index, 0: run }) => [index, run.length]);

describe('long runs', () => {
  const piece = fc.oneof(
    fc
      .tuple(fc.constantFrom('a', 'é', '-', ' ', '\n', '/', '\n/', '7', '😀', '́', '中'), fc.nat(260))
      .map(([unit, times]) => unit.repeat(times)),
    fc.string({ maxLength: 20 }),
  );

  it('are found wherever they are, and no others', () => {
    let runs = 0;
    forAll(400, fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('');
      runs += all(text).length;
      expect(found(text)).toEqual(all(text));
    });
    expect(runs).toBeGreaterThan(100);
  });

  it.each([0, 1, 63, 127, 128, 129, 200])('are found after %i characters', (before) => {
    const start = '1'.repeat(before);
    expect(found(`${start}${'x'.repeat(LONGEST_RUN + 1)}1`)).toEqual([[before, LONGEST_RUN + 1]]);
    expect(found(`${start}${'x'.repeat(LONGEST_RUN)}1`)).toEqual([]);
  });
});
