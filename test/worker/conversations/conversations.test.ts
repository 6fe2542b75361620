/** The routes of conversations while a part that they need fails or changes. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { quiet } from '../../support/quiet.ts';
import { SUMMARIZE, SUMMARIZER, start, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

/** Of this file alone: a deletion looks at all conversations of its tenant. */
const KEY = 'sk-a-key-that-deletes-conversations';

const pathOf = (id: string) => `/v1/conversations/${encodeURIComponent(id)}/memory`;
const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

describe('settings of a caller whose key the upstream', () => {
  let named = 0;

  function patching(modelsStatus: number) {
    const id = `patched ${++named} ${modelsStatus}`;
    const app = startApp(watchedBucket().bucket, { VERIFY_KEYS: 'true' });
    app.answer.modelsStatus = modelsStatus;
    const patch = () => app.request(pathOf(id), { method: 'PATCH', body: '{"mode":"compact"}' });
    const get = () => app.request(pathOf(id));
    return { app, patch, get };
  }

  it.each([401, 403])('refuses by %i are not stored: the key is not valid', async (status) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { app, patch, get } = patching(status);

    const response = await patch();

    expect(response.status).toBe(401);
    expect(await codeOf(response)).toBe('invalid_api_key');
    expect((await get()).status).toBe(401);
    app.answer.modelsStatus = 200;
    vi.setSystemTime(Date.now() + 31_000);
    expect((await get()).status).toBe(404);
    vi.useRealTimers();
  });

  it.each([429, 500, 503])('says nothing about, by %i, are not stored until it does', async (status) => {
    const { app, patch, get } = patching(status);

    const failed = await patch();
    const before = await get();
    app.answer.modelsStatus = 200;
    const worked = await patch();

    expect(failed.status).toBe(503);
    expect(await codeOf(failed)).toBe('key_not_checked');
    expect(before.status).toBe(503);
    expect(worked.status).toBe(200);
    expect(await (await get()).json()).toMatchObject({ memory_strategy: { mode: 'compact' } });
  });
});

describe('deleting a conversation', () => {
  /** A user's conversation with a summary. */
  async function summarised() {
    const users = watchedObjects(env.USER_MEMORY);
    const user = `ann ${Math.random()}`;
    const known = watchedObjects(env.TENANT_MEMORY);
    const variables = { USER_MEMORY: users.namespace, TENANT_MEMORY: known.namespace };
    const started = start(SUMMARIZE, variables, KEY);
    const { app, ask, id } = started;
    for (const n of [1, 2, 3, 4]) await ask(n, { user });
    const headers = { 'x-memory-user': user };
    const call = (method: string) => app.request(pathOf(id), { method, headers });
    const { memories } = (await (await call('GET')).json()) as { memories: { ref: string }[] };
    const [ref] = memories.map((memory) => memory.ref);
    const transcript = () => app.request(`/v1/refs/${ref}`);
    /** Whether another conversation of the user gets this one's summary. */
    const isShown = async () => {
      const fields = { user, conversation_id: `${id} ${Math.random()}`, memory_injection: true };
      await app.chat({ model: 'gpt-4.1', ...fields, messages: [{ role: 'user', content: 'Hello' }] });
      return app.sent.at(-1)?.body.includes('Cross-session memory');
    };
    expect(memories).toHaveLength(1);
    expect((await transcript()).status).toBe(200);
    expect(await isShown()).toBe(true);
    return { ...started, users, known, call, transcript, isShown };
  }

  it('takes its transcripts and what its user gets with it, once', async () => {
    const { call, transcript, isShown } = await summarised();

    const deleted = await call('DELETE');
    const again = await call('DELETE');

    expect(deleted.status).toBe(200);
    expect((await transcript()).status).toBe(404);
    expect(await isShown()).toBe(false);
    expect(again.status).toBe(404);
    expect(await codeOf(again)).toBe('conversation_not_found');
  });

  it.each<[string, (talk: Awaited<ReturnType<typeof summarised>>) => Set<string>, string]>([
    ["the user's memory", ({ users }) => users.failing, 'forget'],
    ['the bucket', ({ watched }) => watched.failing, 'delete'],
    ["the conversation's memory", ({ objects }) => objects.failing, 'leave'],
    ["the tenant's memory", ({ known }) => known.failing, 'conversations.find'],
    ["the tenant's memory, at the end,", ({ known }) => known.failing, 'conversations.release'],
  ])('can be done again when %s has failed', async (_, failingOf, method) => {
    const talk = await summarised();
    const { call, transcript, isShown } = talk;
    failingOf(talk).add(method);

    const failed = await call('DELETE');
    failingOf(talk).clear();
    const deleted = await call('DELETE');

    expect(failed.status).toBe(503);
    expect(await codeOf(failed)).toBe('store_failed');
    expect(deleted.status).toBe(200);
    expect((await transcript()).status).toBe(404);
    expect(await isShown()).toBe(false);
    expect((await call('GET')).status).toBe(404);
    expect((await call('DELETE')).status).toBe(404);
  });
});

