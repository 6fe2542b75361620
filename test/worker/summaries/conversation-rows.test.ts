import { describe, expect, it } from 'vitest';
import type { Claimed } from '../../../src/storage/conversation/memories.ts';
import {
  boundary,
  conversation,
  digest,
  MINUTE,
  recordLog,
  request,
  written,
} from './conversation-object.ts';

recordLog();

describe('the rows that a conversation’s object keeps', () => {
  const count = (storage: DurableObjectStorage, table: string, condition = '1') =>
    storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE ${condition}`).one().n;

  it('is at most 500 memories: failed ones go first, then the oldest, never one in the making or its base', async () => {
    const { call, claimed, clock, make } = conversation();
    const base = await make(1, 'a base');
    const writing = await claimed(2, { bases: [boundary(1)], leaseMs: 10 * MINUTE });
    await call(async (memory, { storage }) => {
      const make = async (end: number): Promise<Claimed> => {
        const claim = await memory.claim(request(end, { retryIntervalMs: 0 }));
        if (claim.state !== 'claimed') throw new Error(claim.state);
        return claim;
      };
      for (let end = 10; end < 510; end++) {
        const { memoryId, lease } = await make(end);
        if (end % 2) memory.complete(memoryId, lease, written(`${end}`));
        else memory.fail(memoryId, lease, { error: 'upstream_error' });
        // The shortest pause after a failure.
        clock.now += 100;
      }
      expect(count(storage, 'memories')).toBe(500);
      expect(count(storage, 'memories', "status = 'completed'")).toBe(251);
      for (let end = 1000; end < 1260; end++) {
        const { memoryId, lease } = await make(end);
        memory.complete(memoryId, lease, written(`${end}`));
      }
      expect(count(storage, 'memories')).toBe(500);
      expect(count(storage, 'memories', "status = 'failed'")).toBe(0);
      // The base, the row in progress, and the rest of the older half.
      expect(count(storage, 'memories', 'covers_end < 35')).toBe(2);
      expect(count(storage, 'memories', 'covers_end < 1000')).toBe(240);
      expect(count(storage, 'memories', `memory_id = ${base.memory_id}`)).toBe(1);
    });
    expect(
      await call((memory) => memory.complete(writing.memoryId, writing.lease, written('two'))),
    ).toMatchObject({
      base_memory_id: base.memory_id,
    });
  });

  it('is at most 500 pins', async () => {
    const { call, make } = conversation();
    await make(2, 'two');
    await call((memory, { storage }) => {
      for (let round = 0; round < 510; round++)
        memory.find({
          strategyHash: 'strategy',
          boundaries: [boundary(2)],
          round: { hash: `round ${round}`, previous: `round ${round - 1}` },
        });
      expect(count(storage, 'pins')).toBe(500);
      expect(count(storage, 'pins', "round_hash = 'round 509'")).toBe(1);
    });
  });
});

describe('a digest that was used while a summary was late', () => {
  it('stays, and the next summary is based on the late one', async () => {
    const { call, claim, claimed, complete } = conversation();
    const late = await claimed(4);
    const kept = await call((memory) => memory.keepDigest(request(4), null, digest('a digest')));
    expect(await complete(late, 'a summary')).toEqual(kept);
    expect(await claim(4)).toMatchObject({ state: 'ready', memory: { memory_text: 'a digest' } });
    const next = await claimed(6, { bases: [boundary(4)] });
    expect(next.base).toMatchObject({ memory_text: 'a summary', model: 'a-model' });
  });
});

describe('a claim whose material begins after a base', () => {
  it('fails when that base has gone, and leaves no row', async () => {
    const { claim, tables } = conversation();
    expect(await claim(8, { bases: [boundary(4)], from: 4 })).toEqual({ state: 'gone' });
    expect(await tables()).toEqual([]);
  });

  it('is one when a base reaches up to it', async () => {
    const { claim, make } = conversation();
    await make(4, 'four');
    expect((await claim(8, { bases: [boundary(4)], from: 4 })).state).toBe('claimed');
    expect((await claim(9, { bases: [boundary(4)], from: 5 })).state).toBe('gone');
  });
});

describe('a claim that is taken back', () => {
  it('leaves nothing where there was nothing', async () => {
    const { call, claimed, tables } = conversation();
    const { memoryId, lease } = await claimed(4);
    await call((memory) => memory.abandon(memoryId, lease));
    expect(await tables()).toEqual([]);
  });

  it('leaves all other data', async () => {
    const { call, claimed, make, overview } = conversation();
    await make(2, 'two');
    const { memoryId, lease } = await claimed(4);
    await call((memory) => memory.abandon(memoryId, 'another'));
    expect((await overview()).memories).toHaveLength(2);
    await call((memory) => memory.abandon(memoryId, lease));
    expect((await overview()).memories).toMatchObject([{ memory_text: 'two' }]);
  });
});

describe('the digest of a round', () => {
  it('is decided once, and reported to the next round', async () => {
    const { call, find, make } = conversation();
    await make(2, 'two');
    const first = { hash: 'first', previous: null };
    expect((await find([2], first)).digest).toEqual({ here: null, before: null });
    await call((memory) => memory.pinDigest('first', 'strategy', 'array:4'));
    await call((memory) => memory.pinDigest('first', 'strategy', 'array:6'));
    expect((await find([2], first)).digest).toEqual({ here: 'array:4', before: null });
    const second = { hash: 'second', previous: 'first' };
    expect((await find([2], second)).digest).toEqual({ here: null, before: 'array:4' });
  });
});

describe('a writer that never comes to an end', () => {
  it('is replaced a few times, and then counts as a failure', async () => {
    const { clock, claim, health } = conversation();
    const states: string[] = [];
    for (let round = 0; round < 7; round++) {
      states.push((await claim(4)).state);
      clock.now += MINUTE * 6;
    }
    expect(states.slice(0, 5)).toEqual(Array(5).fill('claimed'));
    expect(states[5]).toBe('resting');
    expect(await health()).not.toBe('healthy');
  });

  it('keeps its row while it says that it goes on', async () => {
    const { call, clock, claim, claimed } = conversation();
    const { memoryId, lease } = await claimed(4, { leaseMs: 30_000 });
    for (let part = 0; part < 5; part++) {
      clock.now += 25_000;
      expect(await call((memory) => memory.renew(memoryId, lease))).toBe(true);
    }
    expect((await claim(4)).state).toBe('busy');
    expect(await call((memory) => memory.renew(memoryId, 'another'))).toBe(false);
  });
});

describe('a part of a long prefix, in a rolling window', () => {
  it('names the window that it had itself', async () => {
    const { call, claimed, overview } = conversation();
    const { memoryId, lease } = await claimed(60, { startSequence: 46, windowSize: 14 });
    await call((memory) => memory.advance(memoryId, lease, { ...written('a part'), boundary: boundary(20) }));
    const [part] = (await overview()).memories;
    expect(part).toMatchObject({ start_sequence: 6, end_sequence: 19 });
  });
});

describe('waiting for a row', () => {
  it('ends when the row is completed, failed or cleared', async () => {
    const { call, claimed, clock, complete, fail } = conversation();
    const endings: ((claim: Claimed) => Promise<unknown>)[] = [
      (claim) => complete(claim, 'done'),
      (claim) => fail(claim),
      () => call((memory) => memory.clear()),
    ];
    for (const [index, end] of endings.entries()) {
      const claim = await claimed(index, { retryIntervalMs: 0 });
      const waiting = call((memory) => memory.settled(claim.memoryId, 20_000));
      await end(claim);
      await waiting;
      clock.now += 1_000;
    }
  });

  it('ends when the time is over', async () => {
    const { call, claimed } = conversation();
    const { memoryId } = await claimed(4);
    await call((memory) => memory.settled(memoryId, 20));
  });

  it('does not begin for a row that is done, or that never was', async () => {
    const { call, make } = conversation();
    const { memory_id } = await make(4, 'four');
    await call((memory) => memory.settled(memory_id, 20_000));
    await call((memory) => memory.settled(99, 20_000));
  });
});
