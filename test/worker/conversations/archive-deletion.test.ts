import { describe, expect, it } from 'vitest';
import { LARGEST_PACK } from '../../../src/storage/archive/packing.ts';
import { lines, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket } from '../support.ts';
import { ANSWER, archive, COMPACT, packsOf, racingApp, recordLog, tablesOf, tenantOf } from './archived.ts';

/** Other files share the bucket, so these conversations have a tenant of their own. */
const KEY = 'sk-a-caller-whose-archives-are-deleted';

recordLog();

describe('deleting a conversation', () => {
  it('takes its archive, and leaves another one’s with the same messages', async () => {
    const before = await packsOf(KEY);
    const one = archive({}, KEY);
    const other = archive({}, KEY);
    for (const { ask } of [one, other]) {
      await ask([user('One')]);
      await ask([user('One'), ANSWER, user('Two')]);
    }
    const both = await packsOf(KEY, before);

    const deleted = await one.remove();

    expect(both).toHaveLength(4);
    expect(deleted.status).toBe(200);
    expect(await packsOf(KEY, before)).toHaveLength(2);
    expect(await tablesOf(one.stub)).toEqual([]);
    expect((await one.get()).status).toBe(404);
    expect((await one.remove()).status).toBe(404);
    expect(await other.messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
  });

  it('lets its archive begin anew', async () => {
    const { ask, remove, messages } = archive({}, KEY);
    await ask([user('One')]);
    await remove();
    await ask([user('One'), ANSWER, user('Two')]);

    expect(await messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
  });

  it('takes packs whose messages never came into the index', async () => {
    const before = await packsOf(KEY);
    const { ask, objects, remove, stub } = archive({}, KEY);
    objects.failing.add('archive.add');
    await ask([user('One')]);
    const between = await packsOf(KEY, before);
    const deleted = await remove();

    expect(between).toHaveLength(1);
    expect(deleted.status).toBe(200);
    expect(await packsOf(KEY, before)).toEqual([]);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('can be done again when R2 has failed', async () => {
    const before = await packsOf(KEY);
    const { ask, watched, remove } = archive({}, KEY);
    await ask([user('One')]);
    watched.failing.add('delete');
    const failed = await remove();
    watched.failing.clear();

    expect(failed.status).toBe(503);
    expect((await remove()).status).toBe(200);
    expect(await packsOf(KEY, before)).toEqual([]);
  });

  it.each<[string, 'before' | 'after']>([
    ['about to be written', 'before'],
    ['just written', 'after'],
  ])('takes what is %s meanwhile', async (_, when) => {
    const before = await packsOf(KEY);
    const { id, stub } = archive({}, KEY);
    const bucket = new Proxy(watchedBucket().bucket, {
      get:
        (target, name) =>
        async (...values: unknown[]) => {
          const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
          if (name === 'put' && when === 'before') await deletes();
          const done = await method.apply(target, values);
          if (name === 'put' && when === 'after') await deletes();
          return done;
        },
    });
    const racing = startApp(bucket, {}, KEY);
    /** As the route does. The events of this isolate are dropped first. */
    const deletes = async (): Promise<void> => {
      await racing.services().runOutboxes.drop(tenantOf(KEY), Date.now());
      await stub.clear();
    };
    racing.answer.words = () => 'This is the answer.';
    await racing.chat({ conversation_id: id, memory_strategy: COMPACT, messages: [user('One')] });

    expect(await packsOf(KEY, before)).toEqual([]);
    expect(await tablesOf(stub)).toEqual([]);
  });

  it('lets nobody continue after what is gone', async () => {
    const { id, ask, stub, messages } = archive({}, KEY);
    await ask([user('One')]);
    const racing = racingApp(
      id,
      async (method) => {
        if (method === 'archive.notePacks') await stub.clear();
      },
      KEY,
    );
    const talk = [user('One'), ANSWER, user('Two')];
    await racing(talk);
    const between = await tablesOf(stub);
    await ask([...talk, ANSWER, user('Three')]);

    expect(between).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER, user('Three'), ANSWER]);
  });
});

describe('a request whose answer outlasts a deletion', () => {
  it('archives nothing, whatever its isolate knew', async () => {
    const before = await packsOf(KEY);
    const { app, ask, remove, stub } = archive({}, KEY);
    await ask([user('One')]);
    const gate = Promise.withResolvers<void>();
    app.answer.gate = () => gate.promise;
    const asked = app.sent.length;
    const asking = ask([user('One'), ANSWER, user('Two')]);
    await expect.poll(() => app.sent.length).toBeGreaterThan(asked);

    expect((await remove()).status).toBe(200);
    gate.resolve();
    expect((await asking).status).toBe(200);

    expect(await tablesOf(stub)).toEqual([]);
    expect(await packsOf(KEY, before)).toEqual([]);
    expect((await remove()).status).toBe(404);
  });

  it('leaves nothing of a conversation that the deletion of all data has not known', async () => {
    const key = 'sk-a-caller-whose-data-is-deleted';
    const { app, ask, get } = archive({}, key);
    const listed = async () =>
      ((await (await app.request('/v1/conversations')).json()) as { data: object[] }).data;
    expect(await listed()).toEqual([]);
    const gate = Promise.withResolvers<void>();
    app.answer.gate = () => gate.promise;
    const asking = ask([user('One')]);
    await expect.poll(() => app.sent.length).toBeGreaterThan(0);
    expect((await app.request('/v1/memory', { method: 'DELETE' })).status).toBe(200);
    gate.resolve();
    expect((await asking).status).toBe(200);

    expect([await listed(), (await get()).status]).toEqual([[], 404]);
    await ask([user('One'), ANSWER, user('Two')]);
    expect(await listed()).toHaveLength(1);
  });

  it('prepares no contents for the next view', async () => {
    const key = 'sk-a-caller-whose-contents-are-deleted';
    const { app, ask, remove } = archive({}, key);
    const steps = (count: number) =>
      Array.from({ length: count }, (_, at) => step(`call_${at}`, 'search', lines(400, `at ${at}`))).flat();
    const stored = async () => {
      const [refs, listed] = await Promise.all([app.request('/v1/refs'), app.request('/v1/conversations')]);
      return [await refs.json(), await listed.json()] as { data: object[] }[];
    };
    const budget = { memory_strategy: { mode: 'auto', token_budget: 8_000 } };
    await ask([user('Go'), ...steps(6)], budget);
    expect((await stored()).map(({ data }) => data.length > 0)).toEqual([true, true]);
    const gate = Promise.withResolvers<void>();
    app.answer.gate = () => gate.promise;
    const asked = app.sent.length;
    const asking = ask([user('Go'), ...steps(9)], budget);
    await expect.poll(() => app.sent.length).toBeGreaterThan(asked);
    expect((await remove()).status).toBe(200);
    gate.resolve();
    expect((await asking).status).toBe(200);

    expect((await stored()).map(({ data }) => data)).toEqual([[], []]);
  });
});

describe('a writer that a deletion has overtaken', () => {
  /** Each message fills a pack. */
  const talk = Array.from({ length: 8 }, (_, n) => user(`${n} x`.padEnd(LARGEST_PACK - 1_000)));

  it('takes back its own packs alone', async () => {
    const before = await packsOf(KEY);
    const { id, ask, remove, stub, messages } = archive({}, KEY);
    const racing = racingApp(
      id,
      async (method) => {
        if (method === 'archive.add') await stub.clear();
        if (method === 'delete') await ask(talk);
      },
      KEY,
    );
    await racing(talk);

    expect(await messages()).toEqual([...talk, ANSWER]);
    await remove();
    expect(await packsOf(KEY, before)).toEqual([]);
  });

  it('adds nothing before what another one is about to add', async () => {
    const { id, stub, page, messages } = archive({}, KEY);
    const noted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const second = racingApp(
      id,
      async (method) => {
        if (method !== 'archive.add') return;
        noted.resolve();
        await ended.promise;
      },
      KEY,
    );
    let added = 0;
    let writing: Promise<unknown> | undefined;
    const first = racingApp(
      id,
      async (method) => {
        if (method !== 'archive.add' || ++added < 2) return;
        await stub.clear();
        writing = second(talk);
        await noted.promise;
      },
      KEY,
    );
    await first(talk);
    const between = await messages();
    ended.resolve();
    await writing;

    expect(added).toBe(2);
    expect(between).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER]);
    expect((await page()).data.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