describe('a change of a conversation', () => {
  it.each(['DELETE', 'PATCH', 'PUT'])(
    'by %s is refused where a parameter is spelled wrong',
    async (method) => {
      const app = startApp(watchedBucket().bucket);
      const id = `without a user ${method}`;
      await app.request(pathOf(id), { method: 'PATCH', body: '{"mode":"compact"}' });

      const body = method === 'DELETE' ? {} : { body: '{"mode":"trim"}' };
      const refused = await app.request(`${pathOf(id)}?usr=ann`, { method, ...body });

      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({
        error: {
          message: "'usr' is not a parameter of this route; the nearest known one is 'user'.",
          param: 'usr',
        },
      });
      expect(await (await app.request(pathOf(id))).json()).toMatchObject({
        memory_strategy: { mode: 'compact' },
      });
    },
  );
});

describe('settings that the deployment no longer offers', () => {
  it('give way to the lower levels, with a warning, and are kept', async () => {
    const { id, app, ask, objects, watched } = start(undefined, { SUMMARIZER_MODELS: 'a-large-model' });
    const set = { ...SUMMARIZE, summarizer_model: 'a-large-model' };
    const patched = await app.request(pathOf(id), { method: 'PATCH', body: JSON.stringify(set) });
    const before = await ask(1);

    const later = startApp(watched.bucket, {
      ...SUMMARIZER,
      CONVERSATION_MEMORY: objects.namespace,
      DEFAULT_MEMORY_STRATEGY: '{"mode":"trim","max_turns":1,"keep_last_n_turns":1}',
    });
    const messages = ['One', 'Two'].map((content) => ({ role: 'user', content }));
    const chat = (more: object = {}) =>
      later.chat({ model: 'gpt-4.1', conversation_id: id, ...more, messages });
    const outcomeOf = ({ status, headers }: Response) => [
      status,
      ...['mode', 'source', 'warning'].map((name) => headers.get(`x-memory-${name}`)),
    ];

    expect(patched.status).toBe(200);
    expect(outcomeOf(before.response)).toEqual([200, 'summarize', 'conversation', null]);
    expect(outcomeOf(await chat())).toEqual([200, 'trim', 'default', 'store_failed']);
    expect(JSON.parse(later.sent.at(-1)?.body ?? '')).toMatchObject({ messages: [{ content: 'Two' }] });
    expect(outcomeOf(await chat({ agent_type: 'coding' }))).toEqual([200, 'auto', 'agent', 'store_failed']);
    expect(await (await later.request(pathOf(id))).json()).toMatchObject({ memory_strategy: set });
    // A strategy in the request itself is refused all the same.
    expect((await chat({ memory_strategy: set })).status).toBe(400);
  });
});
