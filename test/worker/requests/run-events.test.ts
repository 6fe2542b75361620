/** Events of requests: what is kept of them, for how long, and what happens when that fails. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import { type RunEvent, runEventSchema } from '../../../src/memory/run/event.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { RunEvents } from '../../../src/storage/conversation/run-events.ts';
import { RunOutboxes } from '../../../src/storage/conversation/run-outboxes.ts';
import { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import { loggedLines } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import {
  CONVERSATIONS,
  question,
  SUMMARIZE,
  SUMMARIZER,
  start,
  startApp,
  watchedBucket,
  watchedObjects,
} from '../support.ts';

const logged = loggedLines();

const COMPACT = { mode: 'compact', token_budget: 3_000 };
const NAMED = { conversation_id: 'c', memory_strategy: COMPACT };

let keys = 0;

/** The app with a caller of its own. */
function caller(variables: Partial<Env> = {}) {
  const key = `sk-a-caller-whose-requests-are-kept-${++keys}`;
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(
    watchedBucket().bucket,
    { ...SUMMARIZER, CONVERSATION_MEMORY: objects.namespace, ...variables },
    key,
  );
  const read = async (path: string) => {
    const response = await app.request(path);
    return { status: response.status, body: (await response.json()) as never };
  };
  const list = async (id = 'c', query = ''): Promise<Page> =>
    (await read(`/v1/conversations/${id}/requests${query}`)).body;
  const event = async (n: number, id = 'c'): Promise<RunEvent & { outline: object[] }> =>
    (await read(`/v1/conversations/${id}/requests/${n}`)).body;
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const stub = CONVERSATIONS.getByName(
    conversationName(tenant, undefined, { id: 'c' }),
  ) as DurableObjectStub<ConversationMemory>;
  const rows = (table: string) =>
    runInDurableObject(stub, (_, { storage: { sql } }) => sql.exec(`SELECT * FROM ${table}`).toArray());
  const keeps = () => objects.calls.filter((call) => call === 'events.add').length;
  return { key, app, objects, read, list, event, stub, rows, keeps };
}

interface Page {
  readonly data: readonly RunEvent[];
  readonly has_more: boolean;
  readonly cursor: string | null;
  readonly lost: number;
}

const steps = (from: number, to: number): Message[] =>
  Array.from({ length: to - from }, (_, at) =>
    step(`c${from + at}`, 'find', `${lines(60)} ${from + at}`),
  ).flat();

const GO = [user('go')];

const edit = (message: number) => ({
  message,
  kind: 'output' as const,
  call: -1,
  reason: 'context_compaction',
  tool: 'find',
  ref: null,
  tokens: 900,
  freed: 800,
});

