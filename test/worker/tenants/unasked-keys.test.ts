/**
 * A key that the upstream can't be asked about: stored data may be read, and nothing is made or
 * written.
 */
import { env } from 'cloudflare:workers';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MODES, SUMMARIZE, SUMMARIZER, start, startApp, withoutKey } from '../support.ts';

beforeEach(() => {
  for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

/** Another isolate, which knows no accepted key, while the upstream does not answer about keys. */
function elsewhere({ watched, objects, app }: ReturnType<typeof start>) {
  const later = startApp(watched.bucket, {
    ...SUMMARIZER,
    CONVERSATION_MEMORY: objects.namespace,
    VERIFY_KEYS: 'true',
  });
  later.answer.modelsStatus = 500;
  if (app.answer.words) later.answer.words = app.answer.words;
  const written = watched.operations.length;
  return {
    later,
    chat: (fields: object) => later.chat({ model: 'gpt-4.1', ...fields }),
    writes: () => watched.operations.slice(written).filter(({ name }) => name === 'put' || name === 'delete'),
    summarizerCalls: () => later.sent.filter(({ url }) => url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL)),
    view: () => later.sent.filter(({ url }) => url.startsWith('http://upstream.test/v1/chat')).at(-1)?.body,
  };
}

describe('a key that the upstream cannot be asked about', () => {
  it.each(MODES)('still sees the summary that there is, byte for byte, in mode %s', async (_, strategy) => {
    const talk = start(strategy, { VERIFY_KEYS: 'true' });
    const said = await talk.rounds(1, 4);
    const stored = await talk.overview();
    const { chat, view, writes, summarizerCalls } = elsewhere(talk);

    const response = await chat({
      conversation_id: talk.id,
      memory_strategy: strategy,
      messages: talk.messages.slice(0, -1),
    });

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toBeNull();
    expect(view()).toContain('<session_summary ref=');
    expect(withoutKey(view())).toBe(said.at(-1)?.view);
    expect(summarizerCalls()).toEqual([]);
    expect(writes()).toEqual([]);
    expect(await talk.overview()).toEqual(stored);
  });

  it.each([
    ['/v1/refs', {}, { authorization: 'Bearer sk-or-a-real-key-of-a-caller' }],
    ['/v1/refs', { 'anthropic-version': '2023-06-01' }, { 'x-api-key': 'sk-or-a-real-key-of-another' }],
  ])('is asked about itself where the models are listed to anybody: %s %j', async (path, more, key) => {
    const [own = ''] = Object.values(key).map((value) => value.replace('Bearer ', ''));
    const variables = {
      VERIFY_KEYS: 'true',
      UPSTREAM_BASE_URL: 'https://openrouter.ai/api/v1',
      ANTHROPIC_BASE_URL: 'https://openrouter.ai/api/v1',
    };
    const app = startApp(env.REFS, variables, '');
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      const { url, headers } = new Request(input, init);
      if (url.endsWith('/models')) return Response.json({ data: [] });
      expect(url).toBe('https://openrouter.ai/api/v1/key');
      return new Response(null, { status: headers.get('authorization') === `Bearer ${own}` ? 200 : 401 });
    });
    const statusWith = async (asked: Record<string, string>) => {
      const headers = { authorization: '', ...more, ...asked };
      return (await app.request(path, { headers })).status;
    };
    expect(await statusWith(key)).toBe(200);
    const [name = ''] = Object.keys(key);
    const invented = 'sk-or-an-invented-key-of-nobody';
    expect(await statusWith({ [name]: name === 'authorization' ? `Bearer ${invented}` : invented })).toBe(
      401,
    );
  });

  it('names the variable that trusts it, in the log and in the error', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const app = startApp(env.REFS, { VERIFY_KEYS: 'true' });
    app.answer.modelsStatus = 404;

    const response = await app.request('/v1/refs');

    expect(response.status).toBe(503);
    expect(await response.text()).toContain('VERIFY_KEYS=false');
    const logged = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
    expect(logged).toMatchObject([{ message: expect.stringContaining('VERIFY_KEYS=false') }]);
  });

  it('makes no summary where there is none', async () => {
    const talk = start(SUMMARIZE, { VERIFY_KEYS: 'true' });
    await talk.rounds(1, 4);
    const stored = await talk.overview();
    const { chat, later, view, writes, summarizerCalls } = elsewhere(talk);
    const messages = [...talk.messages.slice(0, -1)];
    messages[1] = { role: 'assistant', content: 'This is another answer.' };

    const response = await chat({ conversation_id: talk.id, memory_strategy: SUMMARIZE, messages });

    const warnings = response.headers.get('x-memory-warning')?.split(',');
    expect(response.status).toBe(200);
    expect(new Set(warnings)).toEqual(new Set(['summary_pending', 'store_failed']));
    expect(view()).toContain('<session_summary covers=');
    expect(later.sent.map(({ url }) => new URL(url).pathname)).toEqual([
      '/v1/models',
      '/v1/chat/completions',
    ]);
    expect(summarizerCalls()).toEqual([]);
    expect(writes()).toEqual([]);
    expect(await talk.overview()).toEqual(stored);
  });
});

