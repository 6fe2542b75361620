import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import type { BlockEdit } from '../../../src/memory/strategy/memory-blocks.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import type { BlockChange, StoredBlock } from '../../../src/storage/tenant/blocks.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import { CONVERSATIONS, start, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

let made = 0;
const newKey = (): string => `sk-a-caller-of-the-block-tests-${made++}`;

/** The blocks of a tenant of its own. */
function tenant(evicted = false) {
  const stub = env.TENANT_MEMORY.getByName(`blocks ${made++}`) as DurableObjectStub<TenantMemory>;
  const call = async <Result>(
    use: (memory: TenantMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => {
    const result = await runInDurableObject(stub, use);
    if (evicted) await evictDurableObject(stub);
    return result;
  };
  let changes = 0;
  const change = (label: string, edit: BlockEdit, more: Partial<BlockChange> = {}) =>
    call((memory) =>
      memory.blocks.change({
        label,
        edit,
        expected: undefined,
        id: `change ${changes++}`,
        earlier: null,
        ...more,
      }),
    );
  const set = (label: string, text: string, more: Partial<BlockChange> = {}) =>
    change(label, { kind: 'set', text }, more);
  const read = async (label: string): Promise<StoredBlock | undefined> =>
    (await call((memory) => memory.blocks.read([label])))[0];
  return { call, change, set, read };
}

describe.each([
  { life: 'awake', evicted: false },
  { life: 'evicted after each call', evicted: true },
])('the blocks of a tenant, $life', ({ evicted }) => {
  it('have versions that grow by one', async () => {
    const { change, set, read, call } = tenant(evicted);

    expect(await set('team', 'One.')).toMatchObject({ state: 'changed', isNew: true, block: { version: 1 } });
    await change('team', { kind: 'append', content: 'Two.' });
    expect(await set('team', 'One.\nTwo.')).toMatchObject({ isNew: false, block: { version: 2 } });

    expect(await read('team')).toMatchObject({ version: 2, text: 'One.\nTwo.' });
    const found = await call((memory) => memory.blocks.find('team', 1));
    expect(found).toMatchObject({ block: { version: 1, text: 'One.' }, versions: [2, 1] });
    expect(await call((memory) => memory.blocks.find('team', 3))).toBeNull();
  });

  it('keep the newest 20 versions of each', async () => {
    const { set, call } = tenant(evicted);
    await set('other', 'Stays.');
    for (let n = 1; n <= 25; n++) await set('team', `Text ${n}`);

    const found = await call((memory) => memory.blocks.find('team', null));

    expect(found?.versions).toEqual(Array.from({ length: 20 }, (_, at) => 25 - at));
    expect(await call((memory) => memory.blocks.find('team', 5))).toBeNull();
    expect(await call((memory) => memory.blocks.find('other', 1))).not.toBeNull();
  });

  it('are not changed again by a call that is repeated', async () => {
    const { change, read } = tenant(evicted);
    const append = { kind: 'append', content: 'Once.' } as const;
    await change('team', { kind: 'set', text: '' }, { id: 'first' });

    const once = await change('team', append, { id: 'same', expected: 1 });
    const again = await change('team', append, { id: 'same', expected: 1 });

    expect(again).toEqual(once);
    expect(await read('team')).toMatchObject({ version: 2, text: 'Once.' });
  });

  it('leave no trace by looking', async () => {
    const { call, read, set } = tenant(evicted);
    const tables = () =>
      call((_, { storage }) => storage.sql.exec('SELECT name FROM sqlite_master').toArray());

    expect(await read('team')).toBeUndefined();
    expect(await call((memory) => memory.blocks.list())).toEqual([]);
    expect(await call((memory) => memory.blocks.delete('team', undefined))).toEqual({ state: 'absent' });
    expect(await set('team', 'x', { expected: 3 })).toEqual({ state: 'stale', version: 0 });
    expect(await tables()).toEqual([]);
  });
});

describe('a tenant', () => {
  it('has at most 100 blocks', async () => {
    const { call, set } = tenant();
    await call((memory) => {
      for (let n = 0; n < 100; n++)
        memory.blocks.change({
          label: `${n}`,
          edit: { kind: 'set', text: '' },
          expected: undefined,
          id: `${n}`,
          earlier: null,
        });
    });

    expect(await set('one more', 'x')).toEqual({ state: 'too_many' });
    expect(await set('7', 'Another text.')).toMatchObject({ state: 'changed' });
    await call((memory) => memory.blocks.delete('3', undefined));
    expect(await set('one more', 'x')).toMatchObject({ state: 'changed' });
  });

  it('learns from the route that it has too many', async () => {
    const { request } = startApp(watchedBucket().bucket, {}, newKey());
    const put = (label: string) => request(`/v1/blocks/${label}`, { method: 'PUT', body: '{"text":"x"}' });
    for (let n = 0; n < 100; n++) await put(`label-${n}`);

    const refused = await put('one-more');

    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_blocks', param: 'label' } });
  });
});

const FIRST = { PRECIS_SECRET: 'the first secret of the block tests' };
const ROTATED = {
  PRECIS_SECRET: 'the second secret of the block tests',
  PRECIS_SECRET_PREVIOUS: FIRST.PRECIS_SECRET,
};

describe('after a rotation of the secret', () => {
  const rotated = async (text: string) => {
    const key = newKey();
    const under = (secrets: object) => {
      const { request, chat, sent } = startApp(watchedBucket().bucket, secrets, key);
      const json = async (path: string, init: RequestInit = {}) => {
        const response = await request(path, init);
        return { status: response.status, body: (await response.json()) as Record<string, unknown> };
      };
      const put = (label: string, value: object) =>
        json(`/v1/blocks/${label}`, { method: 'PUT', body: JSON.stringify(value) });
      return { json, put, chat, sent };
    };
    await under(FIRST).put('team', { text });
    return { before: under(FIRST), after: under(ROTATED) };
  };

  it('a block is read, listed and shown, and keeps its version', async () => {
    const { before, after } = await rotated('Of before.');

    expect((await after.json('/v1/blocks/team')).body).toMatchObject({ version: 1, text: 'Of before.' });
    expect((await after.json('/v1/blocks')).body.data).toMatchObject([{ label: 'team', version: 1 }]);
    await after.chat({ model: 'm', messages: [user('Hi')], memory_blocks: ['team'] });
    expect(after.sent.at(-1)?.body).toContain('Of before.');
    const changed = await after.put('team', { text: 'Of now.', version: 1 });
    expect(changed).toMatchObject({ status: 200, body: { version: 2 } });
    expect((await after.json('/v1/blocks')).body.data).toMatchObject([{ label: 'team', version: 2 }]);
    expect((await before.json('/v1/blocks/team')).body).toMatchObject({ version: 1 });
  });

  it('a block is deleted with the one of before', async () => {
    const { before, after } = await rotated('Of before.');
    await after.put('team', { text: 'Of now.' });

    const stale = await after.json('/v1/blocks/team', { method: 'DELETE', headers: { 'if-match': '1' } });
    expect(stale).toMatchObject({ status: 412, body: { error: { code: 'block_changed' } } });
    expect((await after.json('/v1/blocks/team', { method: 'DELETE' })).status).toBe(200);

    for (const { json } of [before, after]) expect((await json('/v1/blocks/team')).status).toBe(404);
  });

  it('a block that is only under the secret of before is deleted there', async () => {
    const { before, after } = await rotated('Of before.');

    expect((await after.json('/v1/blocks/team', { method: 'DELETE' })).status).toBe(200);

    expect((await before.json('/v1/blocks/team')).status).toBe(404);
    expect((await after.json('/v1/blocks/team', { method: 'DELETE' })).status).toBe(404);
  });
});

describe('storage that fails', () => {
  const BLOCKS = { memory_blocks: ['team'] };

  it.each(['frozenBlocks.at', 'frozenBlocks.freeze', 'blocks.read'])(
    'at %s leaves memory blocks out of the view, with a warning',
    async (method) => {
      const tenants = watchedObjects(env.TENANT_MEMORY);
      const { objects, ask, messages } = start(undefined, { TENANT_MEMORY: tenants.namespace }, newKey());
      objects.failing.add(method);
      tenants.failing.add(method);

      const { response, view, warning } = await ask(1, BLOCKS);

      expect(response.status).toBe(200);
      expect(warning).toBe('store_failed');
      expect(JSON.parse(view)).toEqual({ model: 'gpt-4.1', messages: messages.slice(0, -1) });
    },
  );

  it('by never answering does not hold up the request', async () => {
    const { objects, ask } = start(undefined, {}, newKey());
    objects.hanging.add('frozenBlocks.at');
    shorten({ memoryReadMs: 500 });

    expect((await ask(1, BLOCKS, false)).warning).toBe('store_failed');
  });

  it('leaves frozen blocks that the isolate knows in the view', async () => {
    const { objects, ask } = start(undefined, {}, newKey());
    const first = await ask(1, BLOCKS);
    for (const method of ['frozenBlocks.at', 'frozenBlocks.freeze']) objects.failing.add(method);

    const second = await ask(2, BLOCKS);

    expect(first.view).toContain('Memory blocks: ');
    expect(second.warning).toBeNull();
    expect(second.view).toContain('Memory blocks: ');
  });

  it.each([
    ['GET', '/v1/blocks', 'blocks.list'],
    ['GET', '/v1/blocks/team', 'blocks.find'],
    ['PUT', '/v1/blocks/team', 'blocks.change'],
    ['DELETE', '/v1/blocks/team', 'blocks.delete'],
  ])('is a 503 to %s %s', async (method, path, call) => {
    const tenants = watchedObjects(env.TENANT_MEMORY);
    tenants.failing.add(call);
    const { request } = startApp(watchedBucket().bucket, { TENANT_MEMORY: tenants.namespace }, newKey());

    const response = await request(path, { method, ...(method === 'PUT' ? { body: '{"text":"x"}' } : {}) });

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
  });

  it('is reported to the model that writes, and the answer goes on', async () => {
    const tenants = watchedObjects(env.TENANT_MEMORY);
    tenants.failing.add('blocks.change');
    const app = startApp(watchedBucket().bucket, { TENANT_MEMORY: tenants.namespace }, newKey());
    const sent: string[] = [];
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'core_memory_append', arguments: '{"label":"team","content":"Note."}' },
    };
    const messages = [{ role: 'assistant', content: null, tool_calls: [call] }, assistant('Well.')];
    vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
      const message = messages[sent.length];
      sent.push(await new Request(input, init).text());
      const finish_reason = message?.content === null ? 'tool_calls' : 'stop';
      const choices = [{ index: 0, message, finish_reason }];
      return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices });
    });

    const response = await app.chat({
      model: 'gpt-4.1',
      messages: [user('Note it.')],
      memory_blocks: { labels: ['team'], writable: true },
    });

    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    expect(choices[0]?.message.content).toBe('Well.');
    expect(sent).toHaveLength(2);
    expect(sent[1]).toContain('Storage does not answer at the moment.');
  });
});