describe('a request of a conversation', () => {
  it('has an event that says what its headers say', async () => {
    const { app, list, event } = caller();
    const response = await app.chat(body([...GO, ...steps(0, 8)], NAMED));

    const { data, has_more, cursor } = await list();
    const one = await event(1);

    expect(data).toHaveLength(1);
    expect([has_more, cursor]).toEqual([false, null]);
    const { outline, ...kept } = one;
    expect(runEventSchema.parse(kept)).toEqual(kept);
    const { edits, left_out, ...listed } = kept;
    expect(data[0]).toEqual(listed);
    expect(left_out).toEqual([]);
    expect(kept).toMatchObject({
      n: 1,
      protocol: 'chat',
      kind: 'answer',
      mode: 'compact',
      source: 'request',
      observed: false,
      messages: 17,
      status: 200,
      ended: 'complete',
      error: null,
    });
    expect(String(kept.tokens?.before)).toBe(response.headers.get('x-memory-tokens-before'));
    expect(String(kept.tokens?.after)).toBe(response.headers.get('x-memory-tokens-after'));
    expect(String(edits.length)).toBe(response.headers.get('x-memory-refs'));
    expect(edits.length).toBeGreaterThan(2);
    expect(edits.every(({ ref }) => ref?.startsWith('ref_'))).toBe(true);
    expect(outline).toHaveLength(17);
  });

  it('holds nothing of the content', async () => {
    const { app, rows } = caller();
    await app.chat(body([...GO, ...steps(0, 8)], NAMED));

    const text = JSON.stringify([await rows('run_events'), await rows('run_parts')]);

    expect(text).toContain('find');
    expect(text).not.toContain('line 1');
    expect(text).not.toContain('go"');
  });

  it('has no event with EVENTS=off, and no call', async () => {
    const { app, objects, read } = caller({ EVENTS: 'off' });
    await app.chat(body([...GO, ...steps(0, 8)], { ...NAMED, memory_injection: false }));

    expect(objects.calls).toEqual([]);
    expect((await read('/v1/conversations/c/requests')).status).toBe(404);
  });

  it('has none in mode none, unless its body is read and it names its conversation', async () => {
    const { app, keeps, list } = caller();
    const messages = [user('Hello'), assistant('Hi'), user('And?')];
    await app.chat(body(messages, {}));
    await app.chat(body(messages, { memory_strategy: 'none', memory_report: true }));
    const headers = { 'x-conversation-id': 'c', 'x-memory-strategy': 'none' };
    const unread = JSON.stringify(body(messages, {}));
    await app.request('/v1/chat/completions', { method: 'POST', headers, body: unread });
    expect(keeps()).toBe(0);

    await app.chat(body(messages, { conversation_id: 'c', memory_strategy: 'none' }));

    expect(keeps()).toBe(1);
    expect((await list()).data).toMatchObject([{ mode: 'none', tokens: null, messages: 3 }]);
  });

  it('has none before an answer names its conversation, and can be read by the opening then', async () => {
    const { app, keeps, read, list } = caller();
    await app.chat(body([user('Hello')], { memory_strategy: COMPACT }));
    expect(keeps()).toBe(0);
    await app.chat(body([user('Hello'), assistant('Hi'), user('And?')], { memory_strategy: COMPACT }));
    expect(keeps()).toBe(1);

    const { data } = (await read('/v1/conversations')).body as {
      data: { id: null; opening: string; versions: number }[];
    };

    expect(data).toMatchObject([{ id: null, opening: expect.stringMatching(/^[0-9a-f]{64}$/), versions: 0 }]);
    expect((await list(data[0]?.opening)).data).toMatchObject([{ n: 1, messages: 3 }]);
  });

  it('is no memory of its conversation', async () => {
    const { app, read } = caller();
    await app.chat(body(GO, NAMED));

    expect((await read('/v1/conversations/c/memory')).status).toBe(404);
    expect((await read('/v1/conversations/c/messages')).status).toBe(404);
    expect((await read('/v1/conversations')).body).toMatchObject({
      data: [{ id: 'c', opening: null, versions: 0, status: 'healthy' }],
    });
    const settings = await app.request('/v1/conversations/c/memory', {
      method: 'PATCH',
      body: '{"mode":"auto"}',
    });
    expect(settings.status).toBe(200);
    expect((await read('/v1/conversations/c/memory')).status).toBe(200);
  });

  it('has the tokens that the upstream has counted', async () => {
    const { app, event } = caller();
    const usage = {
      prompt_tokens: 700,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 512, cache_write_tokens: 64 },
    };
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () =>
      Response.json({ id: 'chatcmpl-1', choices: [], usage }, { headers: { 'x-request-id': 'req_7' } }),
    );
    await app.chat(body(GO, { ...NAMED, memory_report: true }));
    await app.chat(body(GO, NAMED));

    for (const n of [1, 2])
      expect(await event(n)).toMatchObject({
        request_id: 'req_7',
        usage: { input: 700, cached: 512, cache_writes: 64, output: 9 },
      });
  });

  it('reports an error of the upstream, and one of Precis', async () => {
    const { app, event } = caller();
    app.answer.status = 429;
    await app.chat(body(GO, NAMED));
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('no route'));
    expect((await app.chat(body(GO, NAMED))).status).toBe(502);

    expect(await event(1)).toMatchObject({ status: 429, ended: 'error', error: null });
    expect(await event(2)).toMatchObject({
      status: 502,
      ended: 'error',
      error: 'upstream_unreachable',
      usage: null,
      ms: { first_byte: null },
    });
  });

  it('is kept only once its key is accepted', async () => {
    const { app, keeps } = caller({ VERIFY_KEYS: 'true' });
    app.answer.status = 401;
    await app.chat(body(GO, { ...NAMED, memory_injection: false }));
    expect(keeps()).toBe(0);
    app.answer.status = 200;
    await app.chat(body(GO, { ...NAMED, memory_injection: false }));
    expect(keeps()).toBe(1);
  });

  it('has the plan beside it where it is observed', async () => {
    const { app, event } = caller();
    const sent = body([...GO, ...steps(0, 8)], { ...NAMED, memory_strategy: { ...COMPACT, observe: true } });
    const response = await app.chat(sent);

    const one = await event(1);

    expect(one).toMatchObject({ observed: true, trigger: 'token_budget' });
    expect(one.edits.length).toBeGreaterThan(2);
    expect(String(one.tokens?.after)).toBe(response.headers.get('x-memory-potential-after'));
  });

  it('names the summary that replaces messages, and the messages', async () => {
    const { id, ask, app } = start(SUMMARIZE, {}, `sk-a-caller-whose-requests-are-kept-${++keys}`);
    for (let n = 1; n <= 5; n++) await ask(n);

    const path = `/v1/conversations/${encodeURIComponent(id)}/requests`;
    const { data } = (await (await app.request(path)).json()) as Page;
    const one = (await (await app.request(`${path}/5`)).json()) as RunEvent;

    expect(data.map(({ n }) => n)).toEqual([5, 4, 3, 2, 1]);
    expect(one.summary).toMatchObject({ status: 'completed', memory_id: 1, covers: [0, expect.any(Number)] });
    // The first request stays.
    const last = one.summary?.covers[1];
    expect(one.left_out).toEqual([{ from: 1, to: last, fate: 'summarized', ref: one.summary?.ref }]);
  });

  it('is a compaction where the conversation is put away', async () => {
    const { app, list } = caller();
    const messages = [1, 2, 3].flatMap((n) => [user(question(n)), assistant('An answer.')]);
    await app.request('/v1/compact', {
      method: 'POST',
      body: JSON.stringify(body(messages, { ...NAMED, force: true })),
    });
    await app.request('/v1/compact', {
      method: 'POST',
      body: JSON.stringify(body(messages, { ...NAMED, dry_run: true })),
    });
    await app.request('/v1/responses/compact', {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1', input: messages, conversation_id: 'c' }),
    });

    await app.request('/v1/responses', {
      method: 'POST',
      body: JSON.stringify({
        model: 'gpt-4.1',
        input: [...messages, { type: 'compaction_trigger' }],
        conversation_id: 'c',
      }),
    });

    expect((await list()).data).toMatchObject([
      { n: 3, kind: 'compaction', protocol: 'responses', usage: null, status: 200, ended: 'complete' },
      { n: 2, kind: 'compaction', protocol: 'responses', usage: null, status: 200, ended: 'complete' },
      { n: 1, kind: 'compaction', protocol: 'chat', mode: 'compact' },
    ]);
  });
});

