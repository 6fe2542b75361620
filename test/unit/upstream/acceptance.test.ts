import { describe, expect, it } from 'vitest';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import { AcceptedKeys, type Answered } from '../../../src/upstream/acceptance.ts';

function keysOf(now?: () => number): AcceptedKeys {
  const memory = isolateMemory(now);
  return new AcceptedKeys(memory.of('acceptedKeys'), memory.of('keyVerdicts'));
}

describe('the keys that an upstream has accepted', () => {
  it('hold the upstream’s word on a key for a while', async () => {
    let now = 0;
    let asked = 0;
    const keys = keysOf(() => now);
    const ask = (accepted: boolean) => () => {
      asked++;
      return Promise.resolve(accepted ? ('accepted' as const) : ('refused' as const));
    };
    expect(await keys.verdictOn('t', 'openai', ask(false))).toBe('refused');
    expect(await keys.verdictOn('t', 'openai', ask(true))).toBe('refused');
    now += 31_000;
    expect(await keys.verdictOn('t', 'openai', ask(true))).toBe('accepted');
    expect(await keys.verdictOn('t', 'openai', ask(false))).toBe('accepted');
    now += 10 * 60_000;
    expect(await keys.verdictOn('t', 'openai', () => Promise.reject(new Error('down')))).toBe('unknown');
    expect(await keys.verdictOn('t', 'openai', ask(true))).toBe('accepted');
    expect(asked).toBe(3);
  });

  it('are those that either upstream accepts, and a refusal holds for its own alone', async () => {
    const keys = keysOf();
    const says = (verdict: Answered) => () => Promise.resolve(verdict);
    expect(await keys.verdictOn('t', 'openai', says('refused'))).toBe('refused');
    expect([keys.known('t', 'anthropic'), keys.isKnown('t')]).toEqual(['unknown', false]);
    expect(await keys.verdictOn('t', 'anthropic', says('accepted'))).toBe('accepted');
    expect(keys.known('t', 'openai')).toBe('accepted');
    keys.doubt('t', 'openai');
    expect(keys.isKnown('t')).toBe(true);
    keys.doubt('t', 'anthropic');
    expect([keys.known('t', 'anthropic'), keys.known('t', 'openai')]).toEqual(['unknown', 'refused']);
  });

  it('hold a refusal for the keys beside it alone, and know nothing of a key that is not looked at', async () => {
    const keys = keysOf();
    let asked = 0;
    const says = (verdict: Answered) => () => {
      asked++;
      return Promise.resolve(verdict);
    };
    expect(await keys.verdictOn('t', 'openai', says('unheeded'), 'a cookie')).toBe('unknown');
    expect(await keys.verdictOn('t', 'openai', says('accepted'), 'a cookie')).toBe('unknown');
    expect(asked).toBe(1);
    expect([keys.known('t', 'openai'), keys.isKnown('t')]).toEqual(['unknown', false]);
    expect(await keys.verdictOn('t', 'openai', says('accepted'), 'a key')).toBe('accepted');
    expect(await keys.verdictOn('t', 'openai', says('refused'), 'a cookie')).toBe('accepted');
    expect(asked).toBe(2);
  });
});