describe('frozen blocks', () => {
  const conversation = () => {
    const key = newKey();
    const { id } = new Tenants(env.PRECIS_SECRET).ofToken(key);
    const stub = CONVERSATIONS.getByName(conversationName(id, undefined, { id: 'frozen' }));
    return stub as unknown as {
      readonly frozenBlocks: {
        at(point: string, labels: readonly string[]): Promise<readonly { text: string }[]>;
        freeze(point: string, blocks: readonly object[], replaces: boolean): Promise<readonly object[]>;
      };
      leave(unusedSince?: number): Promise<{ of: string; existed: boolean }>;
    };
  };
  const block = (label: string, version: number) => ({ label, version, text: `${label} ${version}` });

  it('are the first caller’s, unless they are replaced', async () => {
    const stub = conversation();

    expect(await stub.frozenBlocks.freeze('p', [block('a', 1)], false)).toEqual([block('a', 1)]);
    expect(await stub.frozenBlocks.freeze('p', [block('a', 2)], false)).toEqual([block('a', 1)]);
    expect(await stub.frozenBlocks.freeze('p', [block('a', 3), block('b', 1)], true)).toEqual([
      block('a', 3),
      block('b', 1),
    ]);
    expect(await stub.frozenBlocks.at('p', ['b', 'c'])).toEqual([block('b', 1)]);
    expect(await stub.frozenBlocks.at('q', ['a'])).toEqual([]);
  });

  it('are the newest 2,000 of a conversation', async () => {
    const stub = conversation();
    const labels = Array.from({ length: 20 }, (_, n) => `l${n}`);
    for (let point = 0; point < 101; point++)
      await stub.frozenBlocks.freeze(
        `p${point}`,
        labels.map((label) => block(label, 1)),
        false,
      );

    expect(await stub.frozenBlocks.at('p0', labels)).toEqual([]);
    expect(await stub.frozenBlocks.at('p1', labels)).toHaveLength(20);
    expect(await stub.frozenBlocks.at('p100', labels)).toHaveLength(20);
  });

  it('leave with their conversation', async () => {
    const stub = conversation();
    await stub.frozenBlocks.freeze('p', [block('a', 1)], false);

    expect(await stub.leave()).toMatchObject({ of: 'nothing', existed: true });

    expect(await stub.frozenBlocks.at('p', ['a'])).toEqual([]);
  });
});
