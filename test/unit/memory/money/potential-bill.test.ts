import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import { type ObservedRequest, potentialBill } from '../../../../src/memory/money/bill.ts';
import { potentialBillSchema } from '../../../../src/memory/money/bill-schema.ts';
import { forAll } from '../../../support/laws/runs.ts';

const schedule = scheduleOf('gpt-4.1', utcTimeOf(new Date('2026-10-10'))) ?? null;

const observed: ObservedRequest = {
  schedule,
  usage: { input: 40_000, cached: 37_888, cache_writes: null, output: 500 },
  view: { before: 20_000, after: 10_000 },
  moved: false,
  summarized: false,
};

describe('the bill of an observed request', () => {
  it('has what the array has cost, and what the view would have', () => {
    expect(potentialBill(observed)).toEqual({
      unit: 'nanodollars',
      family: 'gpt-4.1',
      sent: { fresh: 2_112, cached: 37_888, written: 0, output: 500, amount: 27_168_000 },
      would_be: { fresh: 2_112, cached: 17_888, written: 0, output: 500, amount: 17_168_000 },
      net: 10_000_000,
    });
  });

  it('reads nothing from the cache where the frontier would have moved', () => {
    const bill = potentialBill({ ...observed, moved: true });
    expect(bill?.would_be).toMatchObject({ fresh: 20_000, cached: 0 });
    expect(bill?.net).toBe(27_168_000 - 44_000_000);
  });

  it('has no net saving where a summary would have been made', () => {
    expect(potentialBill({ ...observed, moved: true, summarized: true })?.net).toBeNull();
    expect(potentialBill({ ...observed, summarized: true })?.net).toBe(10_000_000);
  });

  it('writes what the vendor’s rule says where the upstream does not say it, as the bill does', () => {
    // 2.5 dollars written and 0.2 cached, of GPT-6 Sol.
    const sol = scheduleOf('gpt-6-sol', utcTimeOf(new Date('2026-12-01'))) ?? null;
    expect(potentialBill({ ...observed, schedule: sol })).toMatchObject({ sent: null, net: null });
    expect(potentialBill({ ...observed, schedule: sol, writes: 1 })).toMatchObject({
      about: true,
      sent: { fresh: 0, cached: 37_888, written: 2_112 },
      would_be: { cached: 17_888 },
    });
    expect(potentialBill({ ...observed, writes: 1 })).not.toHaveProperty('about');
  });

  it('is not known without a price, and knows nothing without a usage', () => {
    expect(potentialBill({ ...observed, schedule: null })).toBeNull();
    expect(potentialBill({ ...observed, usage: null })).toMatchObject({
      sent: null,
      would_be: null,
      net: null,
    });
    const bill = potentialBill({ ...observed, view: null });
    expect([bill?.would_be, bill?.net]).toEqual([null, null]);
    expect(bill?.sent).not.toBeNull();
  });

  it('saves nothing where nothing would have been removed, and has the shape that is stored', () => {
    const tokens = fc.nat(400_000);
    forAll(
      tokens,
      fc.nat(100),
      tokens,
      fc.integer({ min: 1, max: 400_000 }),
      (input, share, after, before) => {
        const cached = Math.floor((input * share) / 100);
        const request = { ...observed, usage: { input, cached, cache_writes: 0, output: 1 } };
        expect(potentialBill({ ...request, view: { before, after: before } })?.net).toBe(0);
        const bill = potentialBill({ ...request, view: { before, after: Math.min(after, before) } });
        expect(potentialBillSchema.parse(JSON.parse(JSON.stringify(bill)))).toEqual(bill);
        expect(bill?.net).toBeGreaterThanOrEqual(0);
      },
    );
  });
});