describe('an encoded body that becomes larger than 1 MiB', () => {
  const KEY = 'sk-a-key-that-sends-encoded-bodies';
  const post = (app: ReturnType<typeof startApp>, path: string, kB: number, more = {}) => {
    const messages = [{ role: 'user', content: 'x'.repeat(kB * 1024) }];
    const body = gzipSync(JSON.stringify({ model: 'gpt-4.1', memory_strategy: 'auto', messages }));
    const init = { method: 'POST', body, headers: { 'content-encoding': 'gzip', ...more } };
    return app.request(path, init);
  };
  const asked = ({ sent }: ReturnType<typeof startApp>) => sent.map(({ url }) => new URL(url).pathname);
  let tenants = 0;
  const app = (modelsStatus: number) => {
    const started = startApp(env.REFS, { VERIFY_KEYS: 'true' }, `${KEY}-${++tenants}`);
    started.answer.modelsStatus = modelsStatus;
    return started;
  };

  it.each(['/v1/chat/completions', '/v1/compact', '/v1/explain', '/v1/compress'])(
    'is not decoded to %s under a key that the upstream refuses',
    async (path) => {
      const refusing = app(401);
      const refused = await post(refusing, path, 8 * 1024, { 'x-memory-strategy': 'auto' });
      expect(refused.status).toBe(401);
      expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
      expect(asked(refusing)).toEqual(['/v1/models']);
    },
  );

  it('is passed on as it is under such a key where nothing of it is read', async () => {
    const refusing = app(401);
    const passed = await post(refusing, '/v1/chat/completions', 8 * 1024, { 'x-memory-strategy': 'none' });
    expect(passed.headers.get('x-memory-mode')).toBe('none');
    expect(asked(refusing)).toEqual(['/v1/models', '/v1/chat/completions']);
    expect(refusing.sent[1]?.headers.get('content-encoding')).toBe('gzip');
  });

  it('is forwarded without an edit under a key that nobody can be asked about', async () => {
    const unasked = app(404);
    const forwarded = await post(unasked, '/v1/chat/completions', 2 * 1024);
    expect(forwarded.status).toBe(200);
    expect(forwarded.headers.get('x-memory-warning')).toContain('unverified_key');
  });

  it('is decoded once the key is accepted, and a small one at once', async () => {
    const accepting = app(200);
    expect((await post(accepting, '/v1/chat/completions', 2 * 1024)).status).toBe(200);
    expect(asked(accepting)).toEqual(['/v1/models', '/v1/chat/completions']);
    const refusing = app(401);
    await post(refusing, '/v1/chat/completions', 16);
    expect(asked(refusing)).toEqual(['/v1/chat/completions']);
  });
});
