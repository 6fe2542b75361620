import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Removal } from '../../../../src/memory/edits/removal.ts';
import { Journal } from '../../../../src/memory/replay/journal.ts';
import { removalOf } from '../../../support/laws/edits.ts';
import { forAll } from '../../../support/laws/runs.ts';

const UNITS = 40;

interface Entry {
  readonly unit: number;
  readonly removals: readonly Removal[];
}

const freedBy = (entries: readonly Entry[]): number =>
  entries.flatMap(({ removals }) => removals).reduce((sum, { freed }) => sum + freed, 0);

const unusedBy = (entries: readonly Entry[]): number =>
  entries.flatMap(({ removals }) => removals).reduce((sum, { digest }) => sum + (digest?.unused ?? 0), 0);

/** A removal, each second one with a place for a digest. */
function withPlace(unit: number, tokens: number): Removal {
  const digest = { line: '', length: 9, room: 9, unused: tokens % 300 };
  return { ...removalOf(unit, tokens), ...(tokens % 2 === 0 ? { digest } : {}) };
}

/** Steps on a journal: add an entry, or take back all but a number of them. */
const entry = fc
  .tuple(fc.nat(UNITS - 1), fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 3 }))
  .map(([unit, freed]): Entry => ({ unit, removals: freed.map((tokens) => withPlace(unit, tokens)) }));
const act = fc.oneof({ weight: 4, arbitrary: entry }, { weight: 1, arbitrary: fc.nat(30) });

describe('the journal', () => {
  it('sums what its entries free, and what digests may not use, before any unit, whatever was taken back', () => {
    forAll({ numRuns: 100, endOnFailure: true }, fc.array(act, { maxLength: 60 }), (acts) => {
      const journal = new Journal(UNITS);
      let kept: Entry[] = [];
      for (const act of acts) {
        if (typeof act === 'number') {
          journal.truncate(act);
          kept = kept.slice(0, act);
        } else {
          journal.add(act.unit, act.removals);
          if (act.removals.length > 0) kept.push(act);
        }
        expect(journal.length).toBe(kept.length);
        expect(journal.freed).toBe(freedBy(kept));
        for (let unit = 0; unit <= UNITS; unit++) {
          const before = kept.filter((entry) => entry.unit < unit);
          expect(journal.freedBefore(unit)).toBe(freedBy(before));
          expect(journal.unusedBefore(unit)).toBe(unusedBy(before));
        }
      }
      expect(journal.entries(0, journal.length)).toEqual(
        kept.map(({ unit, removals }) => ({ unit, removals, freed: freedBy([{ unit, removals }]), at: 0 })),
      );
    });
  });

  it('is not changed by being cut at its own length, or beyond', () => {
    const journal = new Journal(3);
    journal.add(1, [removalOf(1, 5)]);
    journal.truncate(1);
    journal.truncate(9);
    expect([journal.length, journal.freed, journal.freedBefore(1), journal.freedBefore(2)]).toEqual([
      1, 5, 0, 5,
    ]);
  });

  it('knows at which move an output has left the view, unless that is taken back', () => {
    const journal = new Journal(9);
    journal.at = 4;
    journal.add(1, [removalOf(1, 5), { ...removalOf(2, 5), reason: 'duplicate' }]);
    journal.at = 8;
    journal.add(3, [removalOf(6, 5)]);
    const known = () =>
      [1, 2, 3, 6].map((message) => {
        const gone = journal.removalOf(message);
        return gone && [gone.at, gone.removal.reason];
      });
    expect(known()).toEqual([
      [4, 'context_compaction'],
      [4, 'duplicate'],
      undefined,
      [8, 'context_compaction'],
    ]);
    journal.truncate(1);
    expect(known()).toEqual([[4, 'context_compaction'], [4, 'duplicate'], undefined, undefined]);
  });

  it('notes nothing of a unit that nothing is removed of', () => {
    const journal = new Journal(3);
    journal.add(2, []);
    expect(journal.length).toBe(0);
  });
});
