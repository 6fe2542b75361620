/** Captured views: who gets one, what it holds, and how it goes away. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { KEPT_EVENTS } from '../../../src/storage/conversation/run-events.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

let logged: { message: string; code?: string; error?: string }[] = [];

beforeEach(() => {
  logged = [];
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line: string) => void logged.push(JSON.parse(line)));
});

afterEach(() => {
  vi.restoreAllMocks();
});

const COMPACT = { mode: 'compact', token_budget: 3_000 };
const NAMED = { conversation_id: 'c', memory_strategy: COMPACT, memory_report: { capture: true } };
const LONG: Message[] = [
  user('go'),
  ...Array.from({ length: 8 }, (_, at) => step(`c${at}`, 'find', `${lines(60)} ${at}`)).flat(),
];

let keys = 0;

/** The app with a caller of its own. */
function caller(variables: Partial<Env> = {}) {
  const key = `sk-a-caller-whose-views-are-captured-${++keys}`;
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const bucket = watchedBucket();
  const bindings = { CAPTURE: 'true', CONVERSATION_MEMORY: objects.namespace, ...variables };
  const app = startApp(bucket.bucket, bindings as Partial<Env>, key);
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const stored = async () => {
    const { objects: found } = await env.REFS.list({ prefix: `${tenant}/capture_` });
    return found.map(({ key: name }) => name);
  };
  const view = (n: number, id = 'c') => app.request(`/v1/conversations/${id}/requests/${n}/view`);
  const event = async (n: number): Promise<RunEvent> =>
    (await app.request(`/v1/conversations/c/requests/${n}`)).json();
  const stub = env.CONVERSATION_MEMORY.getByName(
    conversationName(tenant, undefined, { id: 'c' }),
  ) as DurableObjectStub<ConversationMemory>;
  const sent = () =>
    app.sent.filter(({ url }) => !url.endsWith('/models')).map((one) => JSON.parse(one.body));
  return { key, app, objects, bucket, stored, view, event, stub, sent };
}

const warningsOf = async (response: Response): Promise<string[]> =>
  ((await response.json()) as { memory: { warnings: string[] } }).memory.warnings;

describe('a captured view', () => {
  it('is what went up: the edited messages, the tools of ours, and no other field', async () => {
    const { app, event, view, sent } = caller();
    const mcp = {
      type: 'mcp',
      server_label: 'm',
      server_url: 'https://mcp.example.com/?token=secret-1',
      authorization: 'secret-2',
      headers: { 'x-key': 'secret-3' },
    };
    const find = {
      type: 'function',
      function: { name: 'find', parameters: { headers: { type: 'object' } } },
    };
    const strategy = { ...COMPACT, compact_retrieval: 'tool' };
    const answer = await app.chat({
      ...body(LONG),
      ...NAMED,
      memory_strategy: strategy,
      tools: [find, mcp],
      metadata: { note: 'private' },
    });

    expect(await warningsOf(answer)).toEqual(['dearer']);
    expect((await event(1)).captured).toBe(true);
    const response = await view(1);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await response.text();
    const { model, messages, tools } = sent()[0];
    const hidden = { ...mcp, server_url: '[left out]', authorization: '[left out]', headers: '[left out]' };
    expect(JSON.parse(text)).toEqual({ model, messages, tools: [find, hidden, ...tools.slice(2)] });
    expect(tools.length).toBeGreaterThan(2);
    expect(JSON.stringify(messages)).toContain('ref_');
    expect(text).not.toMatch(/secret-|private/);
  });

  it('is encrypted, and another tenant finds none', async () => {
    const { app, stored } = caller();
    await app.chat({ ...body(LONG), ...NAMED });
    const [name] = await stored();
    const bytes = await (await env.REFS.get(name ?? ''))?.bytes();
    expect(new TextDecoder('latin1').decode(bytes)).not.toContain('messages');
    const other = caller();
    await other.app.chat({ ...body([user('mine')]), ...NAMED });
    expect((await other.view(1)).status).toBe(200);
    expect(await (await other.view(1)).text()).not.toContain('row');
    expect((await caller().view(1)).status).toBe(404);
  });

  it('is kept of streams, of the Responses API, of observed requests, and in mode none', async () => {
    const { app, view, sent } = caller();
    const observed = { ...COMPACT, observe: true };
    await app.chat({ ...body(LONG), ...NAMED, stream: true });
    await app.chat({ ...body(LONG), ...NAMED, memory_strategy: observed });
    await app.chat({ ...body(LONG), ...NAMED, memory_strategy: 'none' });
    const { memory_strategy: _, ...rest } = NAMED;
    const input = 'Hello';
    await app.request('/v1/responses', {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1', input, instructions: 'Be brief.', ...rest }),
    });
    const bodies = sent();
    for (const n of [1, 2, 3])
      expect(await (await view(n)).json()).toMatchObject({ messages: bodies[n - 1].messages });
    expect(await (await view(4)).json()).toEqual({ model: 'gpt-4.1', instructions: 'Be brief.', input });
  });

  it('is made only where deployer and caller both say so', async () => {
    const off = caller({ CAPTURE: 'false' } as Partial<Env>);
    expect(await warningsOf(await off.app.chat({ ...body(LONG), ...NAMED }))).toContain('capture_off');
    expect(await off.stored()).toEqual([]);
    expect((await off.event(1)).captured).toBe(false);
    expect((await off.view(1)).status).toBe(404);

    const on = caller();
    for (const memory_report of [true, {}, { capture: false }])
      expect(await warningsOf(await on.app.chat({ ...body(LONG), ...NAMED, memory_report }))).toEqual([]);
    expect(await on.stored()).toEqual([]);
  });

  it('is not made of a request without an event, which a warning says', async () => {
    const noEvents = caller({ EVENTS: 'off' } as Partial<Env>);
    expect(await warningsOf(await noEvents.app.chat({ ...body(LONG), ...NAMED }))).toContain('capture_off');
    const { app, stored } = caller();
    const { conversation_id: _, ...unnamed } = NAMED;
    const first = await app.chat({ ...body([user('go')]), ...unnamed });
    expect(await warningsOf(first)).toContain('capture_off');
    expect(await stored()).toEqual([]);
  });

  it.each([1, 'true', null, [], { capture: 'yes' }, { other: true }])(
    'is not asked for by memory_report: %j',
    async (memory_report) => {
      const { app } = caller();
      const answer = await app.chat({ ...body(LONG), ...NAMED, memory_report });
      if (memory_report === null) expect(answer.status).toBe(200);
      else {
        expect(answer.status).toBe(400);
        expect(await answer.json()).toMatchObject({ error: { param: 'memory_report' } });
      }
    },
  );
});

