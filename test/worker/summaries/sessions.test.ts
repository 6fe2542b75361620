/** The memory of whole sessions over real objects, and over storage that fails. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { conversationName, userName } from '../../../src/storage/conversation/names.ts';
import { userMemory } from '../../../src/storage/objects.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { loggedLines } from '../../support/quiet.ts';
import { ROLLING, remoteConversation, SUMMARIZE, start, watchedObjects } from '../support.ts';
import { conversation, MINUTE } from './conversation-object.ts';

const logged = loggedLines();

let tenants = 0;

/** A conversation of a new tenant's user ann, and what is published of her. */
function session() {
  const key = `sk-a-caller-with-sessions-${tenants++}`;
  const users = watchedObjects(env.USER_MEMORY);
  const made = start(undefined, { USER_MEMORY: users.namespace }, key);
  const { id, app, messages } = made;
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const name = userName(tenant, 'ann');
  const object = remoteConversation(conversationName(tenant, 'ann', { id }));
  const published = async (): Promise<string[]> => {
    const latest = await userMemory(env, name, () => {})((stub) => stub.latest({ except: '', most: 9 }));
    return latest.map(({ text }) => text);
  };
  const clock = { now: Date.now() };
  const setClock = () =>
    runInDurableObject(
      env.CONVERSATION_MEMORY.getByName(conversationName(tenant, 'ann', { id })),
      (memory) => {
        Reflect.set(memory, 'now', () => clock.now);
      },
    );
  const end = () =>
    app.request(`/v1/conversations/${encodeURIComponent(id)}/end?user=ann`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1', messages }),
    });
  const fields = { user: 'ann', memory_injection: { publish: 'each_round' } };
  /** Rounds, each published before the next one. */
  const publish = async (from: number, to: number, more: object = {}): Promise<void> => {
    for (let n = from; n <= to; n++) {
      await made.ask(n, { ...fields, ...more });
      await vi.waitUntil(async () => (await published())[0]?.includes(`Question ${n}:`), { timeout: 60_000 });
      await object((stub) => stub.idle(10_000));
    }
  };
  return { ...made, object, users, published, publish, end, fields, clock, setClock };
}

describe('the end of a conversation', () => {
  it('is store_failed when the object fails', async () => {
    const { ask, end, objects, published } = session();
    await ask(1, { user: 'ann' });
    objects.failing.add('text');

    const response = await end();

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
    objects.failing.clear();
    expect(await (await end()).json()).toMatchObject({ published: true });
    expect(await published()).toEqual([expect.stringContaining('Question 1:')]);
  });

  it("is store_failed when the user's memory can't be written, and can be repeated", async () => {
    const { ask, end, users, summarizerCalls } = session();
    await ask(1, { user: 'ann' });
    users.failing.add('put');

    const failed = await end();
    users.failing.clear();
    const repeated = await end();

    expect(failed.status).toBe(503);
    expect(await repeated.json()).toMatchObject({ published: true });
    expect(summarizerCalls()).toHaveLength(1);
  });

  it('goes with its conversation', async () => {
    const { id, app, ask, end, published } = session();
    await ask(1, { user: 'ann' });
    await end();

    await app.request(`/v1/conversations/${encodeURIComponent(id)}/memory?user=ann`, { method: 'DELETE' });

    expect(await published()).toEqual([]);
  });
});

describe('a session whose summarizer has failed', () => {
  /** A session that has failed once, and what lets its time pass. */
  async function failed(more: object) {
    const made = session();
    const { app, ask, clock } = made;
    await made.setClock();
    const { words } = app.answer;
    let isDown = true;
    app.answer.words = (sent) => {
      if (isDown && sent.url.startsWith('http://summarizer.test')) throw new Error('down');
      return words?.(sent) ?? '';
    };
    await ask(1, { user: 'ann', ...more });
    const works = async () => {
      isDown = false;
      clock.now += MINUTE;
    };
    return { ...made, works };
  }

  it('is published by its end once the rest is over', async () => {
    const { end, works, published } = await failed({});

    const first = await end();
    const resting = await end();
    await works();
    const last = await end();

    for (const response of [first, resting])
      expect(await response.json()).toMatchObject({ published: false, warnings: ['summary_degraded'] });
    expect(await last.json()).toMatchObject({ published: true, warnings: [] });
    expect(await published()).toEqual([expect.stringContaining('Question 1:')]);
  });

  it('is published by a round once the rest is over', async () => {
    const each = { memory_injection: { publish: 'each_round' } };
    const { publish, works, published, object } = await failed(each);
    const isDegraded = async () => (await object((stub) => stub.versions.overview())).health === 'degraded';
    await vi.waitUntil(isDegraded, { timeout: 60_000 });
    expect(await published()).toEqual([]);

    await works();
    await publish(2, 2);

    expect(await published()).toEqual([expect.stringContaining('Question 2:')]);
  });
});

