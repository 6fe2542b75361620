/** The versions that a conversation's object makes: each once, whoever asks, whatever happens. */
import { describe, expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import type { WrittenText } from '../../../src/storage/conversation/memories.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import {
  boundary,
  conversation,
  digest,
  LATER,
  MINUTE,
  made as madeOf,
  recordLog,
  request,
  writing,
  written,
} from './conversation-object.ts';

const logged = recordLog();

describe.each([
  { life: 'an object that stays awake', evicted: false },
  { life: 'an object that is evicted after each call', evicted: true },
])('a version that is asked for, in $life', ({ evicted }) => {
  it('is answered with the one that is ready', async () => {
    const { ask, make } = conversation(evicted);
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
    expect(await ask(4)).toEqual({ state: 'ready', memory, usage: null });
    expect((await ask(4, { strategyHash: 'another' })).state).toBe('wanted');
  });

  it('is wanted where nobody makes it, and leaves no trace', async () => {
    const { ask, tables } = conversation(evicted);
    expect(await ask(4, { bases: [boundary(2)] })).toEqual({
      state: 'wanted',
      base: null,
      health: 'healthy',
    });
    expect(await tables()).toEqual([]);
  });

  it('is built upon the longest of its bases, whatever their order', async () => {
    const { ask, make, row } = conversation(evicted);
    await make(2, 'two');
    const four = await make(4, 'four');
    await make(6, 'six', { boundary: boundary(6, 'a fork') });
    const bases = [boundary(6), boundary(4), boundary(2)];
    expect(await ask(8, { bases })).toMatchObject({ state: 'wanted', base: four });
    const { memory_id } = await make(8, 'eight', { bases });
    expect(await row(memory_id)).toMatchObject({ base_memory_id: four.memory_id, base_end_seq: 3 });
  });

  it('starts over when it names no bases', async () => {
    const { ask, make } = conversation(evicted);
    await make(4, 'four');
    expect(await ask(8)).toMatchObject({ state: 'wanted', base: null });
  });

  it('is never built upon a digest, though the digest replaces its own boundary', async () => {
    const { call, ask, make } = conversation(evicted);
    await make(2, 'two');
    const digested = await call((memory) => memory.versions.keepDigest(request(4), null, digest('a digest')));
    expect(await ask(4)).toEqual({ state: 'ready', memory: digested, usage: null });
    const { base } = { base: null, ...(await ask(6, { bases: [boundary(2), boundary(4)] })) };
    expect(base).toMatchObject({ memory_text: 'two' });
  });

  it('finds its base among 5000 hashes', async () => {
    const { ask, make } = conversation(evicted);
    await make(10, 'a short one');
    const longest = await make(2_500, 'a long one');
    const bases = Array.from({ length: 5_000 }, (_, index) => boundary(index));
    expect(await ask(6_000, { bases })).toMatchObject({ base: longest });
  });

  it('counts messages as the asking array does, whose preamble may have grown', async () => {
    const { ask, make } = conversation(evicted);
    await make(4, 'four');
    expect(await ask(8, { bases: [{ ...boundary(4), end: 5 }] })).toMatchObject({ base: { covers_end: 5 } });
  });

  it('is not made without the base that its material begins after, and leaves no row', async () => {
    const { order, make, tables } = conversation(evicted);
    const made = { ok: true, value: written('late') } as const;
    expect(await order(8, made, { bases: [boundary(4)], from: 4 })).toEqual({ state: 'gone' });
    expect(await tables()).toEqual([]);
    await make(4, 'four');
    expect((await order(8, made, { bases: [boundary(4)], from: 4 })).state).toBe('ready');
    expect((await order(9, made, { bases: [boundary(4)], from: 5 })).state).toBe('gone');
  });

  it('learns what it has cost where it was made for this order, also if that asks again', async () => {
    const { call, ask } = conversation();
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const material = writing(async () => ({
      made: { ok: true, value: written('text') },
      usage,
      window: 900,
    }));
    const mine = { order: 'mine' };
    const own = await call((memory) => memory.text(request(4, mine), material, 10_000));
    expect(own).toMatchObject({ state: 'ready', usage, window: 900 });
    expect(await ask(4, mine)).toMatchObject({ state: 'ready', usage });
    expect(await ask(4)).toMatchObject({ state: 'ready', usage: null });
  });

  it('can’t be a text that is too long for a row', async () => {
    const { call, order, row } = conversation(evicted);
    const long = 'ü'.repeat(500_001);
    expect((await order(4, { ok: true, value: written(long) }, { retryIntervalMs: 0 })).state).toBe(
      'resting',
    );
    expect(await row(1)).toMatchObject({ status: 'failed', error: 'write_failed', memory_text: null });
    const tried = (use: (memory: ConversationMemory) => unknown) =>
      call(async (memory) => {
        await expect((async () => use(memory))()).rejects.toThrow(RangeError);
      });
    await tried((memory) => memory.versions.keepDigest(request(6), null, digest(long)));
    await tried((memory) => memory.state.configure({ memory_strategy: long, memory_injection: null }));
    await tried((memory) => memory.state.freezeInjection({ text: long, sources: [] }, null));
    const other = conversation(evicted);
    expect((await other.make(4, 'ü'.repeat(500_000))).status).toBe('completed');
  });

  it('has only codes kept of its errors', async () => {
    const { fail, row } = conversation(evicted);
    await fail(4, {}, 'Error: the user said “secret”');
    expect((await row(1))?.error).toBe('unknown');
  });
});

