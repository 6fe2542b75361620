import { beforeAll, describe, expect, it } from 'vitest';
import { createIsolate, type Isolate } from '../../../bench/pipeline.ts';
import { pauseAt, pausesOf } from '../../../bench/replay/pauses.ts';
import { rewriting } from '../../../bench/replay/policy.ts';
import { DRAWS, LIFETIMES, returnFigures } from '../../../bench/replay/returns.ts';
import { termsOfSchedule } from '../../../bench/replay/schedules.ts';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { lines, step, user } from '../../support/conversations/chat.ts';

describe('pauses', () => {
  it('have the quantiles of the counts', () => {
    for (const [share, seconds] of [
      [0.25, 0.69],
      [0.5, 1.6],
      [0.75, 8.6],
      [0.9, 44],
      [0.99, 738],
    ] as const)
      expect(pauseAt(share)).toBeCloseTo(seconds, 6);
    // Of the pauses over 738 seconds, a third are over an hour.
    const overAnHour = 1 - 0.01 * ((97 + 161 + 674) / (935 + 487 + 318 + 146 + 97 + 161 + 674));
    expect(pauseAt(overAnHour) / 3_600).toBeCloseTo(1, 1);
    expect(pauseAt(0.999_999_9)).toBeLessThan(24 * 3_600);
  });

  it('are the same for a seed, and others for another', () => {
    expect(pausesOf(50, 7)).toEqual(pausesOf(50, 7));
    expect(pausesOf(50, 7)).not.toEqual(pausesOf(50, 8));
    expect(pausesOf(60, 7).slice(0, 50)).toEqual(pausesOf(50, 7));
  });
});

describe('the bills of returns', () => {
  let isolate: Isolate;
  beforeAll(async () => {
    isolate = createIsolate(await loadTokenize('o200k_base'));
  });

  it('are lower with moves at cold returns, which no longer lifetime has more of', async () => {
    const conversation = (of: number) => {
      const steps = Array.from({ length: 60 }, (_, at) => step(`c${at}`, 'find', lines(40, `${of} ${at}`)));
      return { file: 'set', messages: [user('go'), ...steps.flat()], reuse: [] };
    };
    const traces = new Map([['set', [conversation(1), conversation(2), conversation(3)]]]);
    const none = rewriting('none', 'none', (all) => all);

    const figures = await returnFigures(
      traces,
      { mode: 'auto', token_soft_budget: 4_000 },
      { none },
      termsOfSchedule('prefix-128'),
      isolate,
    );

    expect(figures.map(({ lifetime }) => lifetime)).toEqual(LIFETIMES);
    const [short, middle, long] = figures;
    expect(short?.requests).toBe(DRAWS * 3 * 61);
    expect(short?.made).toBeGreaterThan(0);
    expect(short?.returnsWith).toBeLessThan(short?.returnsWithout ?? 0);
    expect(middle?.returns).toBeLessThan(short?.returns ?? 0);
    expect(long?.returns).toBeLessThanOrEqual(middle?.returns ?? 0);
  });
});
