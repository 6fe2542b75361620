/** The verdicts on digests of outputs in a conversation's object: who writes, and what stays. */
import { evictDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { DigestsRequest } from '../../../src/storage/conversation/output-digests.ts';
import { conversation, MINUTE, recordLog } from './conversation-object.ts';

recordLog();

const text = (key: string, words: string | null) => ({ key, text: words });

/** An object, and the calls of its digests. */
function digests(evicted: boolean) {
  const own = conversation(evicted);
  const claim = async (lease: string, isNew = true, ...keys: string[]) => {
    const asked = keys.length > 0 ? keys : ['one'];
    const request: DigestsRequest = {
      digests: asked.map((key) => ({ key, isNew })),
      lease,
      leaseMs: MINUTE,
    };
    return own.call((memory) => memory.claimDigests(request));
  };
  const settle = (words: string | null, restMs = 0, key = 'one') =>
    own.call((memory) => memory.settleDigests([text(key, words)], restMs));
  const find = (...keys: string[]) => own.call((memory) => memory.findDigests(keys));
  return { ...own, claim, settle, find };
}

describe.each([
  ['awake', false],
  ['evicted after each call', true],
])('an object that is %s', (_, evicted) => {
  it('makes one caller the writer of each digest, also if its answer was lost', async () => {
    const { claim } = digests(evicted);

    expect(await claim('a', true, 'one', 'two')).toEqual([{ state: 'claimed' }, { state: 'claimed' }]);
    expect(await claim('b', true, 'two', 'three')).toEqual([{ state: 'busy' }, { state: 'claimed' }]);
    expect(await claim('a', true, 'one', 'three')).toEqual([{ state: 'claimed' }, { state: 'busy' }]);
  });

  it('keeps the first verdict', async () => {
    const { claim, settle, find } = digests(evicted);
    await claim('a', true, 'one', 'two');

    expect(await settle('first')).toEqual([text('one', 'first')]);
    expect(await settle('second')).toEqual([text('one', 'first')]);
    expect(await settle(null)).toEqual([text('one', 'first')]);
    expect(await settle(null, 0, 'two')).toEqual([text('two', null)]);
    expect(await settle('late', 0, 'two')).toEqual([text('two', null)]);
    expect(await claim('b', true, 'one', 'two')).toEqual([
      { state: 'ready', text: 'first' },
      { state: 'ready', text: null },
    ]);
    expect(await find('one', 'two', 'three')).toEqual([text('one', 'first'), text('two', null), null]);
  });

  it('has another caller take over a digest whose writer is lost', async () => {
    const { claim, clock } = digests(evicted);
    await claim('a');
    clock.now += MINUTE - 1;
    const early = await claim('b');
    clock.now += 1;

    expect(early).toEqual([{ state: 'busy' }]);
    expect(await claim('b')).toEqual([{ state: 'claimed' }]);
    expect(await claim('c')).toEqual([{ state: 'busy' }]);
  });

  it('lets the preview stand where an output was shown before, unless a writer is at work', async () => {
    const { claim, clock } = digests(evicted);
    await claim('a', true, 'two');

    expect(await claim('b', false, 'one', 'two')).toEqual([
      { state: 'ready', text: null },
      { state: 'busy' },
    ]);
    expect(await claim('b', true, 'one')).toEqual([{ state: 'ready', text: null }]);
    clock.now += MINUTE;
    expect(await claim('b', false, 'two')).toEqual([{ state: 'ready', text: null }]);
  });

  it('lets previews stand for a while after an outage, and keeps those', async () => {
    const { claim, settle, clock } = digests(evicted);
    await claim('a');
    await settle(null, MINUTE);
    clock.now += MINUTE - 1;
    const rested = await claim('a', true, 'two');
    clock.now += 1;

    expect(rested).toEqual([{ state: 'resting' }]);
    expect(await claim('a', true, 'two', 'three')).toEqual([
      { state: 'ready', text: null },
      { state: 'claimed' },
    ]);
  });

  it('rests twice as long after another outage in a row, however many digests failed in one', async () => {
    const { claim, settle, clock } = digests(evicted);
    const isFree = async (key: string) => (await claim('a', true, key))[0]?.state === 'claimed';
    const outage = async (...keys: string[]) => {
      await claim('a', true, ...keys);
      for (const key of keys) await settle(null, MINUTE, key);
    };
    await outage('one', 'two', 'three');
    clock.now += MINUTE;
    await outage('four');
    clock.now += 2 * MINUTE - 1;
    const rested = await isFree('five');
    clock.now += 1;

    expect([rested, await isFree('six')]).toEqual([false, true]);
    await settle('words', 0, 'six');
    await outage('seven');
    clock.now += MINUTE;
    expect(await isFree('eight')).toBe(true);
  });

  it('makes nothing anew after a deletion', async () => {
    const { claim, settle, find, call, tables } = digests(evicted);
    await claim('a');
    await call((memory) => memory.leave());

    expect(await settle('late')).toEqual([text('one', null)]);
    await call((memory) => memory.settled('one', 0));
    expect(await find('one')).toEqual([null]);
    expect(await tables()).toEqual([]);
  });

  it('keeps its digests where a claim of a summary is given up', async () => {
    const { claim, settle, find, claimed, call } = digests(evicted);
    const { memoryId, lease } = await claimed(4);
    await claim('a');
    await settle('words');
    await call((memory) => memory.abandon(memoryId, lease));

    expect(await find('one')).toEqual([text('one', 'words')]);
  });

  it('stores nothing when it is asked for what it does not have', async () => {
    const { find, tables } = digests(evicted);

    expect(await find('one')).toEqual([null]);
    expect(await tables()).toEqual([]);
  });
});

describe('a caller that waits for a digest', () => {
  it('gets it once it is settled', async () => {
    const { claim, call, settle } = digests(false);
    await claim('a');
    const waiting = call((memory) => memory.settled('one', MINUTE));
    await settle('words');
    await waiting;
    await call((memory) => memory.settled('one', MINUTE));

    expect(await settle(null)).toEqual([text('one', 'words')]);
  });

  it('lets the preview stand when its time is over, for the writer too', async () => {
    const { claim, call, settle } = digests(false);
    await claim('a');

    await call((memory) => memory.settled('one', 1));
    expect(await settle(null)).toEqual([text('one', null)]);
    expect(await settle('late')).toEqual([text('one', null)]);
  });
});

describe('an object that was stripped to its settings', () => {
  it('has no digests left', async () => {
    const { name, claim, settle, find, call } = digests(false);
    await call((memory) => memory.configure({ memory_strategy: 'auto' }));
    await claim('a');
    await settle('words');
    await call((memory) => memory.leave(Number.MAX_SAFE_INTEGER));
    await evictDurableObject(env.CONVERSATION_MEMORY.getByName(name));

    expect(await find('one')).toEqual([null]);
    expect(await call((memory) => memory.settings())).toMatchObject({ memory_strategy: 'auto' });
  });
});

describe('a digest that is waited for', () => {
  it('is written on while a memory is put in', async () => {
    const { claim, settle, find, call } = digests(false);
    await claim('a');
    let ended = false;
    const waiting = call((memory) => memory.settled('one', 30_000)).then(() => {
      ended = true;
    });
    await call((memory) =>
      memory.restore({
        conversation: 'c',
        settings: { memory_strategy: null, memory_injection: null },
        health: 'healthy',
        memories: [],
        rounds: [],
      }),
    );
    await find('one');
    expect(ended).toBe(false);
    await settle('words');
    await waiting;

    expect(await find('one')).toEqual([text('one', 'words')]);
  });
});
