/** What summaries do when storage fails: real requests over real objects and a real bucket. */
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { loggedLines } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import {
  MODES,
  question,
  ROLLING,
  refsIn,
  SUMMARIZE,
  SUMMARIZER,
  start,
  watchedObjects,
  withoutKey,
} from '../support.ts';

const logged = loggedLines();

const bodyOf = (messages: readonly object[]) => JSON.stringify({ model: 'gpt-4.1', messages });

describe('an object that is evicted between any two requests', () => {
  it.each(MODES)('gives the same views as one that stays awake, in mode %s', async (_, strategy) => {
    const awake = start(strategy);
    const stayed = await awake.rounds(1, 10);
    const asleep = start(strategy);
    const evicted = [];
    for (let n = 1; n <= 10; n++) {
      evicted.push(await asleep.ask(n));
      await asleep.objects.evict();
    }

    const outcomeOf = ({ response }: { response: Response }) =>
      ['applied', 'frontier', 'tokens-after', 'warning'].map((name) =>
        response.headers.get(`x-memory-${name}`),
      );
    expect(evicted.map(({ view }) => view)).toEqual(stayed.map(({ view }) => view));
    expect(evicted.map(outcomeOf)).toEqual(stayed.map(outcomeOf));
    expect(stayed.at(-1)?.response.headers.get('x-memory-applied')).toBe('summarize');
    expect(asleep.summarizerCalls().map(({ body }) => body)).toEqual(
      awake.summarizerCalls().map(({ body }) => body),
    );
  });
});

describe('an object that has made a summary', () => {
  it('rests at once: nothing of it keeps running', async () => {
    const { rounds, objects } = start(ROLLING, { SUMMARIZER_TIMEOUT_MS: '60000' });
    await rounds(1, 3);

    const evicted = objects.evict().then(() => 'evicted');
    const awake = new Promise((resolve) => setTimeout(resolve, 30_000, 'awake'));

    expect(await Promise.race([evicted, awake])).toBe('evicted');
  });
});

describe('an object that is restarted while it makes a summary', () => {
  /** Asks for a view, and restarts the object while it asks the summarizer for the first time. */
  async function restarted(strategy: object) {
    const made = start(strategy);
    const { app, ask, rounds, objects, summarizerCalls } = made;
    await rounds(1, strategy === ROLLING ? 2 : 3);
    app.answer.gate = ({ url }) =>
      url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL) && summarizerCalls().length === 1
        ? new Promise(() => undefined)
        : undefined;
    const asking = ask(strategy === ROLLING ? 3 : 4, {}, false);
    await vi.waitUntil(() => summarizerCalls().length === 1, { timeout: 60_000 });
    await objects.restart();
    return { ...made, first: await asking };
  }

  it('leaves the request its digest, and the next ones a summary that is made once', async () => {
    const { first, rounds, overview, summarizerCalls, expectFetchable } = await restarted(SUMMARIZE);
    const later = await rounds(5, 7);

    for (const { response, view } of [first, ...later]) {
      expect(response.status).toBe(200);
      expect(view.split('<session_summary')).toHaveLength(2);
      await expectFetchable(view);
    }
    expect(first.warning).toContain('store_failed');
    expect(first.view).toContain('Question 1: what follows?');
    for (const { view } of later) expect(view).toContain('Made with');
    const made = (await overview()).memories.filter(({ status }) => status === 'completed');
    expect(new Set(made.map(({ prefix_hash }) => prefix_hash)).size).toBe(made.length);
    expect(summarizerCalls()).toHaveLength(made.length + 1);
  });

  it('leaves rolling_summary its messages, and the next round a memory', async () => {
    const { first, rounds, overview, summarizerCalls } = await restarted(ROLLING);
    expect(await overview()).toMatchObject({ stuck: true, memories: [{ status: 'processing' }] });
    const [fourth, fifth] = await rounds(4, 5);

    expect(first.response.status).toBe(200);
    expect(fourth?.view).not.toContain('<session_summary');
    expect(fifth?.view.split('<session_summary')).toHaveLength(2);
    expect(await overview()).toMatchObject({ stuck: false });
    expect(summarizerCalls()).toHaveLength(3);
  });
});

