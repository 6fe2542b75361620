/**
 * Requests with keys beside their caller's, in front of gateways that look at one of them or at
 * all: only the caller's own opens what is stored under it.
 */
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { scopeFor } from '../../../src/request/scope.ts';
import { OPENAI } from '../../../src/upstream/api.ts';
import { conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { quiet } from '../../support/quiet.ts';
import { refsIn, startApp, watchedBucket } from '../support.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  quiet();
});

afterEach(() => {
  vi.useRealTimers();
});

const OTHER = 'the-key-of-another-one-01';

/** Headers and query with another key, which a gateway may look at. */
const OTHERS: [string, { readonly headers?: Record<string, string>; readonly query?: string }][] = [
  ['a cookie', { headers: { cookie: `session=${OTHER}` } }],
  ['api-key', { headers: { 'api-key': OTHER } }],
  ['x-api-key', { headers: { 'x-api-key': OTHER } }],
  ['x-goog-api-key', { headers: { 'x-goog-api-key': OTHER } }],
  ['cf-aig-authorization', { headers: { 'cf-aig-authorization': `Bearer ${OTHER}` } }],
  ['x-portkey-api-key', { headers: { 'x-portkey-api-key': OTHER } }],
  ['helicone-auth', { headers: { 'helicone-auth': `Bearer ${OTHER}` } }],
  ['a header of its own', { headers: { 'x-gateway': `Bearer ${OTHER}` } }],
  ['x-api-key, and connection names it', { headers: { 'x-api-key': OTHER, connection: 'x-api-key' } }],
  [
    'x-api-key, and connection names the other',
    { headers: { 'x-api-key': OTHER, connection: 'authorization' } },
  ],
  ['the query', { query: `?key=${OTHER}` }],
];

let tenants = 0;

type Looks = (asked: { readonly bearer: string | null; readonly other: boolean }) => boolean;

/** An app in front of a gateway, and what its caller has stored with its key alone. */
async function stored() {
  const key = `sk-a-key-beside-others-${String(++tenants).padStart(4, '0')}`;
  const watched = watchedBucket();
  const app = startApp(watched.bucket, { VERIFY_KEYS: 'true' }, key);
  const questions: Request[] = [];
  const gateway = (looks: Looks): void => {
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const request = new Request(input, init);
      const bearer = request.headers.get('authorization');
      const all = [...request.headers].filter(([name]) => name !== 'authorization');
      const other = JSON.stringify([request.url, all]).includes(OTHER);
      if (request.url.includes('/models')) questions.push(request);
      else app.sent.push({ url: request.url, headers: request.headers, body: await request.text() });
      const message = { role: 'assistant', content: 'Yes.' };
      const answer = { id: 'chatcmpl-1', object: 'chat.completion', choices: [{ index: 0, message }] };
      return Response.json(answer, { status: looks({ bearer, other }) ? 200 : 401 });
    });
  };
  const body = JSON.stringify({
    model: 'gpt-4.1',
    conversation_id: 'kept',
    memory_strategy: { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, archive: true },
    messages: conversationOf([linesAbout(`what ${key} keeps`)]),
  });
  const chat = ({ headers = {}, query = '' }: (typeof OTHERS)[number][1] = {}) =>
    app.request(`/v1/chat/completions${query}`, { method: 'POST', body, headers });
  const ask = async (
    path: string,
    { headers = {}, query = '' }: (typeof OTHERS)[number][1] = {},
    method = 'GET',
  ) => (await app.request(`${path}${query}`, { headers, method })).status;
  const later = () => vi.setSystemTime(Date.now() + 11 * 60_000);
  return { key, app, watched, gateway, questions, chat, ask, later };
}

