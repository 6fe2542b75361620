import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import type { Claimed, ClaimRequest } from '../../../src/storage/conversation/memories.ts';
import { logNameOf } from '../../../src/storage/conversation/names.ts';
import { conversationMemory } from '../../../src/storage/objects.ts';
import type { RollMaterial } from '../../../src/summary/conversation.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';
import { collectLedger } from '../../../src/summary/text/ledger.ts';
import { boundary, conversation, MINUTE, recordLog, request, written } from './conversation-object.ts';

const logged = recordLog();

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
    expect(await call((memory) => memory.roll(request(4, rolling), material))).toBe('busy');
    await call(async (memory) => {
      ask();
      await memory.settled(1, 5_000);
    });
    expect((await find([4])).memory?.memory_text).toBe('gpt-4.1-mini to 4');
    expect(await call((memory) => memory.roll(request(4, rolling), material))).toBe('ready');
  });

  /** Orders to each of these ends, while the first is held until `ask` is called. */
  async function ordered(
    { call }: ReturnType<typeof conversation>,
    orders: readonly (readonly [end: number, array?: string])[],
    failing: ReadonlySet<number> = new Set(),
  ) {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const tries = new Set<number>();
    const states = await call(async (memory) => {
      const write = async (_: RollMaterial, claim: Claimed, { boundary: at }: ClaimRequest) => {
        await asked;
        const { memoryId, lease, base } = claim;
        const isFirst = !tries.has(at.end);
        tries.add(at.end);
        if (isFirst && failing.has(at.end)) memory.fail(memoryId, lease, { error: 'timeout' });
        else memory.complete(memoryId, lease, written(`${base?.covers_end ?? 0} to ${at.prefixHash}`));
      };
      Reflect.set(memory, 'write', write);
      const rolled = orders.map(([end, array = 'array']) => {
        const bases = [4, 6].filter((at) => at < end).map((at) => boundary(at, array));
        const changes = { ...rolling, bases, boundary: boundary(end, array), retryIntervalMs: 500 };
        return memory.roll(request(end, changes), material);
      });
      return Promise.all(rolled);
    });
    const idle = () =>
      call(async (memory) => {
        ask();
        return memory.idle(10_000);
      });
    return { states, idle };
  }

  const texts = async ({ overview }: ReturnType<typeof conversation>) =>
    (await overview()).memories.map(({ memory_text }) => memory_text).reverse();

  it.each([
    ['in order', [4, 6, 8]],
    ['out of order', [4, 8, 6]],
  ])(
    'writes after the one in the making what covers most of those ordered meanwhile, %s',
    async (_, ends) => {
      const made = conversation();
      const { states, idle } = await ordered(
        made,
        ends.map((end) => [end]),
      );
      expect(states).toEqual(['claimed', 'deferred', 'deferred']);
      expect(await made.call((memory) => memory.idle(10))).toBe(false);

      expect(await idle()).toBe(true);
      expect(await texts(made)).toEqual(['0 to array:4', '4 to array:8']);
    },
  );

  it('writes those of each conversation with the same opening', async () => {
    const made = conversation(false, `tenant:ann:#${'0'.repeat(64)}`);
    const { idle } = await ordered(made, [
      [4, 'left'],
      [4, 'right'],
      [6, 'left'],
      [6, 'right'],
    ]);

    expect(await idle()).toBe(true);
    expect((await texts(made)).sort()).toEqual([
      '0 to left:4',
      '0 to right:4',
      '4 to left:6',
      '4 to right:6',
    ]);
  });

  it('writes what waits once the rest after a failure is over', async () => {
    const made = conversation();
    const { idle } = await ordered(made, [[4], [6]], new Set([4]));
    setTimeout(() => {
      made.clock.now += MINUTE;
    }, 100);

    expect(await idle()).toBe(true);
    expect(await texts(made)).toEqual([null, '0 to array:6']);
  });

  it('forgets what waits when all is deleted', async () => {
    const { call, tables } = conversation();
    await call(async (memory) => {
      Reflect.set(memory, 'write', () => new Promise(() => undefined));
      await memory.roll(request(4, rolling), material);
      await memory.roll(request(6, rolling), material);
      await memory.clear();
      await memory.idle(50);
    });
    expect(await tables()).toEqual([]);
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
    const { call, make, name } = conversation();
    const logName = logNameOf(name);
    await make(14, 'first', { windowSize: 14 });
    expect(logged()).toEqual([
      'debug Memory 1 status updated to processing',
      `info Summarized messages 0-13 for ${logName} in 40ms`,
      'debug Memory 1 status updated to completed',
    ]);
    await make(16, 'second', { windowSize: 14, startSequence: 2, bases: [boundary(14)] });
    expect(logged()).toEqual([
      'debug Memory 2 status updated to processing',
      `info Summarized messages 2-15 for ${logName} in 40ms`,
      `info Sliding window: dropping seq 0-1 for ${logName}`,
      'debug Memory 2 status updated to completed',
    ]);
    // The window has not moved since the base.
    await make(17, 'third', { windowSize: 14, startSequence: 2, bases: [boundary(16)] });
    expect(logged().filter((line) => line.includes('Sliding'))).toEqual([]);
    await call((memory) => memory.roll(request(17), material));
    expect(logged()).toEqual([`debug No new messages to summarize for ${logName}`]);
  });

  it('tells of a writer that others meet, and of a failure', async () => {
    const { claim, claimed, fail, name } = conversation();
    const logName = logNameOf(name);
    const mine = await claimed(4);
    await claim(4);
    await fail(mine, 'a digest');
    expect(logged()).toEqual([
      'debug Memory 1 status updated to processing',
      `debug Summarization already in progress for ${logName}`,
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
