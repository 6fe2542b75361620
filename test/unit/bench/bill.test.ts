import { describe, expect, it } from 'vitest';
import { type Bill, billOf as billWith, type PricedRequest, sumOfBills } from '../../../bench/replay/bill.ts';
import type { RelativePrices } from '../../../src/memory/models/schedules.ts';

const PRICES: RelativePrices = { cached: 0.1, written: 1, output: 4 };
const billOf = (requests: readonly PricedRequest[], prices = PRICES): Bill => billWith(requests, prices);

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
      fetchRounds: 0,
      fetches: 0,
      returns: 0,
      peak: 324,
      broken: 0,
    });
  });
});

describe('the bill of a cache that is read at boundaries', () => {
  const prices: RelativePrices = { cached: 0.1, written: 1.25, output: 5, boundaries: 'ours' };
  const said = (name: string, tokens = 1_000): PricedRequest['messages'][number] => ({ bytes: name, tokens });
  const system = said('{"role":"system","content":"s"}', 2_000);
  const asks = (...messages: PricedRequest['messages'][number][]): PricedRequest => ({
    overhead: 0,
    messages,
    summaries: 0,
  });

  it('reads nothing after it has expired', () => {
    const requests = [asks(system, said('a')), { ...asks(system, said('a'), said('b')), isCold: true }];
    for (const each of [prices, { cached: 0.1, written: 1, output: 5 }]) {
      const bill = billOf(requests, each);
      expect(bill.cached).toBe(0);
      expect(bill.returns).toBe(each.written * 4_000);
      expect(bill.paid).toBe(each.written * 7_000);
    }
  });

  it('writes what it does not read, at the price of a write', () => {
    expect(billOf([asks(system, said('a'))], prices).paid).toBe(1.25 * 3_000);
    const grown = billOf([asks(system, said('a')), asks(system, said('a'), said('b'))], prices);
    expect(grown.cached).toBe(3_000);
    expect(grown.paid).toBeCloseTo(1.25 * 3_000 + 0.1 * 3_000 + 1.25 * 1_000, 6);
  });

  it('reads no further than the developer messages when the past is edited, unless there was a mark', () => {
    const before = asks(system, said('a'), said('b'), said('c'));
    const after = asks(system, said('a'), said('B'), said('c'));
    expect(billOf([before, after], prices).cached).toBe(2_000);
    const marks = [1];
    expect(
      billOf(
        [
          { ...before, marks },
          { ...after, marks },
        ],
        prices,
      ).cached,
    ).toBe(3_000);
    expect(billOf([before, { ...after, marks }], prices).cached).toBe(2_000);
  });

  it('looks back at twenty message ends', () => {
    const all = Array.from({ length: 40 }, (_, n) => said(`m${n}`));
    const first = asks(system, ...all.slice(0, 10));
    expect(billOf([first, asks(system, ...all.slice(0, 30))], prices).cached).toBe(12_000);
    expect(billOf([first, asks(system, ...all.slice(0, 31))], prices).cached).toBe(2_000);
  });

  it('costs a multiple over the step', () => {
    const stepped = { ...prices, step: { above: 2_500, input: 2 } };
    expect(billOf([asks(system, said('a'))], stepped).paid).toBe(2 * 1.25 * 3_000);
  });
});
