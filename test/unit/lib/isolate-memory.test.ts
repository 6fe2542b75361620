import { describe, expect, it } from 'vitest';
import { Beliefs, believed, computed, IsolateMemory } from '../../../src/lib/isolate-memory.ts';
import { TRUST_MS } from '../../../src/storage/upkeep.ts';

function trusted(bytes = 100_000) {
  let now = 1_000_000;
  const values = new Beliefs<string>(
    'seen',
    { about: '', owner: 'tenant', bytes, holdsMs: TRUST_MS },
    () => now,
  );
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

/** An isolate with one kind of each sort. */
function isolate() {
  let now = 1_000_000;
  const row = { about: '', bytes: 100_000 } as const;
  const made: number[] = [];
  const kinds = {
    counted: computed<number>({ ...row, owner: 'tenant' }),
    short: believed<string>({ ...row, owner: 'conversation', holdsMs: 1_000 }),
    long: believed<string>({ ...row, owner: 'conversation', holdsMs: 5_000, longestKey: 4 }),
    key: believed<string>({ ...row, owner: 'tenant', holdsMs: 5_000, outlivesOwner: true }),
    own: {
      ...row,
      owner: 'tenant' as const,
      make: (bytes: number) => {
        made.push(bytes);
        return {
          forgotten: [] as string[],
          forget: function (owner: string) {
            this.forgotten.push(owner);
          },
        };
      },
    },
  };
  const memory = new IsolateMemory(kinds, () => now);
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  const fill = (owner: string) => {
    memory.of('counted').set(owner, 'key', 1);
    for (const kind of ['short', 'long', 'key'] as const) memory.of(kind).set(owner, 'key', 'value');
  };
  const held = (owner: string) => [
    memory.of('counted').get(owner, 'key') !== undefined,
    ...(['short', 'long', 'key'] as const).map((kind) => memory.of(kind).get(owner, 'key') !== undefined),
  ];
  return { memory, pass, fill, held, made };
}

describe('the memory of an isolate', () => {
  it('holds each kind for its own time, and what it has computed while there is room', () => {
    const { pass, fill, held } = isolate();
    fill('one');
    expect(held('one')).toEqual([true, true, true, true]);
    pass(1_000);
    expect(held('one')).toEqual([true, false, true, true]);
    pass(4_000);
    expect(held('one')).toEqual([true, false, false, false]);
  });

  it('forgets an owner in every kind but those that outlive it', () => {
    const { memory, pass, fill, held } = isolate();
    for (const owner of ['one', 'one:a', 'two']) fill(owner);
    const { forgotten } = memory.of('own');
    pass(1);
    memory.forget('one');
    expect(['one', 'one:a', 'two'].map(held)).toEqual([
      [false, false, false, true],
      [false, false, false, true],
      [true, true, true, true],
    ]);
    expect(forgotten).toEqual(['one']);
  });

  it('takes no answer from before a deletion, even of a kind that was not made yet', () => {
    const { memory, pass } = isolate();
    const asked = 1_000_000;
    pass(5);
    memory.forget('one');
    pass(5);
    memory.of('short').set('one:a', 'key', 'deleted', asked);
    memory.of('key').set('one', 'key', 'accepted', asked);
    expect(memory.of('short').get('one:a', 'key')).toBeUndefined();
    expect(memory.of('key').get('one', 'key')?.value).toBe('accepted');
  });

  it('forgets one kind of an owner alone', () => {
    const { memory, pass, fill, held } = isolate();
    fill('one');
    pass(1);
    memory.of('short').forget('one');
    memory.of('short').set('one', 'key', 'deleted', 1_000_000);
    memory.of('long').set('one', 'key', 'value', 1_000_000);
    expect(held('one')).toEqual([true, false, true, true]);
  });

  it('makes what a request uses, once', () => {
    const { memory, made } = isolate();
    expect(made).toEqual([]);
    expect(memory.of('own')).toBe(memory.of('own'));
    expect(made).toEqual([100_000]);
  });

  it('says whether a kind is empty, and keeps no value of a key that is too long', () => {
    const { memory } = isolate();
    const long = memory.of('long');
    long.set('one', 'a key', 'value');
    expect([long.isEmpty, long.get('one', 'a key')]).toEqual([true, undefined]);
    long.set('one', 'key', 'value');
    expect(long.isEmpty).toBe(false);
  });
});
