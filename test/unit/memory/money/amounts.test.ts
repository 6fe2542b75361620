import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import { costOf, summarizerAmount } from '../../../../src/memory/money/amounts.ts';

const schedule = scheduleOf('gpt-4.1-mini', utcTimeOf(new Date('2026-10-10')));
const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

describe('the price of a summarizer’s work', () => {
  it('is its own model’s', () => {
    expect(summarizerAmount(usage, schedule)).toBe(1_000 * 400 + 100 * 1_600);
  });

  it('takes input as fresh unless the summarizer says that it was cached', () => {
    expect(summarizerAmount({ ...usage, cached_tokens: 600 }, schedule)).toBe(
      400 * 400 + 600 * 100 + 160_000,
    );
    expect(summarizerAmount({ ...usage, cached_tokens: 9_000 }, schedule)).toBe(1_000 * 100 + 160_000);
  });

  it('has the price of cache writes where the vendor asks for one', () => {
    const writes = scheduleOf('gpt-6.1-sol', utcTimeOf(new Date('2026-10-10')));
    const counted = { ...usage, cached_tokens: 200, cache_write_tokens: 700 };
    expect(summarizerAmount(counted, writes)).toBe(100 * 2_000 + 200 * 100 + 700 * 2_500 + 100 * 10_000);
    expect(summarizerAmount({ ...usage, cache_write_tokens: 9_000 }, writes)).toBe(1_000 * 2_500 + 1_000_000);
  });

  it('is not known without a price, and if the summarizer reports no usage', () => {
    expect(summarizerAmount(usage, undefined)).toBeNull();
    expect(summarizerAmount({ prompt_tokens: 0, completion_tokens: 0 }, schedule)).toBeNull();
  });

  it('is each call’s, and is known if all calls’ are', () => {
    expect(costOf([])).toBeUndefined();
    expect(costOf([{}])).toBeUndefined();
    expect(costOf([{ cost: 3 }, {}, { cost: 4 }])).toBe(7);
    expect(costOf([{ cost: 3 }, { cost: null }])).toBeNull();
  });
});
