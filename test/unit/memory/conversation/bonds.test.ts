import { describe, expect, it, vi } from 'vitest';
import { ChangingSums } from '../../../../src/lib/prefix-sums.ts';
import { HeldTokens } from '../../../../src/memory/conversation/bonds.ts';
import type { Bond, History, Unit } from '../../../../src/memory/conversation/history.ts';

const unit = (first: number): Unit => ({
  kind: 'assistant',
  first,
  last: first,
  outputs: [],
  step: true,
  unanswered: 0,
});

/** A bond from a unit to a later one. */
const bond = (caller: number, last: number, further = false): Bond => ({
  caller,
  results: [{ unit: last, message: last, further }],
  open: false,
});

function heldOf(bonds: readonly Bond[]): HeldTokens {
  const units = Array.from({ length: 8 }, (_, at) => unit(at));
  const history = { bonds, units } as unknown as History;
  return new HeldTokens(history, () => 10);
}

describe('tokens held by bonds', () => {
  it('counts a unit of several bonds once, until the last of them ends', () => {
    const held = heldOf([bond(0, 3), bond(0, 5), bond(3, 6)]);
    expect([1, 3, 4, 5, 6, 7].map((frontier) => held.before(frontier))).toEqual([10, 10, 20, 20, 10, 0]);
    held.weigh(0, -4);
    held.weigh(3, 1);
    expect([1, 3, 4, 5, 6, 7].map((frontier) => held.before(frontier))).toEqual([6, 6, 17, 17, 11, 0]);
  });

  it('brings a unit back with a further result, and counts it once', () => {
    const held = heldOf([bond(0, 2), bond(0, 6, true)]);
    expect(held.before(4)).toBe(0);
    held.arrive(7);
    expect(held.before(4)).toBe(10);
    expect(held.before(7)).toBe(0);
  });

  it('takes as much work for each further result of a call, however many come', () => {
    const added = vi.spyOn(ChangingSums.prototype, 'add');
    const workOf = (count: number): number => {
      added.mockClear();
      const units = Array.from({ length: count + 1 }, (_, at) => unit(at));
      const results = units.slice(1).map(({ first }) => ({ unit: first, message: first, further: true }));
      const history = { bonds: [{ caller: 0, results, open: false }], units } as unknown as History;
      const held = new HeldTokens(history, () => 10);
      for (const { first } of units) held.arrive(first + 1);
      expect([held.before(count), held.before(count + 1)]).toEqual([10 * count, 0]);
      return added.mock.calls.length;
    };
    expect(workOf(800)).toBeLessThan(3 * workOf(400));
  });
});
