/** Storage that never answers: each route about stored data has a limit of its own. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, type Operation, refsIn, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(() =>
  shorten({ routeStorageMs: 1_000, idleCallMs: 1_000, objectCallMs: 1_000, publishMs: 1_000 }),
);

const logged = { code: 'store_failed', error: 'late' };

const COMPACT = { mode: 'compact', token_budget: 3500, archive: true };
let made = 0;

/** A conversation with a ref and an archive, on storage that can hang. */
async function start() {
  const watched = watchedBucket();
  const parts = {
    CONVERSATION_MEMORY: watchedObjects(env.CONVERSATION_MEMORY),
    TENANT_MEMORY: watchedObjects(env.TENANT_MEMORY),
    USER_MEMORY: watchedObjects(env.USER_MEMORY),
  };
  const bodies = { hang: false };
  const bucket = new Proxy(watched.bucket, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...values: unknown[]) => Promise<unknown>;
      return async (...values: unknown[]) => {
        const object = await method(...values);
        if (name !== 'get' || !bodies.hang) return object;
        return { uploaded: new Date(), arrayBuffer: () => new Promise(() => undefined) };
      };
    },
  });
  const namespaces = Object.entries(parts).map(([name, { namespace }]) => [name, namespace]);
  const app = startApp(bucket, Object.fromEntries(namespaces));
  app.answer.words = () => 'This is the answer.';
  const id = `hanging ${made++}`;
  const steps = Array.from({ length: 8 }, (_, index) =>
    step(`c${index}`, 'f', `${lines(60)}\n${id} ${index}`),
  );
  const options = { memory_strategy: COMPACT, conversation_id: id, user: 'ann' };
  await app.chat(body([user('go'), ...steps.flat()], options));
  // A summary that an earlier test has begun may be asked for meanwhile.
  const [ref = ''] = app.sent.flatMap((sent) => refsIn(sent.body));
  expect(ref).not.toBe('');
  /** From now on storage hangs, and background work is not awaited. */
  const letHang = () => hang({ ...watched, bucket });
  const path = `/v1/conversations/${encodeURIComponent(id)}`;
  const ask = (method: string, at: string, text?: string) => {
    const headers = at === '/v1/memory' ? undefined : { 'x-memory-user': 'ann' };
    return app.request(at, { method, ...(headers ? { headers } : {}), ...(text ? { body: text } : {}) });
  };
  /** A request with more steps, whose contents are written ahead. */
  const goOn = () => {
    const more = Array.from({ length: 4 }, (_, index) =>
      step(`d${index}`, 'f', `${lines(60)}\n${id} more ${index}`),
    );
    return app.chat(body([user('go'), ...steps.flat(), ...more.flat()], options));
  };
  return { app, ask, goOn, ref, path, watched, parts, bodies, letHang };
}

type Started = Awaited<ReturnType<typeof start>>;
type Hanging = Operation | 'a body' | readonly [part: keyof Started['parts'], method: string];

function make(started: Started, hanging: Hanging): void {
  const { watched, parts, bodies, letHang } = started;
  letHang();
  if (hanging === 'a body') bodies.hang = true;
  else if (typeof hanging === 'string') watched.hanging.add(hanging);
  else parts[hanging[0]].hanging.add(hanging[1]);
}

const CASES: readonly [string, (started: Started) => string, Hanging, number][] = [
  ['GET', ({ ref }) => `/v1/refs/${ref}`, 'get', 503],
  ['GET', ({ ref }) => `/v1/refs/${ref}`, 'a body', 503],
  ['GET', () => '/v1/refs', 'list', 503],
  ['DELETE', ({ ref }) => `/v1/refs/${ref}`, 'head', 503],
  ['DELETE', ({ ref }) => `/v1/refs/${ref}`, 'list', 202],
  ['DELETE', ({ ref }) => `/v1/refs/${ref}`, 'delete', 202],
  ['GET', ({ path }) => `${path}/messages`, 'get', 503],
  ['GET', ({ path }) => `${path}/messages`, 'a body', 503],
  ['GET', ({ path }) => `${path}/messages`, ['CONVERSATION_MEMORY', 'archive.page'], 503],
  ['GET', ({ path }) => `${path}/messages?q=go`, ['CONVERSATION_MEMORY', 'archive.search'], 503],
  ['GET', ({ path }) => `${path}/memory`, ['CONVERSATION_MEMORY', 'versions.overview'], 503],
  ['PATCH', ({ path }) => `${path}/memory`, ['CONVERSATION_MEMORY', 'state.configure'], 503],
  ['PUT', ({ path }) => `${path}/memory`, ['CONVERSATION_MEMORY', 'restore'], 503],
  ['DELETE', ({ path }) => `${path}/memory`, ['TENANT_MEMORY', 'conversations.find'], 503],
  ['DELETE', ({ path }) => `${path}/memory`, ['USER_MEMORY', 'forget'], 202],
  ['DELETE', ({ path }) => `${path}/memory`, ['CONVERSATION_MEMORY', 'leave'], 202],
  ['DELETE', ({ path }) => `${path}/memory`, 'delete', 202],
  ['DELETE', () => '/v1/memory', ['TENANT_MEMORY', 'erase'], 503],
  ['GET', () => '/v1/blocks', ['TENANT_MEMORY', 'blocks.list'], 503],
  ['GET', () => '/v1/blocks/team', ['TENANT_MEMORY', 'blocks.find'], 503],
  ['PUT', () => '/v1/blocks/team', ['TENANT_MEMORY', 'blocks.change'], 503],
  ['DELETE', () => '/v1/blocks/team', ['TENANT_MEMORY', 'blocks.delete'], 202],
];

