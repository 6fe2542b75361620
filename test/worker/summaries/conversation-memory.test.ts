import { describe, expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { NO_SUMS } from '../../../src/memory/money/bill-sums.ts';
import { BillLedger } from '../../../src/storage/conversation/bills.ts';
import { MemoryChain } from '../../../src/storage/conversation/chain.ts';
import { ConversationState } from '../../../src/storage/conversation/state.ts';
import { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import {
  boundary,
  conversation,
  digest,
  made,
  recordLog,
  request,
  writing,
  written,
} from './conversation-object.ts';

recordLog();

describe.each([
  { life: 'an object that stays awake', evicted: false },
  { life: 'an object that is evicted after each call', evicted: true },
])('in $life', ({ evicted }) => {
  describe('health', () => {
    it('goes from degraded to healthy', async () => {
      const { clock, look, make, fail, health } = conversation(evicted);
      expect(await fail(4)).toMatchObject({ state: 'resting', base: null });
      expect(await health()).toBe('degraded');
      clock.now += 30_000 - 1;
      expect(await look(4)).toEqual({ state: 'resting', base: null, retryAt: clock.now + 1 });
      clock.now += 1;
      expect(await look(4)).toEqual({ state: 'wanted', base: null, health: 'degraded' });
      await make(4, 'recovered');
      expect(await health()).toBe('healthy');
    });

    it('rests twice as long after each failure in a row, at most an hour, and begins anew after a success', async () => {
      const { clock, look, make, fail } = conversation(evicted);
      const rests: number[] = [];
      for (let round = 0; round < 9; round++) {
        await fail(4);
        const resting = await look(4);
        const rest = resting.state === 'resting' ? resting.retryAt - clock.now : -1;
        rests.push(rest / 1000);
        clock.now += rest;
      }
      expect(rests).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
      await make(4, 'recovered');
      await fail(6);
      expect(await look(6)).toMatchObject({ state: 'resting', retryAt: clock.now + 30_000 });
    });

    it('lets a resting conversation use the version that is ready, and its base', async () => {
      const { look, fail, make } = conversation(evicted);
      const four = await make(4, 'four');
      await fail(6);
      expect(await look(4)).toEqual({ state: 'ready', memory: four });
      expect(await look(8, { bases: [boundary(4)] })).toMatchObject({ state: 'resting', base: four });
    });
  });

  describe('a digest that is kept while the conversation rests', () => {
    const kept = (end: number, base: number | null, text: string) => (memory: ConversationMemory) =>
      memory.versions.keepDigest(request(end), base, digest(text));

    it('stays, is served, and is not built upon', async () => {
      const { clock, call, look, fail, find, make } = conversation(evicted);
      const two = await make(2, 'two');
      await fail(3);
      const memory = await call(kept(4, two.memory_id, 'a digest'));
      expect(memory).toMatchObject({
        status: 'completed',
        model: 'digest',
        memory_text: 'a digest',
        covers_end: 4,
        base_memory_id: two.memory_id,
        base_end_seq: 1,
      });
      expect(await call(kept(4, null, 'another'))).toEqual(memory);
      clock.now += 30_000;
      expect(await look(4)).toEqual({ state: 'ready', memory });
      expect((await find([2, 4])).memory).toEqual(memory);
      expect(await look(6, { bases: [boundary(2), boundary(4)] })).toMatchObject({ base: two });
    });

    it('gives way to what is there already', async () => {
      const { call, make } = conversation(evicted);
      const four = await make(4, 'four');
      expect(await call(kept(4, null, 'a digest'))).toEqual(four);
    });
  });

  describe('finding', () => {
    it('gives the longest that is ready', async () => {
      const { find, make } = conversation(evicted);
      await make(2, 'two');
      const four = await make(4, 'four');
      expect(await find([2, 4, 6, 8])).toEqual({
        memory: four,
        moved: false,
        health: 'healthy',
        digest: { here: null, before: null },
        known: true,
      });
      expect(await find([6, 8])).toMatchObject({ memory: null, known: true });
    });

    it('keeps forks apart', async () => {
      const { call, look, make } = conversation(evicted);
      const mine = await make(4, 'mine', { boundary: boundary(4, 'left') });
      const theirs = await make(6, 'theirs', { boundary: boundary(6, 'right') });
      const find = (array: string) =>
        call((memory) =>
          memory.versions.find({
            strategyHash: 'strategy',
            boundaries: [2, 4, 6].map((end) => boundary(end, array)),
          }),
        );
      expect([(await find('left')).memory, (await find('right')).memory]).toEqual([mine, theirs]);
      const next = await look(8, {
        boundary: boundary(8, 'left'),
        bases: [boundary(4, 'left'), boundary(6, 'left')],
      });
      expect(next).toMatchObject({ state: 'wanted', base: mine });
    });

    it('keeps strategies apart', async () => {
      const { find, make } = conversation(evicted);
      await make(4, 'for another', { strategyHash: 'another' });
      expect(await find([4])).toMatchObject({ memory: null, known: false });
    });

    it('gives all requests of a round the same memory, and says when a round has another', async () => {
      const { find, make } = conversation(evicted);
      const two = await make(2, 'two');
      const first = { hash: 'round 1', previous: null };
      const second = { hash: 'round 2', previous: 'round 1' };
      const third = { hash: 'round 3', previous: 'round 2' };
      expect(await find([2, 4], first)).toMatchObject({ memory: two, moved: true });
      const four = await make(4, 'four');
      expect(await find([2, 4], first)).toMatchObject({ memory: two, moved: true });
      expect((await find([2, 4])).memory).toEqual(four);
      expect(await find([2, 4], second)).toMatchObject({ memory: four, moved: true });
      expect(await find([2, 4], third)).toMatchObject({ memory: four, moved: false });
    });

    it('gives a round that began without a memory none', async () => {
      const { find, make } = conversation(evicted);
      await make(2, 'of another array', { boundary: boundary(2, 'a fork') });
      const round = { hash: 'round 1', previous: null };
      expect(await find([2, 4], round)).toMatchObject({ memory: null, moved: false });
      await make(4, 'four');
      expect(await find([2, 4], round)).toMatchObject({ memory: null, moved: false });
    });

    it('gives a round none that made the first memory itself', async () => {
      const { find, make, tables } = conversation(evicted);
      const round = { hash: 'round 1', previous: null };
      expect((await find([2], round)).memory).toBeNull();
      expect(await tables()).toEqual([]);
      const two = await make(2, 'two', { round });
      expect(await find([2], round)).toMatchObject({ memory: null, moved: false });
      expect(await find([2, 4], { hash: 'round 2', previous: 'round 1' })).toMatchObject({
        memory: two,
        moved: true,
      });
    });

    it('gives a round that asks anew the newest, and all its later requests too', async () => {
      const { call, find, make } = conversation(evicted);
      const round = { hash: 'round 1', previous: null };
      await make(2, 'of other messages', { strategyHash: 'another' });
      expect((await find([2, 4], round)).memory).toBeNull();
      await call((memory) => memory.versions.pinDigest('round 1', 'strategy', 'array:2'));
      const two = await make(2, 'two', { round });
      expect(await find([2, 4], round)).toMatchObject({ memory: null, digest: { here: 'array:2' } });

      const anew = await find([2, 4], round, true);

      expect(anew).toMatchObject({ memory: two, moved: true, digest: { here: null } });
      await make(4, 'four');
      expect((await find([2, 4], round)).memory).toEqual(two);
    });

    it('chooses anew when the pinned row has gone, or is of other messages', async () => {
      const { call, find, make } = conversation(evicted);
      const two = await make(2, 'two');
      const four = await make(4, 'four');
      const round = { hash: 'round 1', previous: null };
      expect((await find([2, 4], round)).memory).toEqual(four);
      expect((await find([2], round)).memory).toEqual(two);
      expect((await find([2, 4], round)).memory).toEqual(two);
      await call((_, { storage }) =>
        storage.sql.exec('DELETE FROM memories WHERE memory_id = ?', two.memory_id),
      );
      expect((await find([2, 4], round)).memory).toEqual(four);
    });
  });

  describe('settings and the frozen injection', () => {
    it('come back as they were set, and change as far as they are named', async () => {
      const { call, overview } = conversation(evicted);
      const both = { memory_strategy: { mode: 'auto' }, memory_injection: { max_tokens: 9 } };
      await call((memory) => memory.state.configure(both));
      expect(await call((memory) => memory.state.settings())).toEqual(both);
      expect(await overview()).toMatchObject({ exists: true, settings: both });
      await call((memory) => memory.state.configure({ memory_strategy: 'compact' }));
      expect(await call((memory) => memory.state.settings())).toEqual({
        ...both,
        memory_strategy: 'compact',
      });
      await call((memory) => memory.state.configure({ memory_injection: null }));
      const one = { memory_strategy: 'compact', memory_injection: null };
      expect(await call((memory) => memory.state.settings())).toEqual(one);
      await call((memory) => memory.state.configure({}));
      expect(await call((memory) => memory.state.settings())).toEqual(one);
    });

    it('freeze the first block, even an empty one, and replace the one that is named', async () => {
      const { call } = conversation(evicted);
      const empty = { text: '', sources: [] };
      const later = { text: 'later', sources: [{ conversation: 'one', since: 1 }] };
      expect(await call((memory) => memory.state.injection())).toBeNull();
      expect(await call((memory) => memory.state.freezeInjection(empty, null))).toEqual(empty);
      expect(await call((memory) => memory.state.freezeInjection(later, null))).toEqual(empty);
      expect(await call((memory) => memory.state.freezeInjection(later, 'another'))).toEqual(empty);
      expect(await call((memory) => memory.state.injection())).toEqual(empty);
      expect(await call((memory) => memory.state.freezeInjection(later, ''))).toEqual(later);
      expect(await call((memory) => memory.state.injection())).toEqual(later);
    });
  });

  describe('storage', () => {
    it('is not made by looking', async () => {
      const { ask, call, find, make, overview, tables } = conversation(evicted);
      await find([2], { hash: 'round 1', previous: null });
      await call((memory) => memory.state.settings());
      await call((memory) => memory.state.injection());
      await call((memory) => memory.state.configure({ memory_strategy: null, memory_injection: null }));
      await ask(4, { bases: [boundary(2)] });
      await call((memory) => memory.outputDigests.find(['one']));
      expect(await overview()).toEqual({
        exists: false,
        settings: { memory_strategy: null, memory_injection: null },
        health: 'healthy',
        conversation_memory: null,
        memories: [],
        rounds: [],
        stats: { avg_ms: null, max_ms: null, total_summaries: 0 },
        stuck: false,
      });
      expect(await tables()).toEqual([]);
      await make(2, 'two');
      expect(await tables()).not.toEqual([]);
    });
  });
});

describe('health', () => {
  it('is one of retries, and of recovering, while a version is in the making', async () => {
    const { begin, clock, fail, health } = conversation();
    await fail(4);
    clock.now += 30_000;
    const { act, complete } = await begin(4);
    expect(await health()).toBe('recovering');
    await act(({ retrying }) => retrying('timeout'));
    expect(await health()).toBe('recovering');
    await complete('recovered');
    const next = await begin(6);
    await next.act(({ retrying }) => retrying('timeout'));
    expect(await health()).toBe('retry');
  });

  it('counts an outage once, whatever was in progress when it began', async () => {
    const { clock, begin, look, health } = conversation();
    const [first, second, third, fourth] = [await begin(2), await begin(4), await begin(6), await begin(8)];
    clock.now += 5_000;
    await first.fail();
    const until = clock.now + 30_000;
    clock.now += 2_000;
    await second.fail();
    expect(await look(10)).toMatchObject({ state: 'resting', retryAt: until });
    clock.now = until;
    const next = await begin(10);
    await third.fail();
    expect(await health()).toBe('recovering');
    clock.now += 1_000;
    await next.fail();
    await fourth.fail();
    expect(await look(10)).toMatchObject({ state: 'resting', retryAt: clock.now + 60_000 });
    clock.now += 60_000;
    await (await begin(10)).complete('recovered');
    expect(await health()).toBe('healthy');
  });
});

describe('a round that found no memory', () => {
  it('is given none, though another request has had one made meanwhile', async () => {
    const { call, begin, find } = conversation();
    const round = { hash: 'round 1', previous: null };
    await find([2], round);
    const other = await begin(2);
    const material = writing(() => Promise.reject(new Error('it is made twice')));
    const answer = await call((memory) => memory.text(request(2, { round }), material, 0));
    expect(answer.state).toBe('pending');
    await other.complete('two');
    expect((await find([2], round)).memory).toBeNull();
  });
});

describe('the overview of a conversation’s memory', () => {
  it('lists the newest first, with the sums of its measurements', async () => {
    const { make, fail, overview } = conversation();
    await make(2, 'two', {}, { ms: 10 });
    await make(4, 'four', {}, { ms: 25 });
    await fail(6);
    const { memories, stats, conversation_memory } = await overview();
    expect(memories.map(({ covers_end, status }) => `${covers_end} ${status}`)).toEqual([
      '6 failed',
      '4 completed',
      '2 completed',
    ]);
    expect(stats).toEqual({ avg_ms: 18, max_ms: 25, total_summaries: 2 });
    expect(conversation_memory).toBe('four');
  });
});

describe('the newest summary', () => {
  it('is the whole one, and no chunk of it that was made in the same millisecond', async () => {
    const { begin, overview } = conversation();
    const { act, complete } = await begin(8);
    await act(({ advance }) => advance({ ...written('a chunk'), boundary: boundary(4) }));
    await complete('the whole');
    expect((await overview()).conversation_memory).toBe('the whole');
  });
});

describe('a look at many candidates', () => {
  it('reads no more than one row for each, however many are stored', async () => {
    const { call } = conversation();
    await call(async (memory, { storage }) => {
      for (let end = 0; end < 500; end++) await memory.text(request(end), made(`${end}`), 10_000);
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const exec = (query: string, ...values: SqlStorageValue[]) => {
        const cursor = storage.sql.exec(query, ...values);
        cursors.push(cursor);
        return cursor;
      };
      const tables = new ConversationTables({
        sql: { exec } as unknown as SqlStorage,
        transactionSync: (work) => work(),
      });
      const bills = new BillLedger(tables, {
        requests: { sums: () => NO_SUMS, days: () => ({}) },
        spent: () => undefined,
      });
      const chain = new MemoryChain(
        { tables, state: new ConversationState(tables), bills },
        {
          log: () => undefined,
          logName: () => '',
          making: () => [],
        },
      );
      const boundaries = Array.from({ length: 20_000 }, (_, index) => boundary(index + 1_000));
      expect(chain.find({ strategyHash: 'strategy', boundaries }).memory).toBeNull();
      const read = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
      expect(read).toBeLessThan(20_100);
    });
  });
});