describe('B8: a key that was revoked, beside another one that is accepted', () => {
  it.each(OTHERS)('reads and deletes nothing, and nothing is stored under it: %s', async (_, other) => {
    const { app, watched, gateway, chat, ask, later } = await stored();
    gateway(({ bearer }) => bearer !== null);
    expect((await chat()).status).toBe(200);
    const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');
    expect(await ask(`/v1/refs/${ref}`)).toBe(200);
    later();
    gateway(({ other }) => other);
    const before = watched.operations.length;
    expect((await chat(other)).status).toBe(200);
    for (const path of [`/v1/refs/${ref}`, '/v1/refs', '/v1/conversations/kept/messages']) {
      expect([path, await ask(path)]).toEqual([path, 401]);
      expect([path, [401, 503].includes(await ask(path, other))]).toEqual([path, true]);
    }
    expect([401, 503]).toContain(await ask('/v1/memory', other, 'DELETE'));
    expect(watched.operations.slice(before)).toEqual([]);
  });
});

describe('B11: a key that a gateway looks at, beside one of its own', () => {
  it.each(OTHERS)('is known to be accepted, and what is stored opens with it: %s', async (_, other) => {
    const { key, app, gateway, chat, ask } = await stored();
    gateway(({ bearer, other }) => other && bearer === `Bearer ${key}`);
    const response = await chat(other);
    expect([response.status, response.headers.get('x-memory-warning')]).toEqual([200, null]);
    const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');
    const { headers = {} } = other;
    expect(await ask(`/v1/refs/${ref}`, { headers })).toBe(200);
  });
});

describe('B11: a key that no gateway has looked at', () => {
  it('is asked about once in thirty seconds, with the key alone first, and with an invented one last', async () => {
    const { key, gateway, questions, chat } = await stored();
    gateway(({ other }) => other);
    const response = await chat({ headers: { cookie: OTHER, 'x-tag': 't' }, query: '?api-version=1' });
    expect(response.headers.get('x-memory-warning')).toContain('store_failed');
    await chat({ headers: { cookie: OTHER, 'x-tag': 't' }, query: '?api-version=1' });
    const seen = questions.map(({ url, headers }) => [
      new URL(url).search,
      headers.get('cookie'),
      headers.get('x-tag'),
      headers.get('authorization') === `Bearer ${key}`,
    ]);
    expect(seen).toEqual([
      ['?api-version=1', null, 't', true],
      ['?api-version=1', OTHER, 't', true],
      ['?api-version=1', OTHER, 't', false],
    ]);
  });

  it('is asked about no more often where the gateway lists no models', async () => {
    const { app, gateway, questions, chat, ask, later } = await stored();
    gateway(() => true);
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      const request = new Request(input, init);
      if (!request.url.includes('/models')) {
        app.sent.push({ url: request.url, headers: request.headers, body: await request.text() });
        return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices: [] });
      }
      questions.push(request);
      return new Response(null, { status: 404 });
    });
    const headers = { cookie: OTHER, 'x-memory-strategy': '{"mode":"auto","archive":false}' };
    const plain = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] });
    const pass = () => app.request('/v1/chat/completions', { method: 'POST', body: plain, headers });
    for (let request = 0; request < 5; request++) expect((await pass()).status).toBe(200);
    expect(questions).toHaveLength(2);
    later();
    await pass();
    expect(questions).toHaveLength(4);
    // Whoever needs to know it asks all the same.
    await chat({ headers: { cookie: OTHER } });
    expect(await ask('/v1/refs', { headers })).toBe(503);
    expect(questions.length).toBeGreaterThan(4);
  });

  it('is not named by Precis’s query', async () => {
    const { gateway, questions, ask } = await stored();
    gateway(() => false);
    expect(await ask('/v1/conversations/kept/messages', { query: '?q=words&key=k' })).toBe(401);
    expect(questions.map(({ url }) => new URL(url).search)).toEqual(['']);
  });

  it('is not named by the user of a path', async () => {
    const { app, gateway, questions, key } = await stored();
    gateway(() => false);
    const scope = scopeFor({
      services: app.services(),
      incoming: new Request('http://precis.test/v1/conversations/kept/end?user=ann', {
        headers: { authorization: `Bearer ${key}` },
      }),
      api: OPENAI,
      agent: undefined,
      named: { conversation: 'kept', user: 'ann' },
      waitUntil: () => undefined,
    });
    const { tenant } = scope.caller;
    expect(tenant && (await scope.isAccepted(tenant))).toBe(false);
    expect(questions.map(({ url }) => new URL(url).search)).toEqual(['']);
  });
});

