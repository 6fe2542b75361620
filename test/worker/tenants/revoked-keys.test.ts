/**
 * Stored data requested with a key that the upstream no longer accepts, or can't be asked about.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

/** Of this file alone: it deletes all that its tenant has. */
const KEY = 'sk-a-key-that-is-revoked-0001';
let keys = 0;

const TEN_MINUTES = 10 * 60_000;

const MCP = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
};

const READS: readonly [string, RequestInit][] = [
  ['/v1/refs', {}],
  ['/v1/refs/REF', {}],
  ['/v1/refs/REF', { method: 'HEAD' }],
  ['/v1/conversations/kept/memory', {}],
  ['/v1/conversations/kept/messages', {}],
  ['/v1/conversations/kept/messages?q=line', {}],
  ['/mcp', MCP],
];
const CHANGES: readonly [string, RequestInit][] = [
  ['/v1/refs/REF', { method: 'DELETE' }],
  ['/v1/conversations/kept/memory', { method: 'PATCH', body: '{"mode":"none"}' }],
  ['/v1/conversations/kept/memory', { method: 'DELETE' }],
  ['/v1/memory', { method: 'DELETE' }],
];

/** An app that has stored a conversation and its refs, and a way to request them later. */
async function stored(variables: object = {}) {
  const watched = watchedBucket();
  // A deletion in the time of another test is later than all requests of this one.
  const key = 'ACCESS_KEYS' in variables ? KEY : `${KEY}-${++keys}`;
  const app = startApp(watched.bucket, { VERIFY_KEYS: 'true', ...variables }, key);
  const request = {
    model: 'gpt-4.1',
    conversation_id: 'kept',
    memory_strategy: { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, archive: true },
    messages: conversationOf([linesAbout('what is kept')]),
  };
  expect((await app.chat(request)).status).toBe(200);
  const [ref = ''] = refsIn(app.sent.at(-1)?.body ?? '');
  expect(ref).not.toBe('');
  const ask = async ([path, init]: readonly [string, RequestInit]) => {
    const response = await app.request(path.replace('REF', ref), init);
    const text = await response.text();
    const code = text.startsWith('{') ? (JSON.parse(text) as Answer).error?.code : undefined;
    return { status: response.status, code };
  };
  const questions = () => app.sent.filter(({ url }) => url.endsWith('/models')).length;
  const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
  return { app, chat: () => app.chat(request), ask, questions, later, operations: watched.operations };
}

interface Answer {
  readonly error?: { readonly code: string };
}

describe('F8: a key that was revoked', () => {
  it('neither reads, lists nor deletes, by any route', async () => {
    const { app, ask, later, operations } = await stored();
    app.answer.modelsStatus = 401;
    later(TEN_MINUTES);
    const before = operations.length;

    for (const route of [...READS, ...CHANGES]) {
      const { status, code = 'invalid_api_key' } = await ask(route);
      expect([route, status, code]).toEqual([route, 401, 'invalid_api_key']);
    }
    expect(operations.length).toBe(before);
  });

  it('B11: gets answers that nobody on the way may keep, as the one before it did', async () => {
    const { app, later } = await stored();
    const kept = async () => {
      for (const [path, init] of [...READS, ...CHANGES, ['/v1/nothing', {}]] as const) {
        const { headers, status } = await app.request(path, init);
        const isForwarded = path === '/v1/nothing';
        const seen = [path, status, headers.get('cache-control')?.startsWith('private, no-store') ?? false];
        expect(seen).toEqual([path, status, !isForwarded]);
      }
    };
    await kept();
    app.answer.modelsStatus = 401;
    later(TEN_MINUTES);
    await kept();
  });

  it('is asked about once in ten minutes, and while it is refused once in thirty seconds', async () => {
    const { app, ask, questions, later } = await stored();
    const before = questions();
    for (const route of READS) await ask(route);
    const accepted = questions() - before;
    later(TEN_MINUTES);
    for (const route of READS) await ask(route);
    const anew = questions() - before;
    app.answer.modelsStatus = 401;
    later(TEN_MINUTES);
    for (const route of READS) await ask(route);
    const refused = questions() - before;
    later(30_000);
    for (const route of READS) await ask(route);

    expect([accepted, anew, refused, questions() - before]).toEqual([0, 1, 2, 3]);
  });

  it('opens nothing from the request on that the upstream refuses', async () => {
    const { app, ask, chat } = await stored();
    app.answer.status = 401;
    app.answer.modelsStatus = 401;
    await chat();

    expect((await ask(['/v1/refs/REF', {}])).status).toBe(401);
  });

  it('is challenged by /mcp', async () => {
    const { app, later } = await stored();
    app.answer.modelsStatus = 403;
    later(TEN_MINUTES);

    const response = await app.request('/mcp', MCP);

    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe.each([429, 500, 404])('F8: a key about which the upstream says nothing, by %i', (status) => {
  it('reads and changes nothing', async () => {
    const { app, ask, later } = await stored();
    app.answer.modelsStatus = status;
    later(TEN_MINUTES);

    for (const route of [...READS, ...CHANGES]) {
      const { status, code = 'key_not_checked' } = await ask(route);
      expect([route, status, code]).toEqual([route, 503, 'key_not_checked']);
    }
  });

  it('reads where the deployment allows it, and changes nothing', async () => {
    const { app, ask, later } = await stored({ UNVERIFIED_READS: 'allow' });
    app.answer.modelsStatus = status;
    later(TEN_MINUTES);

    for (const route of READS) expect([route, (await ask(route)).status]).toEqual([route, 200]);
    for (const route of CHANGES) expect([route, (await ask(route)).status]).toEqual([route, 503]);
  });
});

describe('F8: a key that needs no word of the upstream', () => {
  it.each([
    ['VERIFY_KEYS', { VERIFY_KEYS: 'false' }],
    ['ACCESS_KEYS', { ACCESS_KEYS: `one=${KEY}`, UPSTREAM_API_KEY: 'sk-the-key-of-the-deployer' }],
  ])('reads and deletes: %s', async (_, variables) => {
    const { app, ask, later, questions } = await stored(variables);
    app.answer.modelsStatus = 401;
    later(TEN_MINUTES);

    for (const route of READS) expect([route, (await ask(route)).status]).toEqual([route, 200]);
    expect((await ask(['/v1/memory', { method: 'DELETE' }])).status).toBe(200);
    expect(questions()).toBe(0);
  });
});
