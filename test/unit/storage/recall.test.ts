import { describe, expect, it } from 'vitest';
import { Beliefs } from '../../../src/lib/isolate-memory.ts';
import { recall } from '../../../src/storage/recall.ts';

/** Two keys of a conversation whose object can be given what it has. */
function conversation() {
  const kind = {
    about: '',
    owner: 'conversation',
    bytes: 100_000,
    holdsMs: 300_000,
    confirm: 'facts',
  } as const;
  const known = new Beliefs<string>('kind', kind).of('one:a');
  let stored: readonly (string | undefined)[] = ['first', 'second'];
  let asked = 0;
  const relied: [name: string, at: number, confirm: () => Promise<void>][] = [];
  const ask = () =>
    recall({
      known,
      keys: ['a', 'b'],
      upkeep: { rely: (...fact) => relied.push(fact), takeTurn: () => {} },
      ask: async () => {
        asked++;
        return stored;
      },
    });
  const has = (...values: (string | undefined)[]) => {
    stored = values;
  };
  return { known, ask, has, relied, asked: () => asked };
}

describe('what is recalled of an object', () => {
  it('is asked for once, then relied on and confirmed under the name of its kind', async () => {
    const { known, ask, relied, asked } = conversation();
    expect(await ask()).toEqual(['first', 'second']);
    known.keep('b', 'second', Date.now() - 60_000);
    expect(await ask()).toEqual(['first', 'second']);
    expect(asked()).toBe(1);
    expect(relied.map(([name, at]) => [name, at])).toEqual([['facts', known.get('b')?.at]]);
    await relied[0]?.[2]();
    expect(asked()).toBe(2);
  });

  it('is dropped when a confirmation does not find it', async () => {
    const { ask, has, relied, asked } = conversation();
    await ask();
    await ask();
    has('first', undefined);
    await relied[0]?.[2]();
    expect(await ask()).toEqual(['first', undefined]);
    expect(asked()).toBe(3);
  });
});
