import { describe, expect, it } from 'vitest';
import { TRUST_MS, TrustedLru } from '../../../src/storage/trusted.ts';

function trusted(bytes = 100_000) {
  let now = 1_000_000;
  const values = new TrustedLru<string>({ bytes }, () => now);
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  const get = (owner: string, key = 'key') => values.get(owner, key)?.value;
  return { values, pass, get };
}

describe('a value that an isolate has seen in storage', () => {
  it('is relied on for five minutes', () => {
    const { values, pass, get } = trusted();
    values.set('tenant', 'key', 'value');
    pass(TRUST_MS - 1);
    expect(get('tenant')).toBe('value');
    pass(1);
    expect(get('tenant')).toBeUndefined();
  });

  it('is known as the last one after that, until it is forgotten', () => {
    const { values, pass } = trusted();
    values.set('tenant', 'key', 'value');
    pass(TRUST_MS);
    expect(values.last('tenant', 'key')?.value).toBe('value');
    values.forget('tenant');
    expect(values.last('tenant', 'key')).toBeUndefined();
  });

  it('is relied on from the moment at which storage was asked', () => {
    const { values, pass, get } = trusted();
    values.set('tenant', 'key', 'value', 1_000_000 - TRUST_MS);
    expect(get('tenant')).toBeUndefined();
    values.set('tenant', 'key', 'value', 1_000_000);
    pass(1);
    expect(values.get('tenant', 'key')).toEqual({ value: 'value', at: 1_000_000 });
  });

  it('belongs to its owner alone', () => {
    const { values, pass, get } = trusted();
    for (const owner of ['one', 'one:ann:a', 'one:ann:b', 'one:bob:a', 'two:ann:a'])
      values.set(owner, 'key', `of ${owner}`);
    pass(1);
    values.forget('one:ann:a');
    expect(['one', 'one:ann:a', 'one:ann:b', 'one:bob:a'].map((owner) => get(owner))).toEqual([
      'of one',
      undefined,
      'of one:ann:b',
      'of one:bob:a',
    ]);
    expect(get('two:ann:b')).toBeUndefined();
  });

  it('is forgotten with its tenant, whose id begins the names of its conversations', () => {
    const { values, pass, get } = trusted();
    for (const owner of ['one', 'one:ann:a', 'two:ann:a']) values.set(owner, 'key', 'value');
    pass(1);
    values.forget('one');
    expect(['one', 'one:ann:a', 'two:ann:a'].map((owner) => get(owner))).toEqual([
      undefined,
      undefined,
      'value',
    ]);
  });

  it('does not come back with an answer from before the deletion', () => {
    const { values, pass, get } = trusted();
    const asked = 1_000_000;
    pass(5);
    values.forget('one:ann:a');
    pass(5);
    values.set('one:ann:a', 'key', 'deleted', asked);
    expect(get('one:ann:a')).toBeUndefined();
    values.set('one:ann:a', 'key', 'written again');
    expect(get('one:ann:a')).toBe('written again');
  });

  it('takes a bounded space', () => {
    const { values, get } = trusted(10_000);
    for (let n = 0; n < 1_000; n++) values.set('tenant', `key ${n}`, 'value');
    expect(get('tenant', 'key 0')).toBeUndefined();
    expect(get('tenant', 'key 999')).toBe('value');
  });
});