describe('a version in the making', () => {
  it('is made once: others wait for it, and all are answered alike', async () => {
    const { call, begin } = conversation();
    const begun = await begin(4);
    const second = writing(() => Promise.reject(new Error('it is made twice')));
    const waiting = call((memory) =>
      Promise.all([
        memory.text(request(4), null, 10_000),
        memory.text(request(4), second, 10_000),
        memory.text(request(4), null, 0),
      ]),
    );
    const own = await begun.complete('made once');
    const [one, two, late] = await waiting;
    expect(own).toMatchObject({ state: 'ready', memory: { memory_text: 'made once', attempts: 1 } });
    expect([one, two]).toEqual([own, own]);
    expect(late).toEqual({ state: 'pending', base: null });
  });

  it('is left to itself by those whose time is over', async () => {
    const { ask, begin } = conversation();
    const { complete } = await begin(4);
    expect(await ask(4, {}, 10)).toEqual({ state: 'pending', base: null });
    expect((await complete('later')).state).toBe('ready');
  });

  it('is in the way of no other boundary, unless the conversation makes one at a time', async () => {
    const { ask, begin } = conversation();
    await begin(4);
    expect((await ask(6)).state).toBe('wanted');
    const rolling = { exclusive: 'conversation' } as const;
    expect(await ask(6, rolling)).toEqual({ state: 'pending', base: null });
    expect((await ask(6, { ...rolling, strategyHash: 'another' })).state).toBe('wanted');
  });

  it('counts its retries', async () => {
    const { begin, health, row } = conversation();
    const { act, complete } = await begin(4);
    await act(({ retrying }) => retrying('upstream_timeout'));
    expect(await health()).toBe('retry');
    expect(await row(1)).toMatchObject({ attempts: 2, error: 'upstream_timeout' });
    expect(await complete('at last')).toMatchObject({ memory: { attempts: 2, error: null } });
    expect(await health()).toBe('healthy');
  });

  it('keeps the chunks of a long prefix as versions of their own', async () => {
    const { begin, find, overview } = conversation();
    const { act, complete } = await begin(8, { bases: [boundary(2)] });
    const advance = (end: number) =>
      act((progress) => progress.advance({ ...written(`up to ${end}`), boundary: boundary(end) }));
    await advance(4);
    const four = (await find([2, 4, 6, 8])).memory;
    await advance(6);
    const six = (await find([2, 4, 6, 8])).memory;
    expect(four).toMatchObject({ base_memory_id: null, covers_end: 4, end_sequence: 3, status: 'completed' });
    expect(six).toMatchObject({ base_memory_id: four?.memory_id, base_end_seq: 3, memory_text: 'up to 6' });
    expect(await complete('up to 8')).toMatchObject({
      memory: { base_memory_id: six?.memory_id, base_end_seq: 5 },
    });
    expect((await overview()).conversation_memory).toBe('up to 8');
  });

  it('names for a chunk of a rolling window the window that it had itself', async () => {
    const { begin, overview } = conversation();
    const { act } = await begin(60, { startSequence: 46, windowSize: 14 });
    await act(({ advance }) => advance({ ...written('a part'), boundary: boundary(20) }));
    const [part] = (await overview()).memories;
    expect(part).toMatchObject({ start_sequence: 6, end_sequence: 19 });
  });

  it('passes a boundary that has its version already, and leaves that as it is', async () => {
    const { begin, make, find, overview } = conversation();
    const four = await make(4, 'the first');
    const { act } = await begin(8);
    await act(({ advance }) => advance({ ...written('the second'), boundary: boundary(4) }));
    expect((await find([4])).memory).toEqual(four);
    expect((await overview()).memories).toHaveLength(2);
  });

  it('does not come before a version that a longer one has put at its boundary meanwhile', async () => {
    const { ask, begin, find, row } = conversation();
    const slow = await begin(4);
    const { act } = await begin(8);
    await act(({ advance }) => advance({ ...written('in use'), boundary: boundary(4) }));
    const { memory } = await find([4]);
    expect(await slow.complete('too late')).toMatchObject({ state: 'ready', memory });
    expect(await row(1)).toMatchObject({ status: 'failed', error: 'superseded' });
    expect(await ask(4)).toMatchObject({ memory });
  });

  it('leaves a digest that was used while it was late, and is the base of the next one', async () => {
    const { call, ask, begin } = conversation();
    const late = await begin(4);
    const kept = await call((memory) => memory.versions.keepDigest(request(4), null, digest('a digest')));
    expect(await late.complete('a summary')).toMatchObject({ memory: kept });
    expect(await ask(4)).toMatchObject({ state: 'ready', memory: { memory_text: 'a digest' } });
    const next = await begin(6, { bases: [boundary(4)] });
    expect(next.base).toMatchObject({ memory_text: 'a summary', model: 'a-model' });
  });

  it('has failed once for all who wait, as a digest is used that has come meanwhile', async () => {
    const { ask, begin, health } = conversation();
    const first = await begin(4);
    const [waiting, failed] = await Promise.all([ask(4, {}, 10_000), first.fail()]);
    expect(failed).toEqual({ state: 'resting', base: null, usage: null });
    expect(waiting).toEqual(failed);
    expect(await health()).toBe('degraded');
    const other = conversation();
    const second = await other.begin(4);
    const kept = await other.call((memory) =>
      memory.versions.keepDigest(request(4), null, digest('a digest')),
    );
    expect(await second.fail()).toMatchObject({ state: 'ready', memory: kept });
  });

  it('fails when writing throws, and others may begin anew', async () => {
    const { call, ask, row, clock } = conversation();
    const broken = writing(() => Promise.reject(new Error('sk-secret')));
    expect((await call((memory) => memory.text(request(4), broken, 10_000))).state).toBe('resting');
    expect(await row(1)).toMatchObject({ status: 'failed', error: 'write_failed' });
    clock.now += MINUTE;
    expect((await ask(4)).state).toBe('wanted');
  });
});