describe('a request that waits for a summary in turns', () => {
  /** Asks for a view, holds its summary and its calls of a method, and goes on after some event. */
  async function meanwhile(method: string, happens: (made: ReturnType<typeof start>) => Promise<unknown>) {
    shorten({ idleTurnMs: 50, summaryMs: method === 'text' ? 20_000 : 500 });
    const made = start(SUMMARIZE);
    const { app, ask, rounds, objects, summarizerCalls } = made;
    await rounds(1, 3);
    app.answer.gate = ({ url }) =>
      url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL) ? new Promise(() => undefined) : undefined;
    const asking = ask(4, {}, false);
    await vi.waitUntil(() => summarizerCalls().length > 0, { timeout: 60_000 });
    const gate = Promise.withResolvers<void>();
    objects.gates.set(method, gate.promise);
    const before = objects.calls.filter((call) => call === method).length;
    await vi.waitUntil(() => objects.calls.filter((call) => call === method).length > before, {
      timeout: 60_000,
    });
    await happens(made);
    gate.resolve();
    return { ...made, asked: await asking };
  }

  it('shows its digest where the object was restarted between two, and leaves the summary to the next', async () => {
    const { app, asked, ask } = await meanwhile('text', ({ objects }) => objects.restart());
    app.answer.gate = () => undefined;

    const next = await ask(5);

    expect(asked.warning).toBe('summary_pending');
    expect(asked.view).toContain('Question 1: what follows?');
    expect(next.warning).toBeNull();
    expect(next.view).toContain('Made without a summary before');
  });

  it.each(['text', 'versions.keepDigest'])(
    'brings nothing back of a conversation that was deleted before its call of %s',
    async (method) => {
      const { asked, overview } = await meanwhile(method, async ({ app, id }) => {
        const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
        expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);
      });

      expect(asked.response.status).toBe(200);
      expect(asked.view).toContain('Question 1: what follows?');
      expect(await overview()).toMatchObject({ exists: false, memories: [] });
    },
  );
});