const MEMORY =
  '{"memory_strategy":null,"memory_injection":null,"health":"healthy","memories":[],"rounds":[]}';

/** The body of a route; undefined if its method takes none. */
function bodyOf(method: string, path: string): string | undefined {
  if (method === 'PATCH') return '{"mode":"trim"}';
  if (method !== 'PUT') return undefined;
  return path.includes('/blocks/') ? '{"text":"Note."}' : MEMORY;
}

describe('storage that never answers', () => {
  it('F30: is a failure of it for each route, and a deletion that has begun goes on', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const started: Started[] = [];
    for (const [, , hanging] of CASES) {
      const one = await start();
      make(one, hanging);
      started.push(one);
    }
    const answers = CASES.map(async ([method, pathOf], index) => {
      const one = started[index] as Started;
      const response = await one.ask(method, pathOf(one), bodyOf(method, pathOf(one)));
      return { status: response.status, ...((await response.json()) as object) };
    });
    const outcomes = await Promise.all(answers);
    const expected = CASES.map(([, , , status]) =>
      status === 202
        ? expect.objectContaining({ status, deleted: false })
        : expect.objectContaining({
            status,
            error: expect.objectContaining({ code: 'store_failed', type: 'server_error' }),
          }),
    );
    expect(outcomes).toEqual(expected);
    const failures = CASES.filter(([, , , status]) => status === 503).length;
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    expect(lines.filter(({ code, error }) => code === logged.code && error === logged.error)).toHaveLength(
      failures,
    );
  });
});

describe('a wait for background memory while storage hangs', () => {
  const failed = { error: { code: 'store_failed', type: 'server_error' } };
  const end = JSON.stringify({ model: 'gpt-4.1', messages: [user('go'), user('on')] });

  it.each([
    ['flush', 'idle', undefined],
    ['flush', 'versions.overview', undefined],
    ['end', 'text', end],
  ])('is over for %s when the object does not answer to %s', async (route, method, text) => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const one = await start();
    const path = route === 'flush' ? `${one.path}/memory/flush` : `${one.path}/end`;
    make(one, ['CONVERSATION_MEMORY', method]);

    const response = await one.ask('POST', path, text);

    expect([response.status, await response.json()]).toMatchObject([503, failed]);
  });

  it('is over for end when the user’s memory does not answer', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const one = await start();
    one.app.answer.words = () => writeSections(new Map([['## Progress', 'Asked to go on.']]));
    make(one, ['USER_MEMORY', 'put']);

    const response = await one.ask('POST', `${one.path}/end`, end);

    expect([response.status, await response.json()]).toMatchObject([503, failed]);
    expect(one.parts.USER_MEMORY.calls).toContain('put');
  });

  it('is over for flush when R2 does not take what is handed over', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const one = await start();
    make(one, 'put');
    await one.goOn();

    const response = await one.ask('POST', `${one.path}/memory/flush`);

    expect([response.status, await response.json()]).toMatchObject([503, failed]);
  });
});

describe('storage that answers late', () => {
  async function late(operation: Operation) {
    const one = await start();
    const gate = Promise.withResolvers<void>();
    one.letHang();
    one.watched.gates.set(operation, gate.promise);
    const response = await one.ask('DELETE', `/v1/refs/${one.ref}`);
    one.watched.gates.clear();
    gate.resolve();
    const status = async () => (await one.ask('GET', `/v1/refs/${one.ref}`)).status;
    return { response, status, watched: one.watched };
  }

  it('F30: finishes a deletion after the answer', async () => {
    const { response, status } = await late('delete');
    expect(response.status).toBe(202);
    await vi.waitUntil(async () => (await status()) === 404, { timeout: 60_000 });
  });

  it('F30: deletes nothing after reporting a failed deletion', async () => {
    const { response, status, watched } = await late('head');
    expect(response.status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(watched.operations.filter(({ name }) => name === 'delete')).toEqual([]);
    expect(await status()).toBe(200);
  });
});

describe('an erasure whose storage hangs', () => {
  it('F30: is answered in time, and goes on', async () => {
    const { ask, letHang } = await start();
    letHang();
    const { id } = new Tenants(env.PRECIS_SECRET).ofToken('sk-a-caller-of-the-worker-tests');
    const memory = env.TENANT_MEMORY.getByName(id) as DurableObjectStub<TenantMemory>;
    const never = () => new Promise(() => undefined);
    const bucket = new Proxy(env.REFS, {
      get: (target, name) => (name === 'list' ? never : Reflect.get(target, name).bind(target)),
    });
    shorten({ eraseAnswerMs: 50, eraseStepMs: 300 });
    await runInDurableObject(memory, (object) => {
      Object.assign(object, { env: { ...env, REFS: bucket } });
    });
    const response = await ask('DELETE', '/v1/memory');
    expect([response.status, await response.json()]).toEqual([
      202,
      { object: 'memory.deleted', deleted: false },
    ]);
    await runInDurableObject(memory, async (object, { storage }) => {
      // The step is abandoned, and an alarm tries again.
      await vi.waitUntil(() => (object as unknown as { erasing?: object }).erasing === undefined, {
        timeout: 60_000,
      });
      expect(await storage.getAlarm()).not.toBeNull();
      Object.assign(object, { env });
    });
  });
});
