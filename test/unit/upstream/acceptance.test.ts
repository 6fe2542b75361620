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
    expect(await keys.isAccepted('t', 'openai', ask(false))).toBe(false);
    expect(await keys.isAccepted('t', 'openai', ask(true))).toBe(false);
    now += 31_000;
    expect(await keys.isAccepted('t', 'openai', ask(true))).toBe(true);
    expect(await keys.isAccepted('t', 'openai', ask(false))).toBe(true);
    now += 10 * 60_000;
    expect(await keys.isAccepted('t', 'openai', () => Promise.reject(new Error('down')))).toBe(false);
    expect(await keys.isAccepted('t', 'openai', ask(true))).toBe(true);
    expect(asked).toBe(3);
  });

  it('are those that either upstream accepts, and a refusal holds for its own alone', async () => {
    const keys = new AcceptedKeys();
    const says = (accepted: boolean) => () => Promise.resolve(accepted);
    expect(await keys.verdictOn('t', 'openai', says(false))).toBe('refused');
    expect([keys.known('t', 'anthropic'), keys.isKnown('t')]).toEqual(['unknown', false]);
    expect(await keys.verdictOn('t', 'anthropic', says(true))).toBe('accepted');
    expect(keys.known('t', 'openai')).toBe('accepted');
    keys.doubt('t', 'openai');
    expect(keys.isKnown('t')).toBe(true);
    keys.doubt('t', 'anthropic');
    expect([keys.known('t', 'anthropic'), keys.known('t', 'openai')]).toEqual(['unknown', 'refused']);
  });
});
