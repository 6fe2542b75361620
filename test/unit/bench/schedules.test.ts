import { describe, expect, it } from 'vitest';
import { readSchedule, SCHEDULES, termsOfSchedule } from '../../../bench/replay/schedules.ts';

describe('the schedules', () => {
  it('have prices relative to fresh input, output’s included', () => {
    expect(SCHEDULES.map((name) => termsOfSchedule(name).prices)).toEqual([
      { cached: 0.1, written: 1, output: 5 },
      { cached: 0.1, written: 1.25, output: 5, boundaries: 'ours', step: { above: 272_000, input: 2 } },
      { cached: 0.1, written: 1.25, output: 5, boundaries: 'callers' },
      { cached: 0.05, written: 1.25, output: 5, boundaries: 'ours', step: { above: 272_000, input: 2 } },
      { cached: 0.025, written: 1.25, output: 5, boundaries: 'callers' },
    ]);
  });

  it('have Precis’s marks only where the vendor takes them', () => {
    expect(SCHEDULES.map((name) => termsOfSchedule(name).marks)).toEqual([false, true, false, true, false]);
  });

  it('are named in the error for another', () => {
    expect(() => readSchedule('gpt-4')).toThrow(
      '--schedule must be one of prefix-128, gpt-5.6, anthropic-5m, gpt-6, fable-5',
    );
  });
});