describe('a refused phase', () => {
  it('is reported with its reason', async () => {
    const { app, event } = caller();
    const strategy = { mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 100_000 };
    await app.chat(body([...GO, ...steps(0, 8)], { ...NAMED, memory_strategy: strategy }));

    const { refused, trigger, edits } = await event(1);

    expect(trigger).toBe('none');
    expect(edits).toEqual([]);
    expect(refused).toContainEqual({
      phase: 'reversible',
      because: 'floor',
      freed: expect.any(Number),
      least: 100_000,
    });
  });
});

describe('events in the object', () => {
  it('are kept once, although a call is repeated', async () => {
    const { stub, list } = caller();
    const first = batchOf(endedRun(), endedRun());
    await stub.events.add(first);
    await stub.events.add(first);
    await stub.events.add(batchOf(endedRun()));

    expect((await list()).data.map(({ n }) => n)).toEqual([3, 2, 1]);
  });

  it('are numbered in the order in which the calls of several isolates come', async () => {
    const { stub, list, event } = caller();
    for (const first of [1, 11])
      await stub.events.add(batchOf(...[0, 1, 2].map((at) => endedRun({ messages: first + at }))));

    expect((await list()).data.map(({ n, messages }) => [n, messages])).toEqual([
      [6, 13],
      [5, 12],
      [4, 11],
      [3, 3],
      [2, 2],
      [1, 1],
    ]);
    for (const n of [1, 3, 4, 6]) expect((await event(n)).n).toBe(n);
    expect((await event(5)).messages).toBe(12);
  });

  it('are not kept of requests that came before their conversation was deleted', async () => {
    const { app, stub, list, read } = caller();
    const came = Date.now();
    await stub.events.add(batchOf(endedRun({ created_at: came })));
    expect((await list()).data).toHaveLength(1);
    const gone = await app.request('/v1/conversations/c/memory', { method: 'DELETE' });
    expect(gone.status).toBe(200);

    // Its answer was still streaming.
    const late = endedRun({ created_at: came });
    await stub.events.add(batchOf(late));
    expect((await read('/v1/conversations/c/requests')).status).toBe(404);
    const listed: Page = (await read('/v1/conversations')).body;
    expect(listed.data).toEqual([]);

    const later = endedRun({ created_at: Date.now() + 1_000 });
    await stub.events.add(batchOf(late, later));
    expect(await list()).toMatchObject({ data: [{ n: 1 }], lost: 0 });
  });

  it('write one row for a batch, one for a new list, and delete one', async () => {
    const { stub } = caller();
    const written = await runInDurableObject(stub, (_, { storage: { sql } }) => {
      let cursors: SqlStorageCursor<never>[] = [];
      const exec = (...query: Parameters<SqlStorage['exec']>) => {
        const cursor = sql.exec(...query);
        cursors.push(cursor as never);
        return cursor;
      };
      const tables = new ConversationTables(
        {
          sql: { exec } as unknown as SqlStorage,
          transactionSync: (work) => work(),
        },
        () => 0,
      );
      const runs = new RunEvents(tables, vi.fn());
      const rowsOf = (...events: ReturnType<typeof endedRun>[]) => {
        cursors = [];
        runs.add(batchOf(...events));
        return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
      };
      const one = endedRun({ edits: [edit(1)] });
      rowsOf(one);
      const single = Array.from({ length: 1_995 }, () => rowsOf(one));
      const ten = rowsOf(...Array.from({ length: 10 }, () => one));
      const withList = rowsOf(endedRun({ edits: [edit(2)] }));
      return { first: single.slice(0, 100), all: single.reduce((a, b) => a + b), ten, withList };
    });

    expect(written.first).toEqual(Array(100).fill(1));
    // That a list is named is noted every 200 events.
    expect(written.all).toBe(1_995 + 9);
    // Six rows of single events are too old then, and the list is noted.
    expect(written).toMatchObject({ ten: 1 + 6 + 1, withList: 1 + 2 + 1 });
  });

  it('share the parts of their lists, as far as these are the same', async () => {
    const { stub, rows } = caller();
    const edits = Array.from({ length: 600 }, (_, at) => edit(at));
    const more = [...edits, edit(600)];
    await stub.events.add(
      batchOf(endedRun({ edits }), endedRun({ edits: edits.map((one) => ({ ...one })) })),
    );
    expect(await rows('run_parts')).toHaveLength(3);
    await stub.events.add(batchOf(endedRun({ edits }), endedRun({ edits: more }), endedRun({ edits })));

    // Only the last part has changed.
    expect(await rows('run_parts')).toHaveLength(4);
    for (const [n, list] of [edits, edits, edits, more, edits].entries())
      expect((await stub.events.find(n + 1))?.edits).toEqual(list);
  });

  it('are the newest 2,000 and those in a row with them, with the lists that these name', async () => {
    const { stub, rows, list, read } = caller();
    const left_out = [{ from: 0, to: 3, fate: 'trimmed' as const, ref: null }];
    await stub.events.add(batchOf(endedRun({ edits: [edit(1)] })));
    await stub.events.add(batchOf(endedRun({ edits: [edit(2)], left_out }), endedRun({ edits: [edit(3)] })));
    const few = Array.from({ length: 100 }, () => endedRun({ edits: [edit(1)] }));
    for (let n = 4; n < 2_004; n += few.length) await stub.events.add(batchOf(...few));
    expect(await rows('run_parts')).toHaveLength(4);
    // Two rows of the newest 2,000 are older than these.
    expect((await list('c', '?limit=1')).data).toMatchObject([{ n: 2_003 }]);
    expect((await rows('run_events')).map(({ first_n }) => first_n)).toEqual(
      Array.from({ length: 20 }, (_, at) => 4 + 100 * at),
    );
    expect((await read('/v1/conversations/c/requests/3')).status).toBe(404);

    await stub.events.add(batchOf(endedRun()));
    expect((await read('/v1/conversations/c/requests/4')).status).toBe(200);
    for (let n = 2_005; n < 2_305; n += few.length) await stub.events.add(batchOf(...few));
    expect(await rows('run_parts')).toHaveLength(1);
    expect((await rows('run_events'))[0]?.first_n).toBe(304);
    expect((await stub.events.find(304))?.edits).toEqual([edit(1)]);
  });
});

