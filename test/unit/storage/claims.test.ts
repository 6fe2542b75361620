import { describe, expect, it } from 'vitest';
import { type Ticket, turnOf } from '../../../src/storage/conversation/claims.ts';
import { HEALTHY, type Health } from '../../../src/storage/conversation/memories.ts';

const NOW = 1_000_000_000;
const REST_MS = 30_000;
const row = (changes: Partial<Ticket> = {}): Ticket => ({
  attempts: 1,
  lease_until: NOW,
  created_at: NOW - 1_000,
  ...changes,
});
const degraded = (retryAt: number): Health => ({ state: 'degraded', failures: 2, retryAt });
const turn = (rows: readonly Ticket[], health = HEALTHY) => turnOf(rows, health, NOW, REST_MS);

describe('the turn to write a text', () => {
  it('is free where nobody writes it', () => {
    expect(turn([])).toEqual({ state: 'free', health: HEALTHY, lost: [], attempts: 1 });
  });

  it('is that of the writer while the lease lasts, also while others must rest', () => {
    const held = row({ lease_until: NOW + 1 });
    expect(turn([row(), held])).toEqual({ state: 'busy', row: held });
    expect(turn([held], degraded(NOW + 1))).toEqual({ state: 'busy', row: held });
  });

  it('is taken over from a writer whose lease has expired, or who is stuck', () => {
    const lost = [row(), row({ attempts: 3, lease_until: NOW + 1, created_at: NOW - 300_000 })];
    expect(turn(lost)).toEqual({ state: 'free', health: HEALTHY, lost, attempts: 4 });
  });

  it('is nobody’s until the rest after a failure is over', () => {
    const health = degraded(NOW + 1);
    expect(turn([row()], health)).toMatchObject({ state: 'resting', health, lost: [] });
    expect(turn([], degraded(NOW))).toMatchObject({
      state: 'free',
      health: { state: 'recovering', failures: 2 },
    });
  });

  it('is nobody’s after too many writers were lost, which counts as a failure', () => {
    const lost = [row({ attempts: 5 })];
    expect(turn(lost, degraded(NOW))).toMatchObject({
      state: 'resting',
      health: { state: 'degraded', failures: 3, retryAt: NOW + 4 * REST_MS },
      lost,
    });
  });
});