describe('the materials of versions in the making', () => {
  const large = (write: Parameters<typeof writing>[0]) =>
    Object.assign(writing(write), { words: ['x'.repeat(9 * 1024 * 1024)] });
  const rolling = { exclusive: 'conversation' } as const;

  it.each([{}, rolling])('are bounded together: with %o one more is left to a later request', async (as) => {
    const { call, make, overview } = conversation();
    const first = Promise.withResolvers<WrittenText>();
    const never = large(() => Promise.reject(new Error('it was ordered')));
    const states = await call(async (memory) => [
      await memory.text(
        request(4, as),
        large(() => first.promise),
        0,
      ),
      await memory.text(request(6, as), never, 0),
    ]);
    expect(states.map(({ state }) => state)).toEqual(['pending', 'pending']);
    expect((await overview()).memories).toHaveLength(1);
    expect(logged()).toContain('warn a summary was not ordered: too much is in the making');

    await call(async (memory) => {
      first.resolve({ made: { ok: true, value: written('four') }, usage: NO_USAGE });
      await memory.idle(10_000);
    });
    expect((await overview()).memories.map(({ memory_text }) => memory_text)).toEqual(['four']);
    expect((await make(6, 'six', as)).memory_text).toBe('six');
  });

  it('that wait count, too', async () => {
    const { call, overview } = conversation();
    const never = () => new Promise<never>(() => undefined);
    await call(async (memory) => {
      await memory.text(request(4, rolling), Object.assign(writing(never), { words: ['x'] }), 0);
      await memory.text(request(6, rolling), large(never), 0);
      await memory.text(request(6), large(never), 0);
    });
    expect((await overview()).memories).toHaveLength(1);
  });

  it('are bounded for digests of outputs, whose previews stay', async () => {
    const { call } = conversation();
    const material = large(async () => ({ made: { ok: true, value: written('a digest') }, usage: NO_USAGE }));
    const orders = ['one', 'two'].map((key) => ({ key, material }));
    const answers = await call((memory) => memory.outputDigests.make(orders, 10_000, LATER));
    expect(answers).toMatchObject([
      { text: 'a digest', isDegraded: false },
      { text: null, isDegraded: true },
    ]);
  });
});

