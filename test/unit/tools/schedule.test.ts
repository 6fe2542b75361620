import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { eachRun } from '../../../tools/schedule.ts';

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The times of the runs since a start. */
function runsFrom(start: string): string[] {
  const runs: string[] = [];
  vi.setSystemTime(Date.parse(start));
  eachRun((at) => runs.push(at.toISOString()));
  return runs;
}

it('runs at each quarter of an hour, whenever it starts', async () => {
  const runs = runsFrom('2026-12-06T23:52:09.123Z');
  await vi.advanceTimersByTimeAsync(40 * MINUTE_MS);

  expect(runs).toEqual(['2026-12-07T00:00:00.000Z', '2026-12-07T00:15:00.000Z', '2026-12-07T00:30:00.000Z']);
});

it('runs once at each, also where timers are early or late', async () => {
  const runs = runsFrom('2026-12-06T23:59:00Z');
  vi.setSystemTime(Date.now() - 1);
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(runs).toEqual(['2026-12-07T00:00:00.000Z']);
  await vi.advanceTimersByTimeAsync(14 * MINUTE_MS);
  expect(runs).toHaveLength(1);
  vi.setSystemTime(Date.parse('2026-12-07T09:20:00Z'));
  await vi.advanceTimersByTimeAsync(20 * MINUTE_MS);

  expect(runs.slice(1)).toEqual(['2026-12-07T00:15:00.000Z', '2026-12-07T09:30:00.000Z']);
});
