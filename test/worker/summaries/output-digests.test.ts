/** The verdicts on digests of outputs in a conversation's object: what is made, and what stays. */
import { describe, expect, it } from 'vitest';
import type { WrittenText } from '../../../src/storage/conversation/memories.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { conversation, LATER, made, recordLog, writing, written } from './conversation-object.ts';

recordLog();

const OUTAGE = { ok: false, reason: { error: 'timeout', isOutage: true } } as const;
const INVALID = { ok: false, reason: { error: 'too_long', isOutage: false } } as const;

/** An object, and the calls of its digests. */
function digests(evicted = false) {
  const own = conversation(evicted);
  const ending = (outcome: WrittenText['made']) => writing(async () => ({ made: outcome, usage: NO_USAGE }));
  /** Orders that are made of one material; null: without any. */
  const order = (material: ReturnType<typeof made> | null, ...keys: string[]) =>
    own.call((memory) =>
      memory.outputDigests.make(
        keys.map((key) => ({ key, material })),
        10_000,
        LATER,
      ),
    );
  const texts = async (...ordered: Parameters<typeof order>) =>
    (await order(...ordered)).map(({ text }) => text);
  const find = (...keys: string[]) => own.call((memory) => memory.outputDigests.find(keys));
  /** Digests in the making, which end once the test wants it. */
  const begin = (...keys: string[]) => {
    const outcome = Promise.withResolvers<WrittenText>();
    let calls = 0;
    const material = writing(() => {
      calls++;
      return outcome.promise;
    });
    const answers = order(material, ...keys);
    const end = (value: WrittenText['made']) =>
      own.call(() => outcome.resolve({ made: value, usage: NO_USAGE }));
    return { answers, end, calls: () => calls };
  };
  return { ...own, order, texts, find, begin, ending };
}

const words = (text: string) => ({ ok: true, value: written(text) }) as const;
const answer = (key: string, text: string | null, isDegraded = false) => ({
  key,
  text,
  isDegraded,
  usage: null,
});

describe.each([
  ['awake', false],
  ['evicted after each call', true],
])('an object that is %s', (_, evicted) => {
  it('keeps the first verdict, whatever is ordered later', async () => {
    const { order, find, ending } = digests(evicted);

    expect(await order(made('first'), 'one')).toEqual([answer('one', 'first')]);
    expect(await order(ending(INVALID), 'two')).toEqual([answer('two', null, true)]);
    const all = [answer('one', 'first'), answer('two', null)];
    expect(await order(made('second'), 'one', 'two')).toEqual(all);
    expect(await order(null, 'one', 'two')).toEqual(all);
    expect(await find('one', 'two', 'three')).toEqual([
      { key: 'one', text: 'first' },
      { key: 'two', text: null },
      null,
    ]);
  });

  it('lets the preview stay where an output was shown before', async () => {
    const { order } = digests(evicted);

    expect(await order(null, 'one')).toEqual([answer('one', null)]);
    expect(await order(made('late'), 'one')).toEqual([answer('one', null)]);
  });

  it('lets previews stay for a while after an outage, and keeps those', async () => {
    const { order, texts, ending, clock } = digests(evicted);
    await order(ending(OUTAGE), 'one');
    clock.now += 30_000 - 1;
    const rested = await order(made('words'), 'two');
    clock.now += 1;

    expect(rested).toEqual([answer('two', null, true)]);
    expect(await texts(made('words'), 'two', 'three')).toEqual([null, 'words']);
  });

  it('rests twice as long after another outage in a row, however many digests failed in one', async () => {
    const { order, texts, ending, clock } = digests(evicted);
    const isFree = async (key: string) => (await texts(made('words'), key))[0] === 'words';
    await order(ending(OUTAGE), 'one', 'two', 'three');
    clock.now += 30_000;
    await order(ending(OUTAGE), 'four');
    clock.now += 60_000 - 1;
    const rested = await isFree('five');
    clock.now += 1;

    expect([rested, await isFree('six')]).toEqual([false, true]);
    await order(ending(OUTAGE), 'seven');
    clock.now += 30_000;
    expect(await isFree('eight')).toBe(true);
  });

  it('stores nothing when it is asked for what it does not have', async () => {
    const { find, tables } = digests(evicted);

    expect(await find('one')).toEqual([null]);
    expect(await tables()).toEqual([]);
  });

  it('has no digests left once it was stripped to its settings', async () => {
    const { order, find, call } = digests(evicted);
    await call((memory) => memory.state.configure({ memory_strategy: 'auto' }));
    await order(made('words'), 'one');
    await call((memory) => memory.leave(Number.MAX_SAFE_INTEGER));

    expect(await find('one')).toEqual([null]);
    expect(await call((memory) => memory.state.settings())).toMatchObject({ memory_strategy: 'auto' });
  });

  it('rests not at all after a text that is not valid', async () => {
    const { order, texts, ending } = digests(evicted);
    await order(ending(INVALID), 'one');

    expect(await texts(made('words'), 'two')).toEqual(['words']);
  });
});