describe('a list of requests', () => {
  it('comes in pages, newest first', async () => {
    const { stub, list } = caller();
    await stub.events.add(batchOf(endedRun(), endedRun()));
    await stub.events.add(batchOf(endedRun(), endedRun(), endedRun()));

    const first = await list('c', '?limit=2');
    const second = await list('c', `?limit=2&cursor=${first.cursor}`);
    const third = await list('c', `?limit=2&cursor=${second.cursor}`);

    expect([first, second, third].map(({ data }) => data.map(({ n }) => n))).toEqual([[5, 4], [3, 2], [1]]);
    expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, true, false]);
    expect(third.cursor).toBeNull();
  });

  it('is empty for a conversation that has settings alone, and a 404 for an unknown one', async () => {
    const { app, list, read } = caller();
    await app.request('/v1/conversations/c/memory', { method: 'PATCH', body: '{"mode":"auto"}' });

    expect(await list()).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      cursor: null,
      bill: expect.objectContaining({ requests: 0, sent: null, net: null }),
      behind_ms: 0,
      lost: 0,
    });
    const one = await read('/v1/conversations/c/requests/1');
    expect(one).toMatchObject({ status: 404, body: { error: { code: 'request_not_found', param: 'n' } } });
    for (const path of ['/v1/conversations/d/requests', '/v1/conversations/d/requests/1'])
      expect(await read(path)).toMatchObject({
        status: 404,
        body: { error: { code: 'conversation_not_found' } },
      });
  });

  it.each([
    ['/v1/conversations/c/requests?limit=0', 'limit'],
    ['/v1/conversations/c/requests?limit=501', 'limit'],
    ['/v1/conversations/c/requests?cursor=x', 'cursor'],
    ['/v1/conversations/c/requests?cursor=0', 'cursor'],
    ['/v1/conversations/c/requests/0', 'n'],
    ['/v1/conversations/c/requests/one', 'n'],
  ])('refuses %s', async (path, param) => {
    const { read } = caller();
    expect(await read(path)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param } },
    });
  });

  it('takes no other method', async () => {
    const { app } = caller();
    for (const path of ['/v1/conversations/c/requests', '/v1/conversations/c/requests/1']) {
      const response = await app.request(path, { method: 'POST', body: '{}' });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
  });

  it("is the caller's own, and its user's", async () => {
    const { app, list, read } = caller();
    await app.chat(body(GO, { ...NAMED, user: 'ann' }));

    expect((await list('c', '?user=ann')).data).toHaveLength(1);
    for (const query of ['', '?user=bob'])
      expect((await read(`/v1/conversations/c/requests${query}`)).status).toBe(404);
    expect((await caller().read('/v1/conversations/c/requests?user=ann')).status).toBe(404);
  });
});

