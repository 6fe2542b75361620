/**
 * The rotation of `PRECIS_SECRET`: data under the previous secret is read and deleted, and nothing
 * more is written under it.
 */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, calls, lines, result, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { refsIn, SUMMARIZE, SUMMARIZER, start, startApp, watchedBucket } from '../support.ts';

const FIRST = { PRECIS_SECRET: 'the first secret of the tests' };
const ROTATED = {
  PRECIS_SECRET: 'the second secret of the tests',
  PRECIS_SECRET_PREVIOUS: FIRST.PRECIS_SECRET,
};
const COMPACT = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1, archive: true };

let made = 0;

/** A new caller, under each secret. */
function caller() {
  const key = `sk-a-caller-of-the-rotation-tests-${made++}`;
  const id = 'rotated';
  const output = `The secret output ${made}.\n${lines(40, 'of the first secret')}`;
  const messages = [
    user('Look it up.'),
    calls(['a', 'search', '{}']),
    result('a', output),
    assistant('Done.'),
    user('And now?'),
  ];
  const appOf = (variables: object) => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket, variables);
    app.answer.words = () => 'This is the answer.';
    const headers = { authorization: `Bearer ${key}` };
    const request = (path: string, init: RequestInit = {}) =>
      app.request(path, { ...init, headers: { ...headers, ...init.headers } });
    const chat = (body: object) =>
      request('/v1/chat/completions', {
        method: 'POST',
        body: JSON.stringify({ model: 'gpt-4.1', memory_strategy: COMPACT, conversation_id: id, ...body }),
      });
    return { app, request, chat, watched };
  };
  const idOf = ({ PRECIS_SECRET }: { PRECIS_SECRET: string }) => new Tenants(PRECIS_SECRET).ofToken(key).id;
  /** A first request, which stores data under the first secret. */
  const leaveSome = async () => {
    const { app, chat } = appOf(FIRST);
    await chat({ messages });
    const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');
    return ref;
  };
  return { id, output, messages, appOf, idOf, leaveSome };
}

const keysOf = async (tenant: string) =>
  (await env.REFS.list({ prefix: `${tenant}/` })).objects.map(({ key }) => key);

beforeEach(quiet);

