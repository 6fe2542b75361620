import { describe, expect, it } from 'vitest';
import { PendingWork } from '../../../src/lib/pending-work.ts';

describe('pending work', () => {
  it('is waited for by its key, however it ends', async () => {
    const pending = new PendingWork();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const tracked = pending.track('a', first.promise);
    pending.track('a', second.promise).catch(() => order.push('failed'));
    pending.track('b', new Promise(() => undefined));
    const waiting = pending.settled('a').then(() => order.push('settled'));

    first.resolve();
    await tracked;
    expect(order).toEqual([]);
    second.reject(new Error('no'));
    await waiting;

    expect(order).toEqual(['failed', 'settled']);
  });

  it('is nothing once it has settled', async () => {
    const pending = new PendingWork();
    await pending.track('a', Promise.resolve(1));
    await pending.settled('a');

    expect(Reflect.get(pending, 'byKey').size).toBe(0);
  });
});
