import { describe, expect, it } from 'vitest';
import { StoreError } from '../../../src/lib/store-error.ts';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import { Upkeep } from '../../../src/storage/upkeep.ts';

const MINUTE = 60_000;

/** A conversation that relies on some facts, by name and age in minutes. */
function keeping() {
  let now = 100 * MINUTE;
  const logged: unknown[] = [];
  const upkeep = new Upkeep(
    (level, message, fields) => logged.push([level, message, fields]),
    isolateMemory().of('turns'),
    () => now,
  );
  const request = async (ages: Record<string, number>, conversation = 'one', failing = '') => {
    const confirmed: string[] = [];
    const facts = upkeep.ofRequest();
    for (const [name, minutes] of Object.entries(ages))
      facts.of(conversation).rely(name, now - minutes * MINUTE, async () => {
        confirmed.push(name);
        if (name === failing) throw new StoreError(new Error('R2 is down'));
      });
    await facts.confirm();
    return confirmed;
  };
  const pass = (minutes: number) => {
    now += minutes * MINUTE;
  };
  return { upkeep, request, pass, logged };
}

describe('upkeep after an answer', () => {
  it('confirms the oldest fact, once a minute', async () => {
    const { request, pass } = keeping();
    expect(await request({ young: 1, old: 3, middle: 2 })).toEqual(['old']);
    pass(0.9);
    expect(await request({ young: 2, old: 1, middle: 3 })).toEqual([]);
    pass(0.1);
    expect(await request({ young: 2, old: 1, middle: 3 })).toEqual(['middle']);
  });

  it('leaves facts alone that are less than a minute old', async () => {
    const { request } = keeping();
    expect(await request({ young: 0.9, younger: 0 })).toEqual([]);
    expect(await request({ old: 1 })).toEqual(['old']);
  });

  it('gives each conversation its own turn', async () => {
    const { request } = keeping();
    expect(await request({ fact: 2 }, 'one')).toEqual(['fact']);
    expect(await request({ fact: 2 }, 'two')).toEqual(['fact']);
  });

  it('confirms both where a request notes a fact twice, when the older one is due', async () => {
    const confirmed: string[] = [];
    const logged: unknown[] = [];
    const upkeep = new Upkeep(
      (...line) => logged.push(line),
      isolateMemory().of('turns'),
      () => 100 * MINUTE,
    );
    const facts = upkeep.ofRequest();
    const rely = (which: string, minutes: number) =>
      facts.of('one').rely('digests', (100 - minutes) * MINUTE, async () => {
        confirmed.push(which);
        throw new StoreError(new Error('R2 is down'));
      });
    rely('shown', 2);
    rely('staying', 0);
    await facts.confirm();

    expect(confirmed).toEqual(['shown', 'staying']);
    expect(logged).toHaveLength(2);
  });

  it('waits where storage was asked within the last minute anyway', async () => {
    const { upkeep, request, pass } = keeping();
    upkeep.ofRequest().of('one').takeTurn();
    expect(await request({ fact: 2 })).toEqual([]);
    pass(1);
    expect(await request({ fact: 3 })).toEqual(['fact']);
  });

  it('confirms several of many facts at once, since none may get too old', async () => {
    const { request } = keeping();
    expect(await request({ a: 1, b: 2, c: 3, d: 4, e: 4.5 })).toEqual(['e', 'd']);
  });

  it('only logs a failure', async () => {
    const { request, logged } = keeping();
    expect(await request({ fact: 2 }, 'one', 'fact')).toEqual(['fact']);
    expect(logged).toEqual([
      [
        'warn',
        'what is stored could not be confirmed',
        { code: 'store_failed', error: 'Error', at: expect.any(String) },
      ],
    ]);
  });
});