describe('after a rotation', () => {
  it('F11: a ref of before is read, listed once beside the new ones, and deleted', async () => {
    const { appOf, leaveSome, output, messages, idOf } = caller();
    const ref = await leaveSome();
    const { app, request, chat } = appOf(ROTATED);

    expect(await (await request(`/v1/refs/${ref}`)).text()).toBe(output);
    await chat({ messages });
    const [now = ''] = refsIn(app.sent.at(-1)?.body ?? '');
    expect(now).not.toBe(ref);
    const listed = async (query = '') => (await (await request(`/v1/refs${query}`)).json()) as Listed;
    expect((await listed()).data.map(({ id }) => id)).toEqual([ref, now].sort());
    const first = await listed('?limit=1');
    expect([first.data.length, first.has_more]).toEqual([1, true]);
    const second = await listed(`?limit=1&cursor=${first.cursor}`);
    expect([second.data[0]?.id, second.has_more]).toEqual([[ref, now].sort()[1], false]);

    expect((await request(`/v1/refs/${ref}`, { method: 'DELETE' })).status).toBe(200);
    expect((await request(`/v1/refs/${ref}`)).status).toBe(404);
    expect((await request(`/v1/refs/${ref}`, { method: 'DELETE' })).status).toBe(404);
    expect((await request(`/v1/refs/${now}`)).status).toBe(200);
    expect((await keysOf(idOf(FIRST))).filter((key) => key.includes('/ref_'))).toEqual([]);
  });

  it('F11: a model may fetch a ref of before that its view names', async () => {
    const { appOf, leaveSome, messages, output } = caller();
    const ref = await leaveSome();
    const { app, chat } = appOf(ROTATED);
    const marker = `⟦removed: tool output for search (call_id=a); reason=context_compaction; ref=${ref}; tokens=99⟧`;
    let fetched = false;
    vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
      const { url, method, headers } = new Request(input, init);
      const body = await new Request(input, init).text();
      app.sent.push({ url: `${method} ${url}`, headers, body });
      const tool_calls = [
        { id: 'r', type: 'function', function: { name: 'retrieve_ref', arguments: JSON.stringify({ ref }) } },
      ];
      const message = fetched ? assistant('Done.') : { role: 'assistant', content: null, tool_calls };
      const choice = { index: 0, message, finish_reason: fetched ? 'stop' : 'tool_calls' };
      fetched = true;
      return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices: [choice] });
    });

    await chat({
      messages: [...messages.slice(0, 2), result('a', marker), ...messages.slice(3)],
      memory_strategy: { mode: 'compact', token_budget: 100_000, compact_retrieval: 'tool' },
    });

    const { messages: sent } = JSON.parse(app.sent.at(-1)?.body ?? '{}');
    expect(sent[2].content).toBe(marker);
    expect(sent.at(-1)).toMatchObject({ role: 'tool', content: output });
  });

  it('F11: nothing is written under the secret before', async () => {
    const { appOf, leaveSome, messages, idOf } = caller();
    await leaveSome();
    const kept = await keysOf(idOf(FIRST));
    const { chat, watched } = appOf(ROTATED);
    await chat({ messages: [...messages, assistant('This.'), user('More?')] });

    const written = watched.operations.filter(({ name }) => name === 'put').map(({ key }) => key);
    expect(written.length).toBeGreaterThan(0);
    expect(written.filter((key) => !key.startsWith(`${idOf(ROTATED)}/`))).toEqual([]);
    expect(await keysOf(idOf(FIRST))).toEqual(kept);
  });

  it('F11: an archive of before is read and searched until there is a new one, and goes with its conversation', async () => {
    const { id, appOf, leaveSome, messages, idOf } = caller();
    await leaveSome();
    const { request, chat } = appOf(ROTATED);
    const path = `/v1/conversations/${id}`;
    const positions = async (query = '') => {
      const response = await request(`${path}/messages${query}`);
      return ((await response.json()) as { data: { position: number }[] }).data.map(
        ({ position }) => position,
      );
    };
    expect(await positions()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await positions('?q=Look')).toEqual([0]);
    expect((await request(`${path}/memory`)).status).toBe(200);

    await chat({ messages: [...messages, assistant('This is the answer.'), user('More?')] });
    expect(await positions()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);

    expect((await request(`${path}/memory`, { method: 'DELETE' })).status).toBe(200);
    expect((await request(`${path}/messages`)).status).toBe(404);
    expect([...(await keysOf(idOf(FIRST))), ...(await keysOf(idOf(ROTATED)))]).toEqual([]);
  });

  it('F11: MCP searches what there was', async () => {
    const { id, appOf, leaveSome } = caller();
    await leaveSome();
    const { request } = appOf(ROTATED);
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_memory', arguments: { query: 'Look', conversation_id: id } },
    };
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const response = await request('/mcp', { method: 'POST', headers, body: JSON.stringify(call) });
    expect(await response.text()).toContain('[0 user] Look it up.');
  });

  it('F11: settings of before hold until there are new ones', async () => {
    const { id, appOf, messages } = caller();
    const path = `/v1/conversations/${id}/memory`;
    await appOf(FIRST).request(path, { method: 'PATCH', body: '{"mode":"trim","max_turns":9}' });
    const { request, chat } = appOf(ROTATED);
    const modeOf = async () => {
      const { headers } = await chat({ messages, memory_strategy: undefined });
      return [headers.get('x-memory-mode'), headers.get('x-memory-source')];
    };
    expect(await modeOf()).toEqual(['trim', 'conversation']);
    await request(path, { method: 'PATCH', body: '{"mode":"none"}' });
    expect(await modeOf()).toEqual(['none', 'conversation']);
  });

  it('F11: everything of a caller is deleted, of before too', async () => {
    const { appOf, leaveSome, messages, idOf } = caller();
    const ref = await leaveSome();
    const { request, chat } = appOf(ROTATED);
    await chat({ messages });

    const response = await request('/v1/memory', { method: 'DELETE' });

    expect(await response.json()).toMatchObject({ deleted: true });
    expect([...(await keysOf(idOf(FIRST))), ...(await keysOf(idOf(ROTATED)))]).toEqual([]);
    expect((await request(`/v1/refs/${ref}`)).status).toBe(404);
  });

  it('F11: a compaction item of before opens', async () => {
    const { appOf, messages } = caller();
    const sealed = await appOf(FIRST).request('/v1/compact', {
      method: 'POST',
      body: JSON.stringify({ messages, memory_strategy: 'trim', format: 'opaque', user: 'ann' }),
    });
    const { messages: held } = (await sealed.json()) as { messages: object[] };
    const { app, chat } = appOf(ROTATED);

    const response = await chat({ messages: held, user: 'ann', memory_strategy: 'none' });

    expect(response.status).toBe(200);
    expect(JSON.parse(app.sent.at(-1)?.body ?? '{}').messages).toEqual(messages);
    expect((await chat({ messages: held, user: 'bob', memory_strategy: 'none' })).status).toBe(400);
    const { PRECIS_SECRET } = ROTATED;
    expect((await appOf({ PRECIS_SECRET }).chat({ messages: held, user: 'ann' })).status).toBe(400);
  });

  it('F11: a summary is made again, and the conversation goes on', async () => {
    const one = start(SUMMARIZE, { ...FIRST, ...SUMMARIZER });
    await one.rounds(1, 4);
    const [{ view } = { view: '' }] = await one.rounds(5, 5);
    expect(view).toContain('<session_summary');
    const two = start(SUMMARIZE, { ...ROTATED, ...SUMMARIZER });
    two.messages.push(...one.messages);
    const after = await two.ask(6);
    expect(after.response.status).toBe(200);
    expect(after.view).toContain('<session_summary');
    expect(two.summarizerCalls().length).toBeGreaterThan(0);
  });
});

describe('without an earlier secret', () => {
  it('F11: storage is asked as often as ever for a ref that is not there', async () => {
    const { appOf, leaveSome } = caller();
    const ref = await leaveSome();
    const { request, watched } = appOf(FIRST);
    await request(`/v1/refs/${ref}`, { method: 'DELETE' });
    watched.operations.length = 0;
    expect((await request(`/v1/refs/${ref}`)).status).toBe(404);
    expect(watched.operations).toHaveLength(1);
  });

  it.each([
    ['the secret itself', { PRECIS_SECRET_PREVIOUS: FIRST.PRECIS_SECRET }],
    ['too short', { PRECIS_SECRET_PREVIOUS: 'short' }],
  ])('F11: a variable that is %s is a mistake', async (_, variables) => {
    const { appOf } = caller();
    const response = await appOf({ ...FIRST, ...variables }).request('/v1/refs');
    expect(response.status).toBe(500);
  });
});

interface Listed {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}
