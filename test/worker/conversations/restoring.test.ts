/** Putting a conversation's memory back, while a part that it needs fails or changes. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ConversationMemory, TenantMemory } from '../../../src/index.ts';
import type { Overview, SavedMemory, WrittenText } from '../../../src/storage/conversation/memories.ts';
import { conversationName, sessionIn } from '../../../src/storage/conversation/names.ts';
import type { TextMaterial } from '../../../src/summary/conversation.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { quiet } from '../../support/quiet.ts';
import { made, writeByTests, writing, written } from '../summaries/conversation-object.ts';
import { CONVERSATIONS, ROLLING, SUMMARIZE, start, TENANTS, watchedObjects } from '../support.ts';

beforeEach(quiet);

type Json = Record<string, unknown>;
type Started = ReturnType<typeof start>;

const pathOf = (id: string) => `/v1/conversations/${encodeURIComponent(id)}/memory`;

let keys = 0;

/** A conversation of a tenant of its own, with rounds of a strategy. */
async function talk(strategy: object, rounds: number) {
  const key = `sk-a-key-that-restores-conversations-${keys++}`;
  const started = start(strategy, {}, key);
  await started.rounds(1, rounds);
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key);
  return { ...started, key, tenant, ...routes(started) };
}

function routes({ app, id }: Started) {
  const get = async () => (await (await app.request(pathOf(id))).json()) as Json & Overview;
  const put = (body: object) => app.request(pathOf(id), { method: 'PUT', body: JSON.stringify(body) });
  return { get, put };
}

const NOTHING: SavedMemory = {
  conversation: 'a conversation',
  settings: { memory_strategy: null, memory_injection: null },
  memory: null,
};