describe('an object that throws', () => {
  const ALL = ['text', 'versions.find', 'state.settings', 'versions.keepDigest'];

  it('leaves summarize its digest, with a warning', async () => {
    const { objects, ask, rounds, summarizerCalls } = start({ ...SUMMARIZE, keep_first_user: false });
    await rounds(1, 3);
    for (const method of ALL) objects.failing.add(method);

    const { response, view, warning } = await ask(4);

    expect(response.status).toBe(200);
    expect(new Set(warning?.split(','))).toEqual(new Set(['store_failed', 'summary_degraded']));
    expect(view).toContain('Question 1: what follows?');
    expect(view).not.toContain('question 1, line 20');
    expect(view).toContain('<session_summary');
    expect(summarizerCalls()).toEqual([]);
  });

  it('at texts only, it leaves summarize its digest too', async () => {
    const { objects, ask, rounds, expectFetchable } = start(SUMMARIZE);
    await rounds(1, 3);
    objects.failing.add('text');

    const { response, view, warning } = await ask(4, {}, false);

    expect(response.status).toBe(200);
    expect(warning).toContain('store_failed');
    expect(view).toContain('<session_summary');
    await expectFetchable(view);
    expect(logged).toContainEqual(expect.objectContaining({ code: 'store_failed', error: 'Error' }));
  });

  it('leaves rolling_summary the raw messages, with a warning', async () => {
    const { objects, ask, rounds, messages } = start(ROLLING);
    await rounds(1, 3);
    for (const method of ALL) objects.failing.add(method);

    const { response, view, warning } = await ask(4);

    expect(response.status).toBe(200);
    expect(new Set(warning?.split(','))).toEqual(new Set(['store_failed']));
    expect(view).toBe(bodyOf(messages.slice(0, -1)));
  });

  it.each(MODES)('is warned of once, in mode %s', async (_, strategy) => {
    const { objects, ask, rounds } = start(strategy);
    await rounds(1, 3);
    for (const method of ALL) objects.failing.add(method);

    const { warning } = await ask(4);

    const codes = warning?.split(',') ?? [];
    expect(codes).toContain('store_failed');
    expect(codes).toEqual([...new Set(codes)]);
  });

  it('after the answer is no harm: the next round is remembered with this one', async () => {
    const { objects, ask, rounds, overview, summarizerCalls } = start(ROLLING);
    await rounds(1, 2);
    objects.failing.add('text');
    const failed = await ask(3);
    objects.failing.clear();
    await ask(4);

    expect(failed.response.status).toBe(200);
    expect(logged).toContainEqual(expect.objectContaining({ level: 'warn', code: 'store_failed' }));
    expect((await overview()).memories.map(({ end_sequence }) => end_sequence)).toEqual([7]);
    expect(summarizerCalls()[0]?.body).toContain('Question 3:');
  });

  it('at pinDigest says so, and leaves rolling_summary its digest', async () => {
    const { app, objects, ask, rounds } = start({ ...ROLLING, recovery_backlog_limit: 1 });
    const { words } = app.answer;
    app.answer.words = (sent) =>
      sent.url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL) ? '' : (words?.(sent) ?? '');
    await rounds(1, 4);
    objects.failing.add('versions.pinDigest');

    const { response, warning } = await ask(5);

    expect(response.status).toBe(200);
    expect(warning).toContain('summary_degraded');
    expect(logged).toContainEqual({
      level: 'warn',
      message: 'a digest could not be pinned',
      code: 'store_failed',
      error: 'Error',
      at: expect.any(String),
    });
  });

  it('when it is asked for the settings leaves the lower levels in force, with a warning', async () => {
    const { id, app, objects, ask } = start(undefined, {
      DEFAULT_MEMORY_STRATEGY: '{"mode":"trim","max_turns":1,"keep_last_n_turns":1}',
    });
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    await app.request(path, { method: 'PATCH', body: '{"mode":"none"}' });
    const before = await ask(1);
    objects.failing.add('state.settings');

    const after = await ask(2);
    const ofAgent = await ask(3, { agent_type: 'coding' });
    const ofRequest = await ask(4, { memory_strategy: 'none', memory_injection: false });

    expect(before.response.headers.get('x-memory-source')).toBe('conversation');
    expect(after.response.headers.get('x-memory-source')).toBe('default');
    expect(after.response.headers.get('x-memory-applied')).toBe('trim');
    expect(after.warning).toBe('store_failed');
    expect(ofAgent.response.headers.get('x-memory-source')).toBe('agent');
    expect(ofAgent.warning).toContain('store_failed');
    expect(ofRequest.warning).toBeNull();
  });

  it.each(['versions.overview', 'state.configure', 'leave'])(
    'at %s is said by the routes of conversations',
    async (method) => {
      const { id, app, objects } = start(undefined);
      const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
      await app.request(path, { method: 'PATCH', body: '{"mode":"none"}' });
      objects.failing.add(method);

      const failed = [
        await app.request(path),
        await app.request(path, { method: 'PATCH', body: '{"mode":"trim"}' }),
        await app.request(path, { method: 'DELETE' }),
      ].filter(({ ok }) => !ok);

      expect(failed.length).toBeGreaterThan(0);
      for (const response of failed) {
        expect(response.status).toBe(503);
        expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
      }
    },
  );

  it.each(['state.injection', 'state.freezeInjection', 'latest'])(
    'at %s leaves cross-session memory out, with a warning',
    async (method) => {
      const users = watchedObjects(env.USER_MEMORY);
      const { objects, ask, messages } = start(undefined, { USER_MEMORY: users.namespace });
      objects.failing.add(method);
      users.failing.add(method);

      const { response, view, warning } = await ask(1, { memory_injection: true, user: 'ann' });

      expect(response.status).toBe(200);
      expect(warning).toBe('store_failed');
      expect(JSON.parse(view)).toEqual({ model: 'gpt-4.1', user: 'ann', messages: messages.slice(0, -1) });
    },
  );
});

describe('an object that never answers', () => {
  const soon = (work: Promise<{ warning: string | null }>) =>
    Promise.race([
      work.then(({ warning }) => warning),
      new Promise((resolve) => setTimeout(resolve, 60_000, 'still waiting')),
    ]);

  it('leaves rolling_summary the raw messages', async () => {
    const { objects, ask, rounds, messages, app } = start(ROLLING);
    await rounds(1, 3);
    objects.hanging.add('versions.find');

    expect(await soon(ask(4, {}, false))).toBe('store_failed');
    expect(withoutKey(app.sent.at(-1)?.body)).toBe(bodyOf(messages.slice(0, -1)));
  });

  it('leaves the lower levels in force', async () => {
    const { objects, ask } = start(undefined);
    objects.hanging.add('state.settings');

    expect(await soon(ask(1, {}, false))).toBe('store_failed');
  });

  it('leaves cross-session memory out', async () => {
    const { objects, ask } = start(undefined);
    objects.hanging.add('state.injection');
    shorten({ memoryReadMs: 500 });

    expect(await soon(ask(1, { memory_injection: true, user: 'ann' }, false))).toBe('store_failed');
  });
});

