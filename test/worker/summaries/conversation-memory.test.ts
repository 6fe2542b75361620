import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { createLog } from '../../../src/log.ts';
import type { Boundary } from '../../../src/memory/conversation/passage.ts';
import { MemoryChain } from '../../../src/storage/conversation/chain.ts';
import { conversationMemory, conversationName } from '../../../src/storage/conversation/key.ts';
import type {
  Claim,
  Claimed,
  ClaimRequest,
  Memory,
  Written,
} from '../../../src/storage/conversation/memories.ts';
import type { RollMaterial } from '../../../src/summary/conversation.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';
import { collectLedger } from '../../../src/summary/text/ledger.ts';

const MINUTE = 60_000;

/** The boundary after `end` messages of one of several arrays. */
const boundary = (end: number, array = 'array'): Boundary => ({
  prefixHash: `${array}:${end}`,
  end,
  sequence: end - 1,
});

const request = (end: number, changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  conversation: 'the conversation',
  strategyHash: 'strategy',
  boundary: boundary(end),
  bases: [],
  startSequence: 0,
  windowSize: null,
  leaseMs: MINUTE,
  retryIntervalMs: 30_000,
  exclusive: 'boundary',
  from: 0,
  ...changes,
});

const written = (text: string, changes: Partial<Written> = {}): Written => ({
  text,
  tokens: 7,
  ref: 'ref_transcript',
  transcript_from: '',
  transcript_earlier: null,
  model: 'a-model',
  ms: 40,
  ...changes,
});

const digest = (text: string) => ({ text, tokens: 3, ms: 1, ...NO_TRANSCRIPT });

let made = 0;

/**
 * An object with its own clock.
 *
 * @param evicted whether it loses its memory after each call
 * @param name of the object
 */
