import { describe, expect, it } from 'vitest';
import { billOf, type PricedRequest } from '../../../bench/replay/bill.ts';
import { roundsOf } from '../../../bench/replay/fetches.ts';

const prices = { cached: 0.1, written: 1.25, output: 5 };
const request = (rounds?: readonly number[]): PricedRequest => ({
  overhead: 0,
  messages: [{ bytes: 'a', tokens: 10_000 }],
  summaries: 0,
  rounds,
});

describe('the rounds that fetch refs', () => {
  it('are none without a ref, and one for several that the view names', () => {
    expect(roundsOf(new Map())).toEqual([]);
    expect(
      roundsOf(
        new Map([
          ['ref_a', 1],
          ['ref_b', 1],
        ]),
      ),
    ).toEqual([2]);
  });

  it('follow the links of a text one after the other', () => {
    expect(
      roundsOf(
        new Map([
          ['ref_a', 3],
          ['ref_b', 1],
        ]),
      ),
    ).toEqual([2, 1, 1]);
  });

  it('pay the cached prompt, a call of 40 tokens at the price of output and 500 of result per ref', () => {
    const without = billOf([request()], prices);
    const one = billOf([request([2])], prices);
    const cost = 0.1 * 10_000 + 2 * (5 * 40 + 1.25 * 500);

    expect(one).toMatchObject({ fetchRounds: 1, fetches: cost, tokens: without.tokens });
    expect(one.paid).toBeCloseTo(without.paid + cost, 6);
    expect(billOf([request([1, 1])], prices).fetches).toBe(2 * (0.1 * 10_000 + 5 * 40 + 1.25 * 500));
  });

  it('pay for a long prompt what its step demands', () => {
    const stepped = { ...prices, step: { above: 9_000, input: 2 } };

    expect(billOf([request([1])], stepped).fetches).toBe(2 * (0.1 * 10_000 + 1.25 * 500) + 5 * 40);
  });
});