/** As of OpenAI's SDKs for Azure: no `authorization`. */
describe('B8: a key in Azure’s header alone', () => {
  const azureOf = (key: string) => ({ headers: { authorization: '', 'api-key': key } });
  /** A server that answers by the keys that it finds, and what it is sent. */
  const lookingAt = (isIts: (key: string | null, bearer: string | null) => boolean): string[] => {
    const bodies: string[] = [];
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      const request = new Request(input, init);
      bodies.push(await request.clone().text());
      const ok = isIts(request.headers.get('api-key'), request.headers.get('authorization') || null);
      const message = { role: 'assistant', content: 'Yes.' };
      const answer = { id: 'chatcmpl-1', object: 'chat.completion', choices: [{ index: 0, message }] };
      return Response.json(answer, { status: ok ? 200 : 401 });
    });
    return bodies;
  };

  it('opens what is stored under it, where the upstream looks at it', async () => {
    const { key, chat, ask } = await stored();
    const bodies = lookingAt((found) => found === key);
    const response = await chat(azureOf(key));
    expect([response.status, response.headers.get('x-memory-warning')]).toEqual([200, null]);
    const [ref = ''] = bodies.flatMap((body) => refsIn(body));
    expect(await ask(`/v1/refs/${ref}`, azureOf(key))).toBe(200);
    expect(await ask(`/v1/refs/${ref}`, azureOf(`${key}-invented`))).toBe(401);
  });

  it('stores and opens nothing where the upstream looks at no such header', async () => {
    const { key, app, gateway, chat, ask, watched, later } = await stored();
    gateway(({ bearer }) => bearer === `Bearer ${key}`);
    await chat();
    const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');
    expect(await ask(`/v1/refs/${ref}`)).toBe(200);
    later();
    // The key is revoked, but whoever sends none is answered.
    lookingAt((_, bearer) => bearer === null);
    const before = watched.operations.length;
    const response = await chat(azureOf(key));
    expect(response.headers.get('x-memory-warning')).toContain('store_failed');
    for (const path of [`/v1/refs/${ref}`, '/v1/refs', '/v1/conversations/kept/messages'])
      expect([path, await ask(path, azureOf(key))]).toEqual([path, 503]);
    expect(await ask('/v1/memory', azureOf(key), 'DELETE')).toBe(503);
    expect(watched.operations.slice(before)).toEqual([]);
  });
});

describe('a deployment in the path of an Azure client', () => {
  const AZURE = 'https://a-resource.openai.azure.com/openai';
  const SHARED = { ACCESS_KEYS: 'ann=a-key-of-a-caller-named-ann', UPSTREAM_API_KEY: 'sk-ours' };

  it.each<[string, Partial<Env>, string, string]>([
    [AZURE, {}, 'chat/completions', `${AZURE}/deployments/gpt-a/chat/completions?api-version=1`],
    [`${AZURE}/`, {}, 'embeddings', `${AZURE}/deployments/gpt-a/embeddings?api-version=1`],
    [`${AZURE}/v1`, {}, 'chat/completions', `${AZURE}/v1/chat/completions?api-version=1`],
    [
      'https://upstream.test/v1',
      {},
      'chat/completions',
      'https://upstream.test/v1/chat/completions?api-version=1',
    ],
    // A caller's limits know the models that bodies name.
    [AZURE, SHARED, 'chat/completions', `${AZURE}/chat/completions`],
  ])('is sent to %s with %o where that takes it: %s', async (UPSTREAM_BASE_URL, more, end, url) => {
    const key = 'ACCESS_KEYS' in more ? 'a-key-of-a-caller-named-ann' : 'the-key-of-an-azure-resource';
    const app = startApp(env.REFS, { UPSTREAM_BASE_URL, ...more }, key);
    const body = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] });

    await app.request(`/openai/deployments/gpt-a/${end}?api-version=1`, { method: 'POST', body });

    expect(app.sent.map((one) => one.url)).toEqual([url]);
  });
});