function conversation(evicted = false, name = `conversation ${made++}`) {
  const stub = env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
  const clock = { now: 1_000_000_000 };
  const call = async <Result>(
    use: (memory: ConversationMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => {
    const result = await runInDurableObject(stub, (memory, state) => {
      Reflect.set(memory, 'now', () => clock.now);
      Reflect.set(memory, 'log', createLog('debug'));
      return use(memory, state);
    });
    if (evicted) await evictDurableObject(stub);
    return result;
  };
  const claim = (end: number, changes?: Partial<ClaimRequest>): Promise<Claim> =>
    call((memory) => memory.claim(request(end, changes)));
  const claimed = async (end: number, changes?: Partial<ClaimRequest>): Promise<Claimed> => {
    const answer = await claim(end, changes);
    if (answer.state !== 'claimed') throw new Error(`the claim is ${answer.state}`);
    return answer;
  };
  const complete = ({ memoryId, lease }: Claimed, text: string, changes?: Partial<Written>) =>
    call((memory) => memory.complete(memoryId, lease, written(text, changes)));
  const fail = ({ memoryId, lease }: Claimed, text?: string) =>
    call((memory) =>
      memory.fail(memoryId, lease, {
        error: 'upstream_error',
        ...(text === undefined ? {} : { digest: digest(text) }),
      }),
    );
  const make = async (end: number, text: string, changes?: Partial<ClaimRequest>): Promise<Memory> => {
    const memory = await complete(await claimed(end, changes), text);
    if (!memory) throw new Error('the lease is lost');
    return memory;
  };
  const find = (ends: readonly number[], round?: { hash: string; previous: string | null }) =>
    call((memory) =>
      memory.find({
        strategyHash: 'strategy',
        boundaries: ends.map((end) => boundary(end)),
        ...(round ? { round } : {}),
      }),
    );
  const overview = () => call((memory) => memory.overview());
  const health = async () => (await overview()).health;
  const tables = () =>
    call((_, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        .toArray(),
    );
  const row = async (memoryId: number) =>
    (await overview()).memories.find(({ memory_id }) => memory_id === memoryId);
  return { name, clock, call, claim, claimed, complete, fail, make, find, overview, health, tables, row };
}

/** The lines logged since the last call, each with its level. */
let logged: () => string[];

beforeEach(() => {
  const lines: string[] = [];
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line: string) => {
      const { level: said, message } = JSON.parse(line) as { level: string; message: string };
      lines.push(`${said} ${message}`);
    });
  logged = () => lines.splice(0);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  { life: 'an object that stays awake', evicted: false },
  { life: 'an object that is evicted after each call', evicted: true },
])('in $life', ({ evicted }) => {
  describe('a claim', () => {
    it('makes one caller the writer, and the others wait', async () => {
      const { claim, claimed } = conversation(evicted);
      const first = await claimed(4);
      expect(first.base).toBeNull();
      expect(await claim(4)).toEqual({ state: 'busy', memoryId: first.memoryId, base: null });
      expect((await claim(6)).state).toBe('claimed');
    });

    it('waits for any of the same strategy when the conversation has one writer', async () => {
      const { claim, claimed } = conversation(evicted);
      const first = await claimed(4);
      const rolling = { exclusive: 'conversation' } as const;
      expect(await claim(6, rolling)).toEqual({ state: 'busy', memoryId: first.memoryId, base: null });
      expect((await claim(6, { ...rolling, strategyHash: 'another' })).state).toBe('claimed');
    });

    it('is answered with the version that is ready', async () => {
      const { claim, make } = conversation(evicted);
      const memory = await make(4, 'a summary', { startSequence: 2, windowSize: 14 });
      expect(memory).toEqual({
        memory_id: 1,
        base_memory_id: null,
        prefix_hash: 'array:4',
        strategy_hash: 'strategy',
        start_sequence: 2,
        end_sequence: 3,
        base_end_seq: null,
        window_size: 14,
        covers_end: 4,
        status: 'completed',
        memory_text: 'a summary',
        ref: 'ref_transcript',
        tokens: 7,
        model: 'a-model',
        attempts: 1,
        error: null,
        created_at: 1_000_000_000,
        generation_time_ms: 40,
        transcript_from: '',
        transcript_earlier: null,
      });
      expect(await claim(4)).toEqual({ state: 'ready', memory });
      expect((await claim(4, { strategyHash: 'another' })).state).toBe('claimed');
    });

    it('is built upon the longest of its bases, whatever their order', async () => {
      const { claim, claimed, make, row } = conversation(evicted);
      await make(2, 'two');
      const four = await make(4, 'four');
      await make(6, 'six', { boundary: boundary(6, 'a fork') });
      const { memoryId, base } = await claimed(8, { bases: [boundary(6), boundary(4), boundary(2)] });
      expect(base).toEqual(four);
      expect(await claim(8, { bases: [boundary(4)] })).toEqual({ state: 'busy', memoryId, base: four });
      expect(await row(memoryId)).toMatchObject({ base_memory_id: four.memory_id, base_end_seq: 3 });
    });

    it('starts over when it names no bases', async () => {
      const { claimed, make } = conversation(evicted);
      await make(4, 'four');
      expect((await claimed(8)).base).toBeNull();
    });

    it('is never built upon a digest, though the digest stands for its own boundary', async () => {
      const { clock, claim, claimed, fail, make } = conversation(evicted);
      await make(2, 'two');
      const digested = await fail(await claimed(4), 'a digest');
      clock.now += 30_000;
      expect(await claim(4)).toEqual({ state: 'ready', memory: digested });
      expect((await claimed(6, { bases: [boundary(2), boundary(4)] })).base?.memory_text).toBe('two');
    });

    it('finds its base among 5000 hashes', async () => {
      const { claimed, make } = conversation(evicted);
      await make(10, 'a short one');
      const longest = await make(2_500, 'a long one');
      const bases = Array.from({ length: 5_000 }, (_, index) => boundary(index));
      expect((await claimed(6_000, { bases })).base).toEqual(longest);
    });

    it('counts messages as the asking array does, whose preamble may have grown', async () => {
      const { claimed, make } = conversation(evicted);
      await make(4, 'four');
      const { base } = await claimed(8, { bases: [{ ...boundary(4), end: 5 }] });
      expect(base?.covers_end).toBe(5);
    });
  });

  describe('a claim that is not ended', () => {
    it('is taken over when its lease is over', async () => {
      const { clock, claim, claimed, row } = conversation(evicted);
      const first = await claimed(4);
      clock.now += MINUTE - 1;
      expect((await claim(4)).state).toBe('busy');
      clock.now += 1;
      const second = await claimed(4);
      expect(second.memoryId).not.toBe(first.memoryId);
      expect(await row(first.memoryId)).toMatchObject({ status: 'failed', error: 'lease_expired' });
      expect(await row(second.memoryId)).toMatchObject({ status: 'processing', attempts: 2 });
    });

    it('is taken over by the conversation’s next writer, of whatever boundary', async () => {
      const { clock, claimed, row } = conversation(evicted);
      const first = await claimed(4, { exclusive: 'conversation' });
      clock.now += MINUTE;
      await claimed(6, { exclusive: 'conversation' });
      expect((await row(first.memoryId))?.status).toBe('failed');
    });

    it('is stuck after five minutes, however long its lease is', async () => {
      const { clock, claim, claimed, overview } = conversation(evicted);
      await claimed(4, { leaseMs: 60 * MINUTE });
      clock.now += 5 * MINUTE - 1;
      expect((await claim(4)).state).toBe('busy');
      expect((await overview()).stuck).toBe(false);
      clock.now += 1;
      expect((await overview()).stuck).toBe(true);
      expect((await claim(4)).state).toBe('claimed');
      expect((await overview()).stuck).toBe(false);
    });

    it('may still be completed late when nobody took over', async () => {
      const { clock, claimed, complete } = conversation(evicted);
      const claim = await claimed(4);
      clock.now += 2 * MINUTE;
      expect((await complete(claim, 'late'))?.memory_text).toBe('late');
    });
  });

  describe('a lost lease', () => {
    it('writes nothing', async () => {
      const { clock, call, claimed, complete, fail, row, health } = conversation(evicted);
      const lost = await claimed(4);
      clock.now += MINUTE;
      const { memoryId } = await claimed(4);
      expect(await complete(lost, 'late')).toBeNull();
      expect(await fail(lost, 'a late digest')).toBeNull();
      expect(await call((memory) => memory.retrying(lost.memoryId, lost.lease, 'timeout'))).toBe(false);
      const chunk = { ...written('late'), boundary: boundary(2) };
      expect(await call((memory) => memory.advance(lost.memoryId, lost.lease, chunk))).toBeNull();
      expect(await row(lost.memoryId)).toMatchObject({
        status: 'failed',
        error: 'lease_expired',
        attempts: 1,
      });
      expect(await row(memoryId)).toMatchObject({ status: 'processing' });
      expect(await health()).toBe('healthy');
    });

    it('gets the summary of the other writer', async () => {
      const { clock, claimed, complete, make } = conversation(evicted);
      const lost = await claimed(4);
      clock.now += MINUTE;
      const memory = await make(4, 'in time');
      expect(await complete(lost, 'late')).toEqual(memory);
    });

    it('is not to be had by guessing the id', async () => {
      const { claimed, complete } = conversation(evicted);
      const claim = await claimed(4);
      expect(await complete({ ...claim, lease: 'guessed' }, 'forged')).toBeNull();
      expect((await complete(claim, 'true'))?.memory_text).toBe('true');
    });
  });

  describe('the writer', () => {
    it('may say the same twice, when it did not hear the answer', async () => {
      const { claimed, complete, fail, overview } = conversation(evicted);
      const claim = await claimed(4);
      const memory = await complete(claim, 'once');
      expect(await complete(claim, 'twice')).toEqual(memory);
      const failing = await claimed(6);
      const digested = await fail(failing, 'a digest');
      expect(await fail(failing, 'a digest')).toEqual(digested);
      expect((await overview()).memories).toHaveLength(3);
    });

    it('counts its retries, and each renews the lease', async () => {
      const { clock, call, claim, claimed, complete, health, row } = conversation(evicted);
      const mine = await claimed(4);
      clock.now += MINUTE - 1;
      expect(await call((memory) => memory.retrying(mine.memoryId, mine.lease, 'upstream_timeout'))).toBe(
        true,
      );
      expect(await health()).toBe('retry');
      expect(await row(mine.memoryId)).toMatchObject({ attempts: 2, error: 'upstream_timeout' });
      clock.now += MINUTE - 1;
      expect((await claim(4)).state).toBe('busy');
      expect(await complete(mine, 'at last')).toMatchObject({ attempts: 2, error: null });
      expect(await health()).toBe('healthy');
    });

    it('keeps the chunks of a long prefix as versions of their own', async () => {
      const { clock, call, claim, claimed, complete, find, overview } = conversation(evicted);
      const base = boundary(2);
      const mine = await claimed(8, { bases: [base] });
      clock.now += MINUTE - 1;
      const advance = (end: number) =>
        call((memory) =>
          memory.advance(mine.memoryId, mine.lease, {
            ...written(`up to ${end}`),
            boundary: boundary(end),
          }),
        );
      const four = await advance(4);
      const six = await advance(6);
      expect(four).toMatchObject({
        base_memory_id: null,
        covers_end: 4,
        end_sequence: 3,
        status: 'completed',
      });
      expect(six).toMatchObject({ base_memory_id: four?.memory_id, base_end_seq: 3, memory_text: 'up to 6' });
      expect((await find([2, 4, 6, 8])).memory).toEqual(six);
      clock.now += MINUTE - 1;
      expect((await claim(8)).state).toBe('busy');
      expect(await complete(mine, 'up to 8')).toMatchObject({
        base_memory_id: six?.memory_id,
        base_end_seq: 5,
      });
      expect((await overview()).conversation_memory).toBe('up to 8');
    });

    it('passes a boundary that has its version already, and leaves that as it is', async () => {
      const { call, claimed, make, overview } = conversation(evicted);
      const four = await make(4, 'the first');
      const { memoryId, lease } = await claimed(8);
      const chunk = { ...written('the second'), boundary: boundary(4) };
      expect(await call((memory) => memory.advance(memoryId, lease, chunk))).toEqual(four);
      expect((await overview()).memories).toHaveLength(2);
    });

    it('does not come before a version that another claim has put at its boundary meanwhile', async () => {
      const { call, claim, claimed, complete, row } = conversation(evicted);
      const slow = await claimed(4);
      const { memoryId, lease } = await claimed(8);
      const chunk = { ...written('in use'), boundary: boundary(4) };
      const inUse = await call((memory) => memory.advance(memoryId, lease, chunk));
      expect(await complete(slow, 'too late')).toEqual(inUse);
      expect(await row(slow.memoryId)).toMatchObject({ status: 'failed', error: 'superseded' });
      expect(await claim(4)).toEqual({ state: 'ready', memory: inUse });
    });

    it('can’t store a text that is too long for a row', async () => {
      const { call, claimed, complete, row } = conversation(evicted);
      const claim = await claimed(4);
      const { memoryId, lease } = claim;
      const long = 'ü'.repeat(500_001);
      const tried = (use: (memory: ConversationMemory) => unknown) =>
        call(async (memory) => {
          await expect((async () => use(memory))()).rejects.toThrow(RangeError);
        });
      await tried((memory) => memory.complete(memoryId, lease, written(long)));
      await tried((memory) => memory.fail(memoryId, lease, { error: 'e', digest: digest(long) }));
      await tried((memory) => memory.advance(memoryId, lease, { ...written(long), boundary: boundary(2) }));
      await tried((memory) => memory.keepDigest(request(6), null, digest(long)));
      await tried((memory) => memory.configure({ memory_strategy: long, memory_injection: null }));
      await tried((memory) => memory.freezeInjection(long));
      expect(await row(memoryId)).toMatchObject({ status: 'processing', memory_text: null });
      expect((await complete(claim, 'ü'.repeat(500_000)))?.status).toBe('completed');
    });

    it('has only codes kept of its errors', async () => {
      const { call, claimed, row } = conversation(evicted);
      const { memoryId, lease } = await claimed(4);
      await call((memory) => memory.fail(memoryId, lease, { error: 'Error: the user said “secret”' }));
      expect((await row(memoryId))?.error).toBe('unknown');
    });
  });

  describe('health', () => {
    it('goes from degraded over recovering to healthy', async () => {
      const { clock, call, claim, claimed, complete, fail, health } = conversation(evicted);
      const first = await claimed(4);
      await call((memory) => memory.retrying(first.memoryId, first.lease, 'timeout'));
      expect(await health()).toBe('retry');
      expect(await fail(first)).toBeNull();
      expect(await health()).toBe('degraded');
      clock.now += 30_000 - 1;
      expect(await claim(4)).toEqual({ state: 'resting', base: null, retryAt: clock.now + 1 });
      clock.now += 1;
      const second = await claimed(4);
      expect(await health()).toBe('recovering');
      await complete(second, 'recovered');
      expect(await health()).toBe('healthy');
    });

    it('rests twice as long after each failure in a row, at most an hour, and begins anew after a success', async () => {
      const { clock, claim, claimed, complete, fail } = conversation(evicted);
      const rests: number[] = [];
      for (let round = 0; round < 9; round++) {
        await fail(await claimed(4));
        const resting = await claim(4);
        const rest = resting.state === 'resting' ? resting.retryAt - clock.now : -1;
        rests.push(rest / 1000);
        clock.now += rest;
      }
      expect(rests).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
      await complete(await claimed(4), 'recovered');
      await fail(await claimed(6));
      expect(await claim(6)).toMatchObject({ state: 'resting', retryAt: clock.now + 30_000 });
    });

    it('lets a resting conversation use the version that is ready, and its base', async () => {
      const { claim, claimed, fail, make } = conversation(evicted);
      const four = await make(4, 'four');
      await fail(await claimed(6));
      expect(await claim(4)).toEqual({ state: 'ready', memory: four });
      expect(await claim(8, { bases: [boundary(4)] })).toMatchObject({ state: 'resting', base: four });
    });

    it('counts a failure whose digest is served', async () => {
      const { claimed, fail, find, row } = conversation(evicted);
      const claim = await claimed(4);
      const digested = await fail(claim, 'a digest');
      expect(digested).toMatchObject({
        status: 'completed',
        model: 'digest',
        memory_text: 'a digest',
        ref: null,
        covers_end: 4,
        end_sequence: 3,
      });
      expect(await row(claim.memoryId)).toMatchObject({ status: 'failed', error: 'upstream_error' });
      expect(await find([2, 4])).toMatchObject({ memory: digested, health: 'degraded' });
    });
  });

  describe('a digest that is kept while the conversation rests', () => {
    const kept = (end: number, base: number | null, text: string) => (memory: ConversationMemory) =>
      memory.keepDigest(request(end), base, digest(text));

    it('stays, is served, and is not built upon', async () => {
      const { clock, call, claim, claimed, fail, find, make } = conversation(evicted);
      const two = await make(2, 'two');
      await fail(await claimed(3));
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
      expect(await claim(4)).toEqual({ state: 'ready', memory });
      expect((await find([2, 4])).memory).toEqual(memory);
      expect(await claim(6, { bases: [boundary(2), boundary(4)] })).toMatchObject({ base: two });
    });

    it('gives way to what is there already', async () => {
      const { call, make } = conversation(evicted);
      const four = await make(4, 'four');
      expect(await call(kept(4, null, 'a digest'))).toEqual(four);
    });
  });

  describe('finding', () => {
    it('gives the longest that is ready', async () => {
      const { claimed, find, make } = conversation(evicted);
      await make(2, 'two');
      const four = await make(4, 'four');
      await claimed(6);
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
      const { call, claim, make } = conversation(evicted);
      const mine = await make(4, 'mine', { boundary: boundary(4, 'left') });
      const theirs = await make(6, 'theirs', { boundary: boundary(6, 'right') });
      const find = (array: string) =>
        call((memory) =>
          memory.find({
            strategyHash: 'strategy',
            boundaries: [2, 4, 6].map((end) => boundary(end, array)),
          }),
        );
      expect([(await find('left')).memory, (await find('right')).memory]).toEqual([mine, theirs]);
      const next = await claim(8, {
        boundary: boundary(8, 'left'),
        bases: [boundary(4, 'left'), boundary(6, 'left')],
      });
      expect(next).toMatchObject({ state: 'claimed', base: mine });
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

    it('gives a round none that found none, though another request was the writer', async () => {
      const { claim, claimed, complete, find } = conversation(evicted);
      const round = { hash: 'round 1', previous: null };
      await find([2], round);
      const other = await claimed(2);
      expect((await claim(2, { round })).state).toBe('busy');
      await complete(other, 'two');
      expect((await find([2], round)).memory).toBeNull();
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
    it('come back as they were set, and are replaced whole', async () => {
      const { call, overview } = conversation(evicted);
      const both = { memory_strategy: { mode: 'auto' }, memory_injection: { max_tokens: 9 } };
      await call((memory) => memory.configure(both));
      expect(await call((memory) => memory.settings())).toEqual(both);
      expect(await overview()).toMatchObject({ exists: true, settings: both });
      const one = { memory_strategy: 'compact', memory_injection: null };
      await call((memory) => memory.configure(one));
      expect(await call((memory) => memory.settings())).toEqual(one);
    });

    it('freeze the first text, even an empty one', async () => {
      const { call } = conversation(evicted);
      expect(await call((memory) => memory.injection())).toBeNull();
      expect(await call((memory) => memory.freezeInjection(''))).toBe('');
      expect(await call((memory) => memory.freezeInjection('later'))).toBe('');
      expect(await call((memory) => memory.injection())).toBe('');
    });
  });

  describe('storage', () => {
    it('is not made by looking', async () => {
      const { call, claimed, find, overview, tables } = conversation(evicted);
      await find([2], { hash: 'round 1', previous: null });
      await call((memory) => memory.settings());
      await call((memory) => memory.injection());
      await call((memory) => memory.configure({ memory_strategy: null, memory_injection: null }));
      await call((memory) => memory.settled(1, 1));
      await call((memory) => memory.retrying(1, 'lease', 'error'));
      expect(await overview()).toEqual({
        exists: false,
        settings: { memory_strategy: null, memory_injection: null },
        health: 'healthy',
        conversation_memory: null,
        memories: [],
        stats: { avg_ms: null, max_ms: null, total_summaries: 0 },
        stuck: false,
      });
      expect(await tables()).toEqual([]);
      await claimed(2);
      expect(await tables()).not.toEqual([]);
    });

    it('is gone after clearing, and no late writer brings it back', async () => {
      const { call, claimed, complete, fail, overview, tables } = conversation(evicted);
      const late = await claimed(4);
      await call((memory) => memory.freezeInjection('frozen'));
      await call((memory) => memory.clear());
      expect(await complete(late, 'late')).toBeNull();
      expect(await fail(late, 'late')).toBeNull();
      const chunk = { ...written('late'), boundary: boundary(2) };
      expect(await call((memory) => memory.advance(late.memoryId, late.lease, chunk))).toBeNull();
      expect((await overview()).exists).toBe(false);
      expect(await tables()).toEqual([]);
    });

    it('gives a late writer nothing made after clearing, though ids begin anew', async () => {
      const { call, claimed, complete, make } = conversation(evicted);
      const late = await claimed(4);
      await call((memory) => memory.clear());
      expect((await make(6, 'of other messages')).memory_id).toBe(late.memoryId);
      expect(await complete(late, 'late')).toBeNull();
    });
  });
});

describe('the overview of a conversation’s memory', () => {
  it('lists the newest first, without leases, with the sums of its measurements', async () => {
    const { claimed, complete, fail, overview } = conversation();
    await complete(await claimed(2), 'two', { ms: 10 });
    await complete(await claimed(4), 'four', { ms: 25 });
    await fail(await claimed(6));
    const { memories, stats, conversation_memory } = await overview();
    expect(memories.map(({ covers_end, status }) => `${covers_end} ${status}`)).toEqual([
      '6 failed',
      '4 completed',
      '2 completed',
    ]);
    expect(JSON.stringify(memories)).not.toContain('lease');
    expect(stats).toEqual({ avg_ms: 18, max_ms: 25, total_summaries: 2 });
    expect(conversation_memory).toBe('four');
  });
});

describe('the newest summary', () => {
  it('is the claimed one, and no chunk of it that was made in the same millisecond', async () => {
    const { call, claimed, complete, overview } = conversation();
    const claim = await claimed(8);
    const chunk = { ...written('a chunk'), boundary: boundary(4) };
    await call((memory) => memory.advance(claim.memoryId, claim.lease, chunk));
    await complete(claim, 'the whole');
    expect((await overview()).conversation_memory).toBe('the whole');
  });
});

describe('a look at many candidates', () => {
  it('reads no more than one row for each, however many are stored', async () => {
    const { call } = conversation();
    await call(async (memory, { storage }) => {
      for (let end = 0; end < 500; end++) {
        const claim = await memory.claim(request(end));
        if (claim.state === 'claimed') memory.complete(claim.memoryId, claim.lease, written(`${end}`));
      }
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const exec = (query: string, ...values: SqlStorageValue[]) => {
        const cursor = storage.sql.exec(query, ...values);
        cursors.push(cursor);
        return cursor;
      };
      const chain = new MemoryChain({ exec } as unknown as SqlStorage, {
        now: () => 0,
        newLease: () => '',
        log: () => undefined,
        ended: () => undefined,
      });
      const boundaries = Array.from({ length: 20_000 }, (_, index) => boundary(index + 1_000));
      expect(chain.find({ strategyHash: 'strategy', boundaries }).memory).toBeNull();
      const read = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
      expect(read).toBeLessThan(20_100);
    });
  });
});

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

/** Material for a summarizer that can't be reached. */
const material: RollMaterial = {
  task: {
    pieces: [{ entries: [{ index: 0, role: 'user', text: 'hi', calls: [] }], boundary: boundary(4) }],
    from: 0,
    facts: collectLedger([]),
    userTexts: [],
    limit: 64,
    includeTrajectory: true,
    retries: { attempts: 1, backoffMs: 0, longestPauseMs: 0 },
  },
  target: {
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: 'sk-a-key-of-a-caller',
    headers: {},
    model: 'gpt-4.1-mini',
    window: 100_000,
    timeoutMs: 1_000,
  },
  encoding: 'o200k_base',
  transcript: NO_TRANSCRIPT,
};

describe('a rolling memory in its object', () => {
  const rolling = { exclusive: 'conversation' } as const;

  it('writes in the background, and returns at once', async () => {
    const { call, find, overview } = conversation();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const state = await call((memory) => {
      const write = async ({ target }: RollMaterial, claim: Claimed, { boundary }: ClaimRequest) => {
        await asked;
        memory.complete(claim.memoryId, claim.lease, written(`${target.model} to ${boundary.end}`));
      };
      Reflect.set(memory, 'write', write);
      return memory.roll(request(4, rolling), material);
    });
    expect(state).toBe('claimed');
    expect((await overview()).memories[0]?.status).toBe('processing');
    expect(await call((memory) => memory.roll(request(6, rolling), material))).toBe('busy');
    await call(async (memory) => {
      ask();
      await memory.settled(1, 5_000);
    });
    expect((await find([4])).memory?.memory_text).toBe('gpt-4.1-mini to 4');
    expect(await call((memory) => memory.roll(request(4, rolling), material))).toBe('ready');
  });

  it('fails the claim when writing throws, and hides the error', async () => {
    const { call, claim, overview } = conversation();
    await call(async (memory) => {
      Reflect.set(memory, 'write', () => Promise.reject(new Error('sk-secret')));
      await memory.roll(request(4), material);
      await memory.settled(1, 1_000);
    });
    expect((await overview()).memories[0]).toMatchObject({ status: 'failed', error: 'write_failed' });
    expect((await claim(4)).state).toBe('resting');
    expect(logged().join()).not.toContain('secret');
  });

  it('stores nothing of its material', async () => {
    const { call } = conversation();
    await call(async (memory) => {
      await memory.roll(request(4), material);
      await memory.settled(1, 10_000);
    });
    const stored = await call((_, { storage }) =>
      ['memories', 'state', 'pins'].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    expect(stored.flat().length).toBeGreaterThan(0);
    expect(JSON.stringify(stored)).not.toContain('sk-a-key');
  });

  it('is callable from the Worker, by name', async () => {
    const { name } = conversation();
    const remote = conversationMemory<RollMaterial>(env, name, createLog('error'));
    expect(await remote((stub) => stub.roll(request(4), material))).toBe('claimed');
    await remote((stub) => stub.settled(1, 10_000));
    const { memories } = await remote((stub) => stub.overview());
    expect(memories[0]).toMatchObject({ status: 'failed', error: 'unreachable' });
    await remote((stub) => stub.clear());
    expect((await remote((stub) => stub.overview())).exists).toBe(false);
  });
});

describe('the log of a conversation’s object', () => {
  it('tells of a summary, its row and its window', async () => {
    const { call, make } = conversation();
    await make(14, 'first', { windowSize: 14 });
    expect(logged()).toEqual([
      'debug Memory 1 status updated to processing',
      'info Summarized messages 0-13 for the conversation in 40ms',
      'debug Memory 1 status updated to completed',
    ]);
    await make(16, 'second', { windowSize: 14, startSequence: 2, bases: [boundary(14)] });
    expect(logged()).toEqual([
      'debug Memory 2 status updated to processing',
      'info Summarized messages 2-15 for the conversation in 40ms',
      'info Sliding window: dropping seq 0-1 for the conversation',
      'debug Memory 2 status updated to completed',
    ]);
    // The window has not moved since the base.
    await make(17, 'third', { windowSize: 14, startSequence: 2, bases: [boundary(16)] });
    expect(logged().filter((line) => line.includes('Sliding'))).toEqual([]);
    await call((memory) => memory.roll(request(17), material));
    expect(logged()).toEqual(['debug No new messages to summarize for the conversation']);
  });

  it('tells of a writer that others meet, and of a failure', async () => {
    const { claim, claimed, fail } = conversation();
    const mine = await claimed(4);
    await claim(4);
    await fail(mine, 'a digest');
    expect(logged()).toEqual([
      'debug Memory 1 status updated to processing',
      'debug Summarization already in progress for the conversation',
      'warn a summary could not be made',
      'debug Memory 1 status updated to failed',
      'debug Memory 2 status updated to completed',
    ]);
  });

  it('is as detailed as the deployment wants it', async () => {
    const { name } = conversation();
    await conversationMemory(env, name, createLog('error'))((stub) => stub.claim(request(4)));
    expect(logged()).toEqual([]);
  });
});

describe.each([
  { life: 'that stays awake', evicted: false },
  { life: 'that is evicted after each call', evicted: true },
])('an object of all conversations that open alike, $life', ({ evicted }) => {
  const HOUR = 60 * MINUTE;
  const unnamed = () =>
    conversation(evicted, conversationName(`tenant${made++}`, undefined, { hash: 'opening' }));
  const opening: Boundary = { prefixHash: 'opening', end: 2, sequence: 1 };
  /** A claim of one of several arrays. Its bases are the opening and every second message. */
  const of = (array: string, end: number, changes: Partial<ClaimRequest> = {}): Partial<ClaimRequest> => ({
    boundary: boundary(end, array),
    bases: [opening, ...Array.from({ length: end / 2 - 2 }, (_, index) => boundary(2 * index + 4, array))],
    ...changes,
  });
  const rounds = (array: string, n: number) => ({ hash: `${array} ${n}`, previous: `${array} ${n - 1}` });

  it('F1: lets one conversation rest, and no other', async () => {
    const { claim, claimed, fail, call } = unnamed();
    await fail(await claimed(4, of('left', 4)));

    expect((await claim(6, of('left', 6))).state).toBe('resting');
    expect((await claim(4, of('right', 4))).state).toBe('claimed');
    const healthOf = (array: string) =>
      call((memory) => memory.find({ strategyHash: 'strategy', boundaries: [boundary(4, array)] }).health);
    expect([await healthOf('left'), await healthOf('right')]).toEqual(['degraded', 'healthy']);
  });

  it('F1: heals one conversation, and no other', async () => {
    const { claim, claimed, complete, fail } = unnamed();
    await fail(await claimed(4, of('left', 4)));
    await complete(await claimed(4, of('right', 4)), 'right');

    expect((await claim(6, of('left', 6))).state).toBe('resting');
  });

  it('F1: keeps them apart where the summary of the opening serves all', async () => {
    const { claim, claimed, complete, fail, make } = unnamed();
    const shared = await make(2, 'Both said hi.', { boundary: opening });
    const left = await claimed(4, of('left', 4));
    expect(left.base).toEqual(shared);
    await fail(left);

    expect((await claim(6, of('left', 6))).state).toBe('resting');
    const right = await claimed(4, of('right', 4));
    expect(right.base).toEqual(shared);
    expect(await complete(right, 'right')).toMatchObject({ memory_text: 'right' });
  });

  it('F1: gives each its own writer where a conversation has one', async () => {
    const { claim } = unnamed();
    const rolling = { exclusive: 'conversation' } as const;
    expect((await claim(4, of('left', 4, rolling))).state).toBe('claimed');
    expect((await claim(6, of('left', 6, rolling))).state).toBe('busy');
    expect((await claim(6, of('right', 6, rolling))).state).toBe('claimed');
  });

  it('F1: knows a rolling conversation by its rounds where its memory is that of the opening', async () => {
    const { claim, claimed, fail } = unnamed();
    const at = (array: string, n: number): Partial<ClaimRequest> => ({
      boundary: opening,
      round: rounds(array, n),
      exclusive: 'conversation',
      retryIntervalMs: HOUR,
    });
    await fail(await claimed(2, at('left', 2)));
    for (const n of [3, 4, 5]) expect((await claim(2, at('left', n))).state).toBe('resting');
    expect((await claim(2, at('right', 5))).state).toBe('claimed');
  });

  it.each([
    { of: 'what is behind the opening', claimOf: of },
    { of: 'the opening', claimOf: (): Partial<ClaimRequest> => ({ boundary: opening }) },
  ])('F1: keeps apart what begins with one question, after a memory of $of', async ({ claimOf }) => {
    const { claim, claimed, fail } = unnamed();
    const question = { hash: 'question', previous: null };
    const rolling = { exclusive: 'conversation', retryIntervalMs: HOUR } as const;
    await fail(await claimed(4, { ...claimOf('left', 4), ...rolling, round: question }));

    const second = { hash: 'right 2', previous: 'question' };
    expect((await claim(6, { ...claimOf('right', 6), ...rolling, round: second })).state).toBe('claimed');
  });

  it('F1: shows a conversation nothing of others', async () => {
    const { call, make } = unnamed();
    await make(4, 'left', of('left', 4));
    const found = await call((memory) =>
      memory.find({
        strategyHash: 'strategy',
        boundaries: [opening, boundary(4, 'right')],
        round: rounds('right', 2),
      }),
    );
    expect(found).toMatchObject({ memory: null, health: 'healthy', known: false });
  });

  it('F1: reads and continues the rows of an earlier version', async () => {
    const { call, claimed, find } = unnamed();
    await call((memory, { storage }) => {
      storage.sql.exec(TABLES_OF_VERSION_1);
      storage.sql.exec("INSERT INTO state VALUES ('schema_version', '1')");
      storage.sql.exec(`INSERT INTO memories (prefix_hash, strategy_hash, start_sequence, end_sequence, covers_end,
        status, memory_text, model, conversation, lease_ms, retry_interval_ms, created_at, completed_at)
        VALUES ('array:4', 'strategy', 0, 3, 4, 'completed', 'four', 'a-model', 'c', 1, 1, 1, 1)`);
      storage.sql.exec(
        "INSERT INTO pins (round_hash, strategy_hash, memory_id) VALUES ('round 1', 'strategy', 1)",
      );
      // Only its constructor was called.
      return memory.find({ strategyHash: 'strategy', boundaries: [] });
    });
    expect(await find([4])).toMatchObject({ memory: { memory_text: 'four' } });
    expect(await find([4], { hash: 'round 1', previous: null })).toMatchObject({
      memory: { memory_text: 'four' },
    });
    expect((await claimed(6, of('array', 6))).base).toMatchObject({ memory_text: 'four' });
  });
});

const TABLES_OF_VERSION_1 = `
  CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE memories (
    memory_id INTEGER PRIMARY KEY AUTOINCREMENT, base_memory_id INTEGER, prefix_hash TEXT NOT NULL,
    strategy_hash TEXT NOT NULL, start_sequence INTEGER NOT NULL, end_sequence INTEGER NOT NULL,
    base_end_seq INTEGER, window_size INTEGER, covers_end INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
    memory_text TEXT, ref TEXT, transcript_from TEXT NOT NULL DEFAULT '', transcript_earlier TEXT, tokens INTEGER,
    model TEXT, attempts INTEGER NOT NULL DEFAULT 1, error TEXT, conversation TEXT NOT NULL, lease TEXT,
    lease_ms INTEGER NOT NULL, lease_until INTEGER NOT NULL DEFAULT 0, retry_interval_ms INTEGER NOT NULL,
    created_at INTEGER NOT NULL, completed_at INTEGER, generation_time_ms INTEGER
  );
  CREATE INDEX memories_by_prefix ON memories (prefix_hash, strategy_hash, status);
  CREATE INDEX memories_by_strategy ON memories (strategy_hash, status);
  CREATE TABLE pins (
    pin_id INTEGER PRIMARY KEY, round_hash TEXT NOT NULL, strategy_hash TEXT NOT NULL, memory_id INTEGER,
    digest_hash TEXT, UNIQUE (round_hash, strategy_hash)
  );
`;

describe('the rows of conversations that open alike', () => {
  const unnamed = () =>
    conversation(false, conversationName(`tenant${made++}`, undefined, { hash: 'opening' }));
  const count = (storage: DurableObjectStorage, query: string) =>
    storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${query}`).one().n;

  it('F1: is at most 500 memories and 500 pins of each, whatever the others have', async () => {
    const { call, make, find } = unnamed();
    const mine = await make(4, 'mine', { round: { hash: 'mine 1', previous: 'mine 0' } });
    await find([4], { hash: 'mine 2', previous: 'mine 1' });
    await call(async (memory, { storage }) => {
      for (let end = 4; end < 560; end++) {
        const bases = [boundary(end - 1, 'theirs')];
        const round = { hash: `theirs ${end}`, previous: `theirs ${end - 1}` };
        const claim = await memory.claim(request(end, { boundary: boundary(end, 'theirs'), bases, round }));
        if (claim.state === 'claimed') memory.complete(claim.memoryId, claim.lease, written(`${end}`));
      }
      expect(count(storage, 'memories')).toBe(501);
      expect(count(storage, 'pins')).toBe(502);
    });
    expect((await find([4])).memory).toEqual(mine);
    expect(await find([4], { hash: 'mine 3', previous: 'mine 2' })).toMatchObject({ moved: false });
  });

  it('F1: is at most 1000 conversations, those that were used least lately go', async () => {
    const { call, clock } = unnamed();
    await call(async (memory, { storage }) => {
      const make = async (array: string): Promise<void> => {
        const claim = await memory.claim(request(4, { boundary: boundary(4, array) }));
        if (claim.state === 'claimed') memory.complete(claim.memoryId, claim.lease, written(array));
      };
      for (let n = 0; n < 1_000; n++) await make(`array ${n}`);
      clock.now += 61 * MINUTE;
      await make('array 0');
      await make('array 1000');
      const kept = (array: string) =>
        memory.find({ strategyHash: 'strategy', boundaries: [boundary(4, array)] }).memory?.memory_text;
      expect([kept('array 0'), kept('array 1'), kept('array 2'), kept('array 1000')]).toEqual([
        'array 0',
        undefined,
        'array 2',
        'array 1000',
      ]);
      expect(count(storage, 'memories')).toBe(1_000);
      expect(count(storage, 'lineages')).toBe(1_000);
    });
  });
});
