import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import type { Failure, Memory } from '../../../src/storage/conversation/memories.ts';
import { logNameOf } from '../../../src/storage/conversation/names.ts';
import { conversationMemory } from '../../../src/storage/objects.ts';
import type { TextMaterial } from '../../../src/summary/conversation.ts';
import { NO_TRANSCRIPT } from '../../../src/summary/kept-transcript.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { collectLedger } from '../../../src/summary/text/ledger.ts';
import { remoteConversation } from '../support.ts';
import {
  boundary,
  conversation,
  MINUTE,
  made as madeOf,
  recordLog,
  request,
  writing,
  written,
} from './conversation-object.ts';

const logged = recordLog();

/** Material for a summarizer that can't be reached. */
const material: TextMaterial = {
  of: 'version',
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

  it('is made in the background, and asked for at once', async () => {
    const { begin, call, find, overview } = conversation();
    const { complete } = await begin(4, rolling);
    expect((await overview()).memories[0]?.status).toBe('processing');
    const again = () => call((memory) => memory.text(request(4, rolling), madeOf('anew'), 0));
    expect((await again()).state).toBe('pending');
    await complete('made once');
    expect((await find([4])).memory?.memory_text).toBe('made once');
    expect((await again()).state).toBe('ready');
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
      const rolled = orders.map(([end, array = 'array']) => {
        const at = boundary(end, array);
        const write = async (base: Memory | null) => {
          await asked;
          const isFirst = !tries.has(end);
          tries.add(end);
          const reason: Failure = { error: 'timeout' };
          const value = written(`${base?.covers_end ?? 0} to ${at.prefixHash}`);
          const isFailing = isFirst && failing.has(end);
          return {
            made: isFailing ? ({ ok: false, reason } as const) : ({ ok: true, value } as const),
            usage: NO_USAGE,
          };
        };
        const bases = [4, 6].filter((each) => each < end).map((each) => boundary(each, array));
        const changes = { ...rolling, bases, boundary: at, retryIntervalMs: 500 };
        return memory.text(request(end, changes), writing(write), 0);
      });
      return (await Promise.all(rolled)).map(({ state }) => state);
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
      expect(states).toEqual(['pending', 'pending', 'pending']);
      expect(await made.call((memory) => memory.idle(10))).toBe(false);

      expect(await idle()).toBe(true);
      expect(await texts(made)).toEqual(['0 to array:4', '4 to array:8']);
    },
  );

  it('writes the memories of each conversation with the same opening', async () => {
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
      const never = writing(() => new Promise(() => undefined));
      await memory.text(request(4, rolling), never, 0);
      await memory.text(request(6, rolling), never, 0);
      await memory.clear();
      await memory.idle(50);
    });
    expect(await tables()).toEqual([]);
  });
});

/** The object as it is, with a summarizer that can't be reached. */
describe('a text in its object', () => {
  it('leaves nothing of its material in storage or in the log', async () => {
    const { call, name } = conversation();
    await remoteConversation(name)((stub) => stub.text(request(4), material, 10_000));
    const stored = await call((_, { storage }) =>
      ['memories', 'state', 'pins'].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    expect(stored.flat().length).toBeGreaterThan(0);
    expect(JSON.stringify(stored)).not.toContain('sk-a-key');
    expect(logged().join()).not.toContain('sk-a-key');
  });

  it('is made for the Worker, by name', async () => {
    const { name } = conversation();
    const remote = remoteConversation(name);
    expect(await remote((stub) => stub.text(request(4), material, 10_000))).toMatchObject({
      state: 'resting',
      base: null,
    });
    const { memories } = await remote((stub) => stub.versions.overview());
    expect(memories[0]).toMatchObject({ status: 'failed', error: 'unreachable' });
    await remote((stub) => stub.clear());
    expect((await remote((stub) => stub.versions.overview())).exists).toBe(false);
  });
});

describe('the log of a conversation’s object', () => {
  it('reports a summary, its row and its window', async () => {
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
    await call((memory) => memory.text(request(17), material, 0));
    expect(logged()).toEqual([`debug No new messages to summarize for ${logName}`]);
  });

  it('reports a writer that others meet, and a failure', async () => {
    const { ask, begin, name } = conversation();
    const { fail } = await begin(4);
    await ask(4);
    logged();
    await fail({ cause: 'TypeError' });
    expect(logged()).toEqual([
      `debug Summarization already in progress for ${logNameOf(name)}`,
      'warn a summary could not be made',
      'debug Memory 1 status updated to failed',
    ]);
  });

  it('hides the error of a writer that throws', async () => {
    const { call } = conversation();
    const broken = writing(() => Promise.reject(new Error('sk-secret')));
    await call((memory) => memory.text(request(4), broken, 10_000));
    expect(logged().join()).not.toContain('secret');
  });

  it('is as detailed as the deployment wants it', async () => {
    const { name } = conversation();
    await conversationMemory<TextMaterial>(
      env,
      name,
      createLog('error'),
    )((stub) => stub.text(request(4, { from: 2 }), material, 0));
    expect(logged()).toEqual([]);
  });
});
