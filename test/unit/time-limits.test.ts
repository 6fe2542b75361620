import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TIME_LIMITS } from '../../src/time-limits.ts';
import { shorten } from '../support/time-limits.ts';

describe('the time limits', () => {
  it('F30: give storage ten seconds before a route answers', () => {
    expect(TIME_LIMITS.routeStorageMs).toBe(10_000);
    expect(TIME_LIMITS.idleCallMs).toBe(TIME_LIMITS.routeStorageMs);
    expect(TIME_LIMITS.publishMs).toBeLessThan(TIME_LIMITS.routeStorageMs);
    expect(TIME_LIMITS.eraseAnswerMs).toBeLessThan(TIME_LIMITS.routeStorageMs);
  });

  it('end a wait within another one before it', () => {
    expect(TIME_LIMITS.idleTurnMs).toBeLessThan(TIME_LIMITS.idleCallMs);
    expect(TIME_LIMITS.userVectorMs).toBeLessThan(TIME_LIMITS.userHitsMs);
    expect(TIME_LIMITS.userHitsMs).toBeLessThan(TIME_LIMITS.toolSearchMs);
    expect(TIME_LIMITS.searchVectorMs).toBeLessThan(TIME_LIMITS.toolSearchMs);
  });

  it('end the work after an answer within the 30 s that the platform gives it', () => {
    const callbacks =
      3 * TIME_LIMITS.webhookTryMs + TIME_LIMITS.webhookPauseMs + TIME_LIMITS.longerWebhookPauseMs;
    const spans = TIME_LIMITS.spansBatchMs + 2 * TIME_LIMITS.collectorTryMs + TIME_LIMITS.collectorPauseMs;
    for (const work of [
      callbacks,
      spans,
      TIME_LIMITS.metricsBatchMs,
      // The events of a conversation wait for the call before theirs.
      TIME_LIMITS.gatherEventsMs + 2 * (2 * TIME_LIMITS.keepEventMs + TIME_LIMITS.eventPauseMs),
      TIME_LIMITS.embeddingRunMs,
    ])
      expect(work).toBeLessThan(30_000);
  });

  it('are only ever read, one by one, like the limits of size, so that no build of the Worker has others', () => {
    const root = join(import.meta.dirname, '../../src');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
    const others = files.filter((path) => {
      if (!/\.tsx?$/.test(path)) return false;
      const text = readFileSync(join(root, path), 'utf8');
      const read = /import \{ (TIME|SIZE)_LIMITS \} from|\b(TIME|SIZE)_LIMITS\.\w+/g;
      return /\b(TIME|SIZE)_LIMITS\b/.test(text.replace(read, ''));
    });
    expect(others.toSorted()).toEqual(['request/size-limits.ts', 'time-limits.ts']);
  });
});

describe('a limit that a test has shortened', () => {
  const { limitsMs } = TIME_LIMITS;

  it('is short for the rest of the test', () => {
    shorten({ limitsMs: 1 });
    expect(TIME_LIMITS.limitsMs).toBe(1);
  });

  it('has its value again in the next one', () => {
    expect(TIME_LIMITS.limitsMs).toBe(limitsMs);
  });
});
