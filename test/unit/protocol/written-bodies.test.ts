import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Splice, splice } from '../../../src/protocol/json/spans.ts';
import type { SharedArray } from '../../../src/protocol/known-array.ts';
import { spliceBody, writtenBytes } from '../../../src/protocol/written-bodies.ts';
import { forAll } from '../../support/laws/runs.ts';

const encoder = new TextEncoder();

const replaced = (bytes: Uint8Array, splices: readonly Splice[]): string =>
  new TextDecoder().decode(splice(bytes, { start: 0, end: bytes.length }, splices));

/** What a body shares with an earlier one. @param end of the bytes that both begin with */
const sharedWith = (bytes: Uint8Array, end: number) => ({ read: { bytes }, end }) as SharedArray;

/** Splices at places of a text of a length, which may be empty ones. */
const splicesOf = (length: number): fc.Arbitrary<Splice[]> =>
  fc
    .array(fc.tuple(fc.nat(length), fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 12 })
    .map((places) => {
      const sorted = places.toSorted(([a], [b]) => a - b);
      return sorted.map(([start, text], at) => {
        const next = sorted[at + 1]?.[0] ?? length;
        return { start, end: at % 3 === 0 ? start : next, with: text };
      });
    });

const grown = fc
  .tuple(fc.string({ maxLength: 40 }), fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }))
  .chain(([same, one, other]) => {
    const [first, next] = [encoder.encode(same + one), encoder.encode(same + other)];
    const end = encoder.encode(same).length;
    return fc.record({
      first: fc.constant(first),
      next: fc.constant(next),
      end: fc.nat(end),
      splices: splicesOf(first.length),
      others: splicesOf(next.length),
      same: fc.nat(12),
    });
  });

describe('a body that goes on where an earlier one has come to', () => {
  it('has the bytes that it has on its own', () => {
    forAll(grown, ({ first, next, end, splices, others, same }) => {
      spliceBody(first, splices, { found: undefined });
      const begun = splices.slice(0, same).filter((edit) => edit.end <= next.length);
      const from = begun.at(-1)?.end ?? 0;
      const mixed = [...begun, ...others.filter(({ start }) => start >= from)];
      for (const wanted of [mixed, others]) {
        const body = spliceBody(next, wanted, { found: sharedWith(first, end) });
        expect(new TextDecoder().decode(body)).toBe(replaced(next, wanted));
      }
    });
  });

  it('takes what both begin with from the earlier one', () => {
    const [first, next] = [encoder.encode('[1,2,3]'), encoder.encode('[1,2,3,4]')];
    const edits = [
      { start: 1, end: 2, with: '"one"' },
      { start: 3, end: 4, with: '"two"' },
    ];
    const before = spliceBody(first, edits, { found: undefined });
    before.set(encoder.encode('"ONE"'), 1);

    const body = spliceBody(next, edits.toReversed(), { found: sharedWith(first, 4) });
    expect(new TextDecoder().decode(body)).toBe('["ONE","two",3,4]');
    const apart = spliceBody(next, edits, { found: sharedWith(first, 3) });
    expect(new TextDecoder().decode(apart)).toBe('["ONE","two",3,4]');
    const other = [{ start: 1, end: 2, with: '"uno"' }];
    expect(new TextDecoder().decode(spliceBody(next, other, { found: sharedWith(first, 4) }))).toBe(
      '["uno",2,3,4]',
    );
  });

  it('is kept and counted only if its request is', () => {
    const bytes = encoder.encode('[1,2]');
    const edits = [{ start: 1, end: 2, with: '"one"' }];
    spliceBody(bytes, edits);
    expect(writtenBytes(bytes)).toBe(0);

    spliceBody(bytes, edits, { found: undefined });
    expect(writtenBytes(bytes)).toBeGreaterThan(0);
  });
});
