import { afterEach, expect, it, vi } from 'vitest';
import { askUntilValid } from '../../../src/summary/attempts.ts';
import { NO_LIMITS } from '../../../src/upstream/call-guard.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('asks no further once a text is no longer wanted, also if that was in a pause', async () => {
  vi.useFakeTimers();
  const fetch = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async () => new Response('', { status: 503 }));
  let isWanted = true;
  const retried: string[] = [];
  const asked = askUntilValid(
    {
      baseUrl: 'http://summarizer.test/v1',
      headers: {},
      model: 'a-model',
      window: 400_000,
      timeoutMs: 60_000,
      guard: NO_LIMITS,
    },
    {
      prompt: { system: 'Sum up.', user: 'All of it.' },
      maxTokens: 100,
      retries: { attempts: 3, backoffMs: 1_000, longestPauseMs: 4_000 },
      start: Date.now(),
      goesOn: () => isWanted,
      check: () => ({ ok: true, value: 'text' }),
      spent: () => undefined,
      retrying: (code) => void retried.push(code),
    },
  );
  await vi.waitUntil(() => retried.length === 1);
  isWanted = false;
  await vi.advanceTimersByTimeAsync(10_000);

  expect(await asked).toEqual({ ok: false, reason: { error: 'given_up' } });
  expect(fetch).toHaveBeenCalledTimes(1);
});