describe('events that are deleted', () => {
  const COUNT = ['run_events', 'run_parts'];
  const tables = (stub: DurableObjectStub<ConversationMemory>) =>
    runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray(),
    );

  it('go with the memory of their conversation', async () => {
    const { app, read, stub } = caller();
    await app.chat(body([...GO, ...steps(0, 8)], NAMED));
    const remove = () => app.request('/v1/conversations/c/memory', { method: 'DELETE' });

    expect((await remove()).status).toBe(200);

    expect((await tables(stub)).filter(({ name }) => COUNT.includes(name))).toEqual([]);
    expect((await read('/v1/conversations/c/requests')).status).toBe(404);
    expect((await read('/v1/conversations')).body).toMatchObject({ data: [] });
    expect((await remove()).status).toBe(404);
    await app.chat(body(GO, NAMED));
    expect((await read('/v1/conversations/c/requests')).body).toMatchObject({ data: [{ n: 1 }] });
  });

  it('go with the memory after a page that ends within a batch', async () => {
    const { app, list, stub } = caller();
    for (let at = 0; at < 4; at++) await stub.events.add(batchOf(endedRun(), endedRun(), endedRun()));
    expect((await list('c', '?limit=4')).data).toHaveLength(4);

    const gone = await app.request('/v1/conversations/c/memory', { method: 'DELETE' });

    expect(gone.status).toBe(200);
    expect((await tables(stub)).filter(({ name }) => COUNT.includes(name))).toEqual([]);
  });

  it('go with all data of their tenant', async () => {
    const { app, read, stub } = caller();
    await app.chat(body(GO, NAMED));

    expect((await app.request('/v1/memory', { method: 'DELETE' })).status).toBe(200);

    expect((await tables(stub)).filter(({ name }) => COUNT.includes(name))).toEqual([]);
    expect((await read('/v1/conversations')).body).toMatchObject({ data: [] });
  });

  it('go when the conversation expires, and its settings stay', async () => {
    const { app, stub, list } = caller();
    await app.chat(body(GO, NAMED));
    await app.request('/v1/conversations/c/memory', { method: 'PATCH', body: '{"mode":"auto"}' });

    expect(await stub.leave(0)).toMatchObject({ of: 'all', usedAt: expect.any(Number) });
    expect(await stub.leave(Date.now() + 60_000)).toMatchObject({ of: 'settings', existed: true });

    expect((await list()).data).toEqual([]);
    expect(await stub.state.settings()).toMatchObject({ memory_strategy: { mode: 'auto' } });
  });
});

