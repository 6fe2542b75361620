import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Patience } from '../../../src/lib/time-limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<string>(() => undefined);

/** What a wait has come to so far. */
function outcomeOf(wait: Promise<unknown>): { value: unknown } {
  const outcome: { value: unknown } = { value: 'waiting' };
  wait.then((value) => {
    outcome.value = value;
  });
  return outcome;
}

describe('a limit for one wait after another', () => {
  it('gives each wait its own time, with one timer for all of them', async () => {
    const patience = new Patience();
    await patience.race(100, Promise.resolve('a'));
    await vi.advanceTimersByTimeAsync(60);
    const second = outcomeOf(patience.race(100, never));
    await vi.advanceTimersByTimeAsync(99);
    expect(second.value).toBe('waiting');
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(second.value).toBeUndefined();
  });

  it('gives a wait up in time though the one before it had more', async () => {
    const patience = new Patience();
    await patience.race(1_000, Promise.resolve('a'));
    const second = outcomeOf(patience.race(10, never));
    await vi.advanceTimersByTimeAsync(10);
    expect(second.value).toBeUndefined();
  });

  it('passes on what comes in time, and what fails', async () => {
    const patience = new Patience();
    expect(await patience.race(10, Promise.resolve('a'))).toBe('a');
    await expect(patience.race(10, Promise.reject(new Error('odd')))).rejects.toThrow('odd');
  });

  it('leaves no timer running once it is cleared', async () => {
    const patience = new Patience();
    await patience.race(10, Promise.resolve('a'));
    patience.clear();
    expect(vi.getTimerCount()).toBe(0);
  });
});