describe('a bucket that fails', () => {
  it('at writing leaves the summary without a ref, with a warning', async () => {
    const { watched, ask, rounds, expectFetchable } = start(SUMMARIZE);
    await rounds(1, 3);
    watched.failing.add('put').add('head');

    const { response, view, warning } = await ask(4);

    expect(response.status).toBe(200);
    expect(warning).toBe('store_failed');
    expect(view).toContain('of Question 1: Question 2: Question 3:');
    expect(view).toContain('<session_summary covers=');
    watched.failing.clear();
    expect(await expectFetchable(view)).toBe(0);
  });

  it('at writing leaves the rolling memory without a ref as long as it lasts, with a warning', async () => {
    const { watched, ask, rounds } = start(ROLLING);
    await rounds(1, 2);
    watched.failing.add('put').add('head');
    await ask(3);

    const { view, warning } = await ask(4);

    expect(view).toContain('of Question 1: Question 2: Question 3:');
    expect(refsIn(view)).toEqual([]);
    expect(warning).toBe('store_failed');
  });

  it('at writing is made up for by the next request, and by the next transcript', async () => {
    const { app, watched, rounds, ask, expectFetchable } = start(ROLLING);
    await rounds(1, 2);
    watched.failing.add('put').add('head');
    await ask(3);
    watched.failing.clear();

    const healed = await ask(4);
    const { view } = await ask(5);

    expect(healed.warning).toBeNull();
    expect(await expectFetchable(healed.view)).toBe(1);
    const read = async (ref: string | undefined) => (await app.request(`/v1/refs/${ref}`)).text();
    const kept = await read(refsIn(view)[0]);
    expect(kept).toContain(question(4));
    expect(await read(refsIn(kept)[0])).toContain(question(1));
  });

  it.each(MODES)(
    'at reading never lets a ref through that can’t be fetched, in mode %s',
    async (_, strategy) => {
      const { app, watched, ask, rounds, overview } = start(strategy);
      await rounds(1, 5);
      const refs = (await overview()).memories.flatMap(({ ref }) => ref ?? []);
      for (const ref of refs) await app.request(`/v1/refs/${ref}`, { method: 'DELETE' });
      watched.failing.add('head').add('get').add('put');

      const { response, view, warning } = await ask(6);

      expect(refs.length).toBeGreaterThan(0);
      expect(response.status).toBe(200);
      watched.failing.clear();
      for (const ref of refsIn(view)) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
      expect(view).toContain('<session_summary covers=');
      expect(warning).toBe('store_failed');
    },
  );

  it('in the background keeps no rolling memory from being made', async () => {
    const { watched, rounds, overview } = start(ROLLING);
    watched.failing.add('put').add('head').add('get').add('list');

    const [, , third] = await rounds(1, 3);

    expect(third?.response.status).toBe(200);
    expect((await overview()).memories).toMatchObject([{ status: 'completed' }]);
  });
});

describe('the transcripts of a conversation', () => {
  const listed = async (app: ReturnType<typeof start>['app']): Promise<string[]> => {
    const { data } = (await (await app.request('/v1/refs?limit=1000')).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };

  it('go with it, also for memories that were never made', async () => {
    const { app, rounds, id } = start({ ...ROLLING, recovery_backlog_limit: 2 });
    const before = await listed(app);
    app.answer.words = ({ url }) => (url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL) ? 'No.' : 'Yes.');
    // Questions that no other test asks, since equal transcripts have the same ref.
    await rounds(101, 107);
    expect((await listed(app)).length).toBeGreaterThan(before.length);

    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);

    expect(await listed(app)).toEqual(before);
  });

  const LOST = MODES.flatMap(([mode, strategy]) =>
    [1, 20].map((most) => [mode, most === 1 ? 'the newest' : 'all', most, strategy] as const),
  );

  it.each(LOST)('link to none that has gone (mode %s): %s written again', async (_, __, most, strategy) => {
    const { app, rounds, overview } = start(strategy);
    await rounds(1, 9);
    const written = (await overview()).memories.flatMap(({ ref }) => ref ?? []);
    expect(written.length).toBeGreaterThan(1);
    for (const lost of written.slice(0, most)) await app.request(`/v1/refs/${lost}`, { method: 'DELETE' });

    const asked = await rounds(10, 13);

    const [ref] = refsIn(asked.at(-1)?.view ?? '');
    const seen: string[] = [];
    for (let next = ref; next !== undefined && seen.length < 20; ) {
      const response = await app.request(`/v1/refs/${next}`);
      expect(response.status).toBe(200);
      seen.push(await response.text());
      next = refsIn(seen.at(-1)?.split('###')[0] ?? '')[0];
    }
    expect(seen.join()).toContain(question(1));
  });
});
