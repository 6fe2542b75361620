import { describe, expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
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
        window_size: 2,
        covers_end: 4,
        status: 'completed',
        memory_text: 'a summary',
        signed: null,
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
      await tried((memory) => memory.freezeInjection({ text: long, sources: [] }, null));
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
});