describe('a digest in the making', () => {
  it('is made once, and all who wait are answered alike', async () => {
    const { begin, order } = digests();
    const { answers, end, calls } = begin('one');
    const again = order(made('twice'), 'one');
    const shown = order(null, 'one');
    await end(words('once'));

    expect(await answers).toEqual([answer('one', 'once')]);
    expect([await again, await shown]).toEqual([[answer('one', 'once')], [answer('one', 'once')]]);
    expect(calls()).toBe(1);
  });

  it('leaves its preview for good where somebody has shown that meanwhile', async () => {
    const { begin, call } = digests();
    const { answers, end } = begin('one');
    const shown = await call((memory) =>
      memory.outputDigests.make([{ key: 'one', material: null }], 0, LATER),
    );
    await end(words('late'));

    expect(shown).toEqual([answer('one', null, true)]);
    expect(await answers).toEqual([answer('one', null)]);
  });

  it('is one of six at a time, in the order of the orders', async () => {
    const { begin } = digests();
    const { answers, end, calls } = begin(...Array.from({ length: 9 }, (_, at) => `${at}`));
    await expect.poll(calls).toBe(6);
    await end(words('text'));

    expect((await answers).map(({ key, text }) => `${key} ${text}`)).toEqual(
      Array.from({ length: 9 }, (_, at) => `${at} text`),
    );
    expect(calls()).toBe(9);
  });

  it('makes nothing anew after a deletion', async () => {
    const { begin, find, call, tables } = digests();
    const { answers, end, calls } = begin('one');
    await expect.poll(calls).toBe(1);
    await call((memory) => memory.leave());
    await end(words('late'));

    expect(await answers).toEqual([answer('one', null)]);
    expect(await find('one')).toEqual([null]);
    expect(await tables()).toEqual([]);
  });

  it('is not asked for after a deletion, if it still waited for others', async () => {
    const { begin, call } = digests();
    const keys = Array.from({ length: 9 }, (_, at) => `${at}`);
    const { answers, end, calls } = begin(...keys);
    await expect.poll(calls).toBe(6);
    await call((memory) => memory.leave());
    await end(words('late'));
    await call((memory) => memory.idle(10_000));

    expect(await answers).toEqual(keys.map((key) => answer(key, null)));
    expect(calls()).toBe(6);
  });

  it('goes on while a memory is put in', async () => {
    const { begin, call, find } = digests();
    const { answers, end, calls } = begin('one');
    await expect.poll(calls).toBe(1);
    await call((memory) =>
      memory.restore({
        conversation: 'c',
        settings: { memory_strategy: null, memory_injection: null },
        memory: null,
      }),
    );
    await end(words('words'));

    expect(await answers).toEqual([answer('one', 'words')]);
    expect(await find('one')).toEqual([{ key: 'one', text: 'words' }]);
  });

  it('has its preview stay when writing throws', async () => {
    const { order } = digests();
    const broken = writing(() => Promise.reject(new Error('broken')));

    expect(await order(broken, 'one')).toEqual([answer('one', null, true)]);
    expect(await order(made('late'), 'one')).toEqual([answer('one', null)]);
  });

  it('is lost with a restart of its object, and may be made by the next one who needs it', async () => {
    const { begin, texts, find, restart } = digests();
    const { answers, calls } = begin('one');
    const lost = answers.catch(() => 'lost');
    await expect.poll(calls).toBe(1);
    await restart();

    expect(await lost).toBe('lost');
    expect(await find('one')).toEqual([null]);
    expect(await texts(made('anew'), 'one')).toEqual(['anew']);
  });
});

describe('the verdicts', () => {
  it('are the newest 20,000', async () => {
    const { call } = digests();
    const kept = await call(async (memory) => {
      const order = (from: number, to: number) => {
        const keys = Array.from({ length: to - from }, (_, at) => `${from + at}`);
        return memory.outputDigests.make(
          keys.map((key) => ({ key, material: null })),
          0,
          LATER,
        );
      };
      await order(0, 20_000);
      await order(20_000, 20_001);
      return memory.outputDigests.find(['0', '1', '20000']);
    });

    expect(kept.map((verdict) => verdict?.key)).toEqual([undefined, '1', '20000']);
  });
});