/** An object that nobody has called. */
function newObject(name = `tenant:user:restored ${Math.random()}`) {
  const stub = CONVERSATIONS.getByName(name) as DurableObjectStub<ConversationMemory>;
  const call = <Result>(
    use: (memory: ConversationMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => runInDurableObject(stub, use);
  const tables = () =>
    call((_, { storage: { sql } }) =>
      sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%' AND type = 'table'",
        )
        .toArray()
        .filter(({ name: table }) => !table.startsWith('_cf')),
    );
  return { call, tables };
}

describe('PUT of a conversation’s memory', () => {
  it('is 503 when its object fails, keeps what was there, and can be repeated', async () => {
    const { get, put, objects, ask } = await talk(SUMMARIZE, 4);
    const before = await get();
    await ask(5);
    objects.failing.add('restore');

    const failed = await put({ ...before, memories: [] });
    objects.failing.clear();

    expect(failed.status).toBe(503);
    expect(await failed.json()).toMatchObject({ error: { code: 'store_failed', type: 'server_error' } });
    expect(await get()).toEqual(before);
    const again = await put({ ...before, memories: [] });
    expect([again.status, (await get()).memories]).toEqual([200, []]);
  });

  it('drops a summary that is being made, and its late writer changes nothing', async () => {
    const { get, put, stub } = await talk(ROLLING, 3);
    const outcome = Promise.withResolvers<WrittenText>();
    const boundary = { prefixHash: 'f'.repeat(64), end: 8, sequence: 7 };
    const order = (material: TextMaterial, waitMs: number) =>
      runInDurableObject(stub, (memory) => {
        writeByTests(memory);
        return memory.text(textOf(boundary), material, waitMs);
      });
    await order(
      writing(() => outcome.promise),
      0,
    );
    const waiting = stub.text(textOf(boundary), null, 600_000);
    const before = await get();

    const response = await put(before);
    expect(await waiting).toEqual({ state: 'gone' });
    await runInDurableObject(stub, (memory) => {
      outcome.resolve({ made: { ok: true, value: written('late') }, usage: NO_USAGE });
      return memory.idle(10_000);
    });

    const [processing, ...others] = before.memories;
    expect(processing).toMatchObject({ status: 'processing' });
    const after = await response.json();
    expect(after).toMatchObject({ memories: others.slice(0, 1), rounds: [], stuck: false });
    expect(await get()).toEqual(after);
    // What was being made is made by whom it is asked of next, under an id of its own.
    await order(made('anew'), 0);
    const [next] = (await get()).memories;
    expect(next?.memory_id).toBe(Number(processing?.memory_id) + 1);
  });

  it('has a degraded conversation begin anew', async () => {
    const { get, put, stub } = await talk(ROLLING, 3);
    const boundary = { prefixHash: 'f'.repeat(64), end: 8, sequence: 7 };
    const failing = { ...textOf(boundary), retryIntervalMs: 3_600_000 };
    await runInDurableObject(stub, (memory) => {
      writeByTests(memory);
      const broken = { ok: false, reason: { error: 'upstream_error' } } as const;
      return memory.text(
        failing,
        writing(async () => ({ made: broken, usage: NO_USAGE })),
        10_000,
      );
    });
    expect((await stub.text(failing, null, 0)).state).toBe('resting');
    const before = await get();

    const after = (await (await put(before)).json()) as Json;

    expect([before.health, after.health]).toEqual(['degraded', 'healthy']);
    expect(await stub.text(failing, null, 0)).toMatchObject({ state: 'wanted', health: 'healthy' });
  });

  it('notes the conversation and its transcripts for deletion and retention', async () => {
    const { get, put, id, tenant, app } = await talk(SUMMARIZE, 8);
    const before = await get();
    const refs = before.memories.map(({ ref }) => ref);
    expect(refs).toHaveLength(2);
    const of = TENANTS.getByName(tenant.id) as DurableObjectStub<TenantMemory>;
    const noted = async (session: string) =>
      (
        await of.conversations.refsOf(conversationName(tenant.id, undefined, { id: session }), 100)
      )?.toSorted();
    const copy = `${id}, copied`;

    const made = await app.request(pathOf(copy), {
      method: 'PUT',
      body: JSON.stringify({ ...before, id: copy }),
    });

    expect(made.status).toBe(200);
    expect(await noted(copy)).toEqual(refs.toSorted());
    // The copy needs them still.
    await app.request(pathOf(id), { method: 'DELETE' });
    for (const ref of refs) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
    await app.request(pathOf(copy), { method: 'DELETE' });
    for (const ref of refs) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(404);
    expect((await put(before)).status).toBe(200);
    expect((await get()).memories).toEqual(before.memories.slice(0, 1));
  });

  it('keeps the archive and the block of cross-session memory', async () => {
    const { get, put, stub, app, id } = await talk({ ...ROLLING, archive: true }, 3);
    const frozen = { text: 'Cross-session memory: frozen', sources: [] };
    const { state } = CONVERSATIONS.get(stub.id) as typeof stub;
    await state.freezeInjection(frozen, null);
    const messages = async () => (await app.request(pathOf(id).replace(/memory$/, 'messages'))).json();
    const archived = await messages();
    expect(archived).toMatchObject({ data: expect.arrayContaining([expect.anything()]) });

    await put({ ...(await get()), memories: [], rounds: [] });

    expect(await state.injection()).toEqual(frozen);
    expect(await messages()).toEqual(archived);
  });
});

function textOf(boundary: { prefixHash: string; end: number; sequence: number }) {
  return {
    since: Date.now(),
    order: 'an order',
    conversation: 'a label',
    strategyHash: 'd'.repeat(64),
    boundary,
    bases: [],
    startSequence: 0,
    windowSize: null,
    retryIntervalMs: 0,
    exclusive: 'boundary' as const,
    from: 0,
  };
}

describe('an object that is restored', () => {
  it('writes nothing before its tenant’s object has noted it', async () => {
    const { call, tables } = newObject();
    const tenants = watchedObjects(env.TENANT_MEMORY);
    tenants.failing.add('note');

    const failed = await call(async (memory) => {
      const real = Reflect.get(memory, 'env');
      Reflect.set(memory, 'env', { ...real, TENANT_MEMORY: tenants.namespace });
      const error = await memory.restore(NOTHING).then(
        () => 'restored',
        (reason: Error) => reason.name,
      );
      Reflect.set(memory, 'env', real);
      return error;
    });

    expect(failed).not.toBe('restored');
    expect(tenants.calls).toContain('note');
    expect(await tables()).toEqual([]);
    expect(await call((memory) => memory.restore(NOTHING))).toMatchObject({ exists: true });
  });

  it('is changed as a whole or not at all', async () => {
    const { call, tables } = newObject();
    const tooLong = { memory_strategy: 'x'.repeat(1_000_001), memory_injection: null };
    const restore = (saved: SavedMemory) =>
      call((memory) =>
        memory.restore(saved).then(
          () => 'restored',
          (error: Error) => error.name,
        ),
      );

    expect(await restore({ ...NOTHING, settings: tooLong })).toBe('RangeError');
    expect(await tables()).toEqual([]);
    expect(await call((memory) => memory.versions.overview())).toMatchObject({ exists: false });
    const trim = { memory_strategy: { mode: 'trim' }, memory_injection: true };
    expect(await restore({ ...NOTHING, settings: trim })).toBe('restored');
    const before = await call((memory) => memory.versions.overview());
    expect(await restore({ ...NOTHING, settings: tooLong })).toBe('RangeError');
    expect(await call((memory) => memory.versions.overview())).toEqual(before);
  });

  it('is one with a name of its own: a session named by a hash holds several conversations', async () => {
    const name = conversationName('tenant', undefined, { hash: `${Math.random()}` });
    expect(sessionIn(name)).toMatch(/^#/);
    const { call, tables } = newObject(name);

    const outcome = await call((memory) => memory.restore(NOTHING).catch((error: Error) => error.name));

    expect(outcome).toBe('InvariantError');
    expect(await tables()).toEqual([]);
  });
});