/** What ends all versions in the making of an object: each brings those who wait to an end. */
describe.each<[string, (memory: ConversationMemory) => Promise<unknown>]>([
  ['is deleted', (memory: ConversationMemory) => memory.clear()],
  ['is left', (memory: ConversationMemory) => memory.leave()],
  [
    'has another memory put in',
    (memory: ConversationMemory) =>
      memory.restore({
        conversation: 'c',
        settings: { memory_strategy: null, memory_injection: null },
        memory: null,
      }),
  ],
])('a version in the making of a conversation that %s', (_, end) => {
  it('is dropped: those who wait learn it, and nothing of it is stored late', async () => {
    const { call, ask, begin, overview } = conversation();
    const { act, complete } = await begin(4);
    const [waiting] = await Promise.all([ask(4, {}, 10_000), call(end)]);
    expect(waiting).toEqual({ state: 'gone' });
    expect(await act(({ goesOn }) => goesOn())).toBe(false);
    await act(({ retrying }) => retrying('timeout'));
    await act(({ advance }) => advance({ ...written('late'), boundary: boundary(2) }));
    expect(await complete('late')).toMatchObject({ state: 'wanted' });
    expect((await overview()).memories).toEqual([]);
  });

  it('gives a late writer nothing made after that, though ids begin anew', async () => {
    const { call, begin, make, overview } = conversation();
    const late = await begin(4);
    await call(end);
    const { memory_id } = await make(6, 'of other messages');
    expect(await late.complete('late')).toMatchObject({ state: 'wanted' });
    expect((await overview()).memories).toMatchObject([{ memory_id, memory_text: 'of other messages' }]);
  });
});

describe('a conversation that was deleted', () => {
  it.each([
    ['with all that it had', true],
    ['before anything of it was stored', false],
  ])('%s, takes nothing of a request that came before', async (_, existed) => {
    const { call, make, tables, clock } = conversation();
    if (existed) await make(4, 'four');
    await call((memory) => memory.leave());
    const since = clock.now;
    clock.now += MINUTE;
    const before = await call((memory) =>
      Promise.all([
        memory.text(request(4, { since }), madeOf('late'), 10_000),
        memory.versions.keepDigest(request(4, { since }), null, digest('late')),
        memory.outputDigests.make([{ key: 'one', material: madeOf('late') }], 10_000, since),
        memory.archive.notePacks(null, ['a'], since),
      ]),
    );
    expect(before).toEqual([
      { state: 'gone' },
      null,
      [{ key: 'one', text: null, isDegraded: false, usage: null }],
      null,
    ]);
    expect(await tables()).toEqual([]);
    expect((await make(4, 'anew')).memory_text).toBe('anew');
  });
});

describe('a version whose object is restarted in the middle', () => {
  /** Begins one, and restarts its object. */
  async function restarted(end: number, made = conversation()) {
    await made.begin(end);
    await made.restart();
    return made;
  }

  it('is lost, and made anew by the next one who needs it', async () => {
    const { ask, overview, make, row } = await restarted(4);
    expect(await overview()).toMatchObject({ stuck: true, memories: [{ status: 'processing' }] });
    expect((await ask(4)).state).toBe('wanted');
    expect(await make(4, 'anew')).toMatchObject({ memory_id: 2, attempts: 2 });
    expect(await row(1)).toMatchObject({ status: 'failed', error: 'writer_lost' });
    expect((await overview()).stuck).toBe(false);
  });

  it('is missed by nobody once a digest has replaced it', async () => {
    const keep = ({ call }: ReturnType<typeof conversation>) =>
      call((memory) => memory.versions.keepDigest(request(4), null, digest('a digest')));
    const later = await restarted(4);
    await keep(later);
    const earlier = conversation();
    await earlier.begin(4);
    await keep(earlier);
    await earlier.restart();
    for (const { overview, call } of [later, earlier]) {
      expect((await overview()).stuck).toBe(false);
      expect(await call((memory) => memory.standing())).toMatchObject({ stuck: false });
    }
  });

  it('is closed by the conversation’s next one, where it makes one at a time', async () => {
    const { make, row } = await restarted(4);
    await make(6, 'six', { exclusive: 'conversation' });
    expect(await row(1)).toMatchObject({ status: 'failed', error: 'writer_lost' });
  });

  it('is waited for by nobody', async () => {
    const { call } = await restarted(4);
    expect(await call((memory) => memory.idle(10_000))).toBe(true);
  });

  it('is missed by nobody once the conversation has gone on', async () => {
    const { make, overview } = await restarted(4);
    await make(2, 'an earlier one');
    expect((await overview()).stuck).toBe(true);
    await make(8, 'a later one', { bases: [boundary(2)] });
    expect((await overview()).stuck).toBe(false);
  });

  it('is made anew however often its summarizer was asked', async () => {
    const { begin, restart, make } = conversation();
    const { act } = await begin(4);
    for (let retry = 0; retry < 5; retry++) await act(({ retrying }) => retrying('timeout'));
    await restart();
    expect(await make(4, 'anew')).toMatchObject({ memory_text: 'anew', attempts: 7 });
  });

  it('counts as a failure when it has ended the object a few times', async () => {
    const made = conversation();
    for (let life = 0; life < 5; life++) await restarted(4, made);
    expect(await made.order(4, { ok: true, value: written('at last') })).toMatchObject({ state: 'resting' });
    expect(await made.health()).toBe('degraded');
  });
});