describe('a session that is published after each round', () => {
  it('asks nothing of storage before the body is sent, once its block is known', async () => {
    const { ask, objects, users, fields, app } = session();
    const words = app.answer.words;
    let before: string[] = [];
    app.answer.words = (sent) => {
      if (sent.url.startsWith('http://upstream.test')) before = [...objects.calls, ...users.calls];
      return words?.(sent) ?? '';
    };
    const all = { ...fields, memory_strategy: 'none' };
    await ask(1, all);
    const start = [...objects.calls, ...users.calls];

    await ask(2, all);

    expect(before).toEqual(start);
    expect(objects.calls.slice(-3)).toEqual(['text', 'text', 'events.add']);
  });

  it('is made of the summary before and the new round alone', async () => {
    const { publish, summarizerCalls, published } = session();

    await publish(1, 3);

    expect(summarizerCalls()).toHaveLength(3);
    const prompt = summarizerCalls().at(-1)?.body;
    expect(prompt).toContain('question 3, line');
    expect(prompt).not.toContain('question 1, line');
    expect(await published()).toEqual([expect.stringContaining('Made with a summary before')]);
  });

  it('answers as ever when the object fails', async () => {
    const { ask, objects, fields, published, publish } = session();
    objects.failing.add('text');

    const { response, warning } = await ask(1, fields);

    expect(response.status).toBe(200);
    expect(warning).toBeNull();
    expect(logged).toContainEqual({
      level: 'warn',
      message: 'a session could not be remembered',
      code: 'store_failed',
      error: 'Error',
      at: expect.any(String),
    });
    objects.failing.clear();
    await publish(2, 2);
    expect(await published()).toEqual([expect.stringContaining('of Question 1: Question 2:')]);
  });

  it('is not replaced by the summary of a part, that a view has asked for later', async () => {
    const { publish, published, summarizerCalls } = session();

    await publish(1, 5, { memory_strategy: SUMMARIZE });

    expect(summarizerCalls().length).toBeGreaterThan(5);

    expect(await published()).toEqual([expect.stringContaining('Question 5:')]);
  });
});

describe('a block whose source is deleted', () => {
  const TRIM = { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 };

  /** A conversation whose block has a deleted source, before the frontier moves. */
  async function stale() {
    const made = session();
    const { app, ask } = made;
    const all = { user: 'ann', memory_injection: true, memory_strategy: TRIM };
    const earlier = '/v1/conversations/earlier/end?user=ann';
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Question 0: Who?' }] });
    await app.request(earlier, { method: 'POST', body });
    const first = await ask(1, all);
    await app.request('/v1/users/ann/memory/earlier', { method: 'DELETE' });
    await ask(2, all);
    return { ...made, all, first };
  }

  it('asks the user alone, at a move alone', async () => {
    const { ask, users, all } = await stale();
    const before = users.calls.length;

    await ask(3, all);

    expect(users.calls.slice(before)).toEqual(['holds', 'latest']);
  });

  it.each(['holds', 'latest', 'state.freezeInjection'])(
    'stays as it was while storage fails at %s, with a warning, and goes at the next move',
    async (method) => {
      const { ask, users, objects, all } = await stale();
      users.failing.add(method);
      objects.failing.add(method);

      const moved = await ask(3, all);
      users.failing.clear();
      objects.failing.clear();
      const later = [await ask(4, all), await ask(5, all)];

      expect(moved.response.headers.get('x-memory-frontier')).toBe('moved');
      expect(moved.warning).toContain('store_failed');
      expect(moved.view).toContain('Question 0:');
      expect(later.map(({ view }) => view.includes('Question 0:'))).toEqual([true, false]);
    },
  );

  it.each(['latest', 'clear', 'forget'])('is store_failed by the routes when %s fails', async (method) => {
    const { app, users, end, ask } = session();
    await ask(1, { user: 'ann' });
    await end();
    users.failing.add(method);

    const failed = [
      await app.request('/v1/users/ann/memory'),
      await app.request('/v1/users/ann/memory/unknown', { method: 'DELETE' }),
      await app.request('/v1/users/ann/memory', { method: 'DELETE' }),
    ].filter(({ status }) => status === 503);

    expect(failed.length).toBeGreaterThan(0);
    for (const response of failed)
      expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
  });
});

describe('an object that is asked whether it is idle', () => {
  it('is so at once without versions in the making, and leaves no trace', async () => {
    const { call, make, tables } = conversation();

    expect(await call((memory) => memory.idle(10_000))).toBe(true);
    expect(await tables()).toEqual([]);
    await make(4, 'text');
    expect(await call((memory) => memory.idle(10_000))).toBe(true);
  });

  it('waits for the last text in the making, however it ends', async () => {
    const { call, begin } = conversation();
    const [first, second] = [await begin(4), await begin(6)];
    const idle = call((memory) => memory.idle(10_000));
    await first.fail();
    expect(await call((memory) => memory.idle(10))).toBe(false);
    await second.complete('six');

    expect(await idle).toBe(true);
  });
});

describe('waiting for memory that is made in the background', () => {
  const compact = ({ app, id, messages }: ReturnType<typeof start>) =>
    app.request('/v1/compact', {
      method: 'POST',
      body: JSON.stringify({
        model: 'gpt-4.1',
        conversation_id: id,
        memory_strategy: ROLLING,
        force: true,
        messages,
      }),
    });

  it.each(['idle', 'versions.overview'])(
    'is store_failed by flush when the object fails at %s',
    async (method) => {
      const { id, app, ask, objects } = start(ROLLING);
      for (let n = 1; n <= 3; n++) await ask(n);
      objects.failing.add(method);

      const path = `/v1/conversations/${encodeURIComponent(id)}/memory/flush`;
      const failed = await app.request(path, { method: 'POST' });
      objects.failing.clear();

      expect(failed.status).toBe(503);
      expect(await failed.json()).toMatchObject({ error: { code: 'store_failed' } });
      expect((await app.request(path, { method: 'POST' })).status).toBe(200);
    },
  );

  it('gives /v1/compact with force the view that there is when the object fails, with a warning', async () => {
    const made = start(ROLLING);
    await made.ask(1);
    made.objects.failing.add('idle');

    const failed = await compact(made);
    made.objects.failing.clear();
    const after = await compact(made);

    expect(failed.status).toBe(200);
    expect(failed.headers.get('x-memory-warning')).toContain('store_failed');
    expect(after.headers.get('x-memory-applied')).toBe('summarize');
  });
});