describe('a captured view goes away', () => {
  it('with its conversation, and with all of a tenant', async () => {
    const { app, stored } = caller();
    await app.chat({ ...body(LONG), ...NAMED });
    await app.chat({ ...body(LONG), ...NAMED, conversation_id: 'd' });
    expect(await stored()).toHaveLength(2);
    expect((await app.request('/v1/conversations/c/memory', { method: 'DELETE' })).status).toBe(200);
    expect(await stored()).toHaveLength(1);
    const all = await app.request('/v1/memory', { method: 'DELETE' });
    expect(all.status).toBeLessThan(300);
    await vi.waitUntil(async () => (await stored()).length === 0, { timeout: 20_000 });
  });

  it('with its event, when that is no longer among the newest', async () => {
    const { app, stub, stored, view } = caller();
    await app.chat({ ...body(LONG), ...NAMED });
    expect(await stored()).toHaveLength(1);
    await runInDurableObject(stub, (_, { storage: { sql } }) => {
      const next = KEPT_EVENTS + 1;
      sql.exec(
        `INSERT INTO run_events (first_n, tally, events)
         SELECT 2, json_set(tally, '$.next', ${next}), '[]' FROM run_events WHERE first_n = 1`,
      );
    });
    await app.chat({ ...body(LONG), ...NAMED, memory_report: true });
    expect(await stored()).toEqual([]);
    expect((await view(1)).status).toBe(404);
  });
});

describe('a view that can not be captured', () => {
  it('harms no answer: its event says so, the log has the reason, a counter counts', async () => {
    const { app, bucket, event, view } = caller();
    await app.chat({ ...body(LONG), ...NAMED });
    logged = [];
    bucket.failing.add('put');
    const answer = await app.chat({ ...body(LONG), ...NAMED });
    bucket.failing.delete('put');
    expect(answer.status).toBe(200);
    expect((await event(2)).captured).toBe(false);
    expect((await view(2)).status).toBe(404);
    expect(logged.find(({ message }) => message === 'a view could not be captured')?.error).toBeDefined();
  });

  it('leaves nothing behind if the event is lost', async () => {
    const { app, objects, stored } = caller();
    objects.failing.add('keepRuns');
    expect((await app.chat({ ...body(LONG), ...NAMED })).status).toBe(200);
    expect(await stored()).toEqual([]);
  });

  it('is an error of storage where it is damaged', async () => {
    const { app, stored, view } = caller();
    await app.chat({ ...body(LONG), ...NAMED });
    await env.REFS.put((await stored())[0] ?? '', 'damaged');
    expect((await view(1)).status).toBe(503);
  });
});

describe('the key of a caller', () => {
  it('that the upstream refuses stores no view', async () => {
    const { app, stored } = caller({ VERIFY_KEYS: 'true' });
    app.answer.status = 401;
    app.answer.modelsStatus = 401;
    await app.chat({ ...body(LONG), ...NAMED });
    expect(await stored()).toEqual([]);
  });
});
