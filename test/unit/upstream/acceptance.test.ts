import { describe, expect, it } from 'vitest';
import { AcceptedKeys } from '../../../src/upstream/acceptance.ts';

describe('the keys that an upstream has accepted', () => {
  it('hold the upstream’s word on a key for a while', async () => {
    let now = 0;
    let asked = 0;
    const keys = new AcceptedKeys(() => now);
    const ask = (accepted: boolean) => () => {
      asked++;
      return Promise.resolve(accepted);
    };
    expect(await keys.isAccepted('t', ask(false))).toBe(false);
    expect(await keys.isAccepted('t', ask(true))).toBe(false);
    now += 31_000;
    expect(await keys.isAccepted('t', ask(true))).toBe(true);
    expect(await keys.isAccepted('t', ask(false))).toBe(true);
    now += 10 * 60_000;
    expect(await keys.isAccepted('t', () => Promise.reject(new Error('down')))).toBe(false);
    expect(await keys.isAccepted('t', ask(true))).toBe(true);
    expect(asked).toBe(3);
  });
});