describe('an event that cannot be kept', () => {
  const METRICS = { METRICS_TOKEN: 'a-token-for-the-metrics-of-tests' };
  const TEXT = /^precis_events_lost_total (\d+)$/m;

  it('is counted and logged where it cannot be made, and the answer is unharmed', async () => {
    shorten({ metricsBatchMs: 0 });
    const { app } = caller(METRICS);
    const lost = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${METRICS.METRICS_TOKEN}` };
      const text = await (await app.request('/metrics', { headers })).text();
      return Number(TEXT.exec(text)?.[1]);
    };
    const before = await lost();
    vi.spyOn(RunOutboxes.prototype, 'add').mockImplementation(() => {
      throw new RangeError('it has no JSON');
    });

    const response = await app.chat(body(GO, NAMED));

    expect(await response.json()).toMatchObject({ id: 'chatcmpl-1' });
    expect(await lost()).toBe(before + 1);
    const line = logged.find(({ message }) => message === 'the event of a request could not be made');
    expect(line).toMatchObject({ code: 'internal_error', error: 'RangeError' });
  });

  it.each(['failing', 'hanging'] as const)('is counted and logged where its object is %s', async (fault) => {
    shorten({ keepEventMs: 500, eventPauseMs: 0, metricsBatchMs: 0 });
    const { app, objects } = caller(METRICS);
    const lost = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${METRICS.METRICS_TOKEN}` };
      const text = await (await app.request('/metrics', { headers })).text();
      return Number(TEXT.exec(text)?.[1]);
    };
    const before = await lost();
    objects[fault].add('events.add');

    const response = await app.chat(body(GO, NAMED));

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 'chatcmpl-1' });
    expect(await lost()).toBe(before + 1);
    const line = logged.find(
      ({ message }) => message === 'events of requests could not be kept, and are lost',
    );
    expect(line).toMatchObject({ code: 'store_failed', error: 'Error' });
  });
});
