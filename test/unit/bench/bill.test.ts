import { describe, expect, it } from 'vitest';
import { type Bill, billOf, type PricedRequest, sumOfBills } from '../../../bench/replay/bill.ts';

const request = (messages: readonly (readonly [string, number])[], summaries = 0): PricedRequest => ({
  overhead: 24,
  messages: messages.map(([bytes, tokens]) => ({ bytes, tokens })),
  summaries,
});

describe('the bill of a conversation', () => {
  it('is nothing for no request', () => {
    expect(billOf([])).toMatchObject({ requests: 0, tokens: 0, paid: 0 });
  });

  it('pays the first request in full, and what it has in common with the one before at a tenth', () => {
    const bill = billOf([
      request([['a', 1000]]),
      request([
        ['a', 1000],
        ['b', 500],
      ]),
    ]);
    // The common prefix has 24 + 1000 tokens, and that is eight steps of 128.
    const expected: Partial<Bill> = { requests: 2, tokens: 1024 + 1524, cached: 1024, peak: 1524, broken: 0 };
    expect(bill).toMatchObject(expected);
    expect(bill.paid).toBeCloseTo(1024 + 1524 - 0.9 * 1024);
  });

  it('finds nothing in the cache below 1024 tokens, and rounds down to steps of 128', () => {
    expect(billOf([request([['a', 999]]), request([['a', 999]])]).cached).toBe(0);
    expect(billOf([request([['a', 1200]]), request([['a', 1200]])]).cached).toBe(1152);
  });

  it('breaks off where a message differs, and says that the prefix was broken', () => {
    const before = request([
      ['a', 2000],
      ['b', 500],
      ['c', 500],
    ]);
    const after = request([
      ['a', 2000],
      ['B', 50],
      ['c', 500],
    ]);
    expect(billOf([before, after])).toMatchObject({ cached: 1920, broken: 1 });
  });

  it('counts what summaries have cost as paid, and not as sent', () => {
    const bill = billOf([request([['a', 100]], 70)]);
    expect(bill).toMatchObject({ tokens: 124, summaries: 70, paid: 194 });
  });

  it('adds up', () => {
    const one = billOf([request([['a', 100]])]);
    const two = billOf([request([['b', 300]], 10)]);
    expect(sumOfBills([one, two])).toEqual({
      requests: 2,
      tokens: one.tokens + two.tokens,
      cached: 0,
      paid: one.paid + two.paid,
      summaries: 10,
      peak: 324,
      broken: 0,
    });
  });
});
