import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/request/errors.ts';
import { RESPONSES } from '../../../src/routes/models.ts';
import { CODEX_HEADERS } from '../../support/clients/codex.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { hang, type Operation, refsIn, startApp, watchedBucket } from '../support.ts';

let made = 0;

/** A conversation that no other test has sent. Four of its outputs are removed. */
function conversation(): object {
  const id = made++;
  const steps = Array.from({ length: 8 }, (_, index) =>
    step(`call_${index}`, 'search', `${lines(60)}\n${id} ${index}`),
  );
  return body([user('go'), ...steps.flat()], { memory_strategy: { mode: 'compact', token_budget: 3500 } });
}

/** Expects that every ref sent upstream can be fetched. */
async function expectFetchable(app: ReturnType<typeof startApp>): Promise<number> {
  const refs = refsIn(app.sent.filter(({ url }) => url.endsWith('/completions')).at(-1)?.body ?? '');
  for (const ref of refs) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
  return refs.length;
}

describe('a request whose storage works', () => {
  it('is forwarded with refs that can all be fetched', async () => {
    const app = startApp(watchedBucket().bucket);
    const response = await app.chat(conversation());
    expect(response.headers.get('x-memory-applied')).toBe('compact');
    expect(response.headers.get('x-memory-warning')).toBeNull();
    expect(await expectFetchable(app)).toBe(4);
  });

  it('writes nothing again for the same array', async () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket);
    const same = conversation();
    await app.chat(same);
    const before = watched.operations.length;
    await app.chat(same);
    expect(watched.operations.length).toBe(before);
    expect(app.sent[1]?.body).toBe(app.sent[0]?.body);
  });

  it('needs no storage at a move whose outputs were written in the background before', async () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket);
    const strategy = { mode: 'compact', token_budget: 5000, low_watermark_pct: 0.5 };
    const request = (n: number) => {
      const steps = Array.from({ length: n }, (_, index) =>
        step(`c${index}`, 'f', `${lines(80)}\nahead ${index}`),
      );
      return app.chat(body([user('go'), ...steps.flat()], { memory_strategy: strategy }));
    };
    const before = await request(6);
    expect(before.headers.get('x-memory-applied')).toBe('none');
    watched.failing.add('put').add('head');
    const moved = await request(7);
    expect(moved.headers.get('x-memory-frontier')).toBe('moved');
    expect(moved.headers.get('x-memory-warning')).toBeNull();
    watched.failing.clear();
    expect(await expectFetchable(app)).toBe(Number(moved.headers.get('x-memory-refs')));
  });
});

describe('a request whose storage fails', () => {
  const cases: [string, Operation[]][] = [
    ['puts', ['put']],
    ['gets', ['get', 'head', 'list']],
    ['everything', ['put', 'get', 'head', 'list', 'delete']],
  ];

  it.each(cases)(
    'by %s is answered, and its view names no ref that can’t be fetched',
    async (_, operations) => {
      const watched = watchedBucket();
      const app = startApp(watched.bucket);
      for (const operation of operations) watched.failing.add(operation);
      const response = await app.chat(conversation());
      expect(response.status).toBe(200);
      watched.failing.clear();
      const named = await expectFetchable(app);
      expect(response.headers.get('x-memory-warning')).toBe(named === 0 ? 'over_budget,store_failed' : null);
      expect(response.headers.get('x-memory-refs')).toBe(String(named));
      const state = ['x-memory-applied', 'x-memory-frontier'].map((name) => response.headers.get(name));
      expect(state).toEqual(
        named === 0 ? ['none', 'none'] : ['compact', expect.stringMatching(/kept|moved/)],
      );
    },
  );

  it('F30: is logged with its code and the error’s name, each failure once', async () => {
    const logged: string[] = [];
    vi.spyOn(console, 'warn').mockImplementation((line: string) => void logged.push(line));
    const watched = watchedBucket();
    const app = startApp(watched.bucket, { LOG_LEVEL: 'warn' });
    watched.failing.add('put');
    await app.chat(conversation());
    const failures = logged.map((line) => JSON.parse(line)).filter(({ error }) => error !== undefined);
    expect(failures).toContainEqual(
      expect.objectContaining({
        message: 'a content could not be written',
        code: 'store_failed',
        error: 'Error',
      }),
    );
    expect(failures.filter(({ message }) => message === 'a content could not be written')).toHaveLength(1);
    expect(logged.join()).not.toContain('R2 is down');
  });

  it('by never answering is answered all the same', async () => {
    const watched = watchedBucket();
    hang(watched, 'put', 'get', 'head');
    const app = startApp(watched.bucket);
    const response = await app.chat(conversation());
    expect(response.headers.get('x-memory-warning')).toContain('store_failed');
    expect(refsIn(app.sent.at(-1)?.body ?? '')).toEqual([]);
  });

  it('says so when a ref is asked for', async () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket);
    await app.chat(conversation());
    const [ref] = refsIn(app.sent[0]?.body ?? '');
    watched.failing.add('get').add('head').add('list');
    for (const [path, method] of [
      [`/v1/refs/${ref}`, 'GET'],
      [`/v1/refs/${ref}`, 'DELETE'],
      ['/v1/refs', 'GET'],
    ] as const) {
      const response = await app.request(path, { method });
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
    }
  });
});

describe('a failure before the strategy of a request is known', () => {
  const EVENTS = { 'x-memory-stream-errors': 'events' };
  const request = (headers: Record<string, string>, fields: object) =>
    startApp(watchedBucket().bucket).request('/v1/responses', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', input: 'Hello.', stream: true, ...fields }),
    });

  it.each([
    ['of storage', new ApiError('store_failed', 'Storage did not answer.'), 'store_failed'],
    ['of ours', new TypeError('a bug'), 'internal_error'],
  ])(
    '%s is in the stream where its caller looks for it, in each mode that is read',
    async (_, error, code) => {
      vi.spyOn(console, 'log').mockImplementation(() => undefined);
      vi.spyOn(console, 'error').mockImplementation(() => undefined);
      vi.spyOn(RESPONSES, 'read').mockImplementation(() => {
        throw error;
      });
      for (const mode of ['auto', 'compact', 'none'])
        for (const headers of [CODEX_HEADERS, EVENTS]) {
          const fields = { memory_strategy: { mode }, conversation_id: 'a conversation' };
          const turned = await request(headers, fields);
          const text = await turned.text();
          expect([turned.status, turned.headers.get('content-type')], text).toEqual([
            200,
            'text/event-stream',
          ]);
          expect(text).toContain('event: response.failed');
          expect(text).toContain(code);
          expect((await request(headers, { ...fields, stream: false })).status).toBeGreaterThanOrEqual(500);
          expect((await request({}, fields)).status).toBeGreaterThanOrEqual(500);
        }
    },
  );
});

describe('a ref that was deleted', () => {
  it('is written again when the array that holds its content is sent again', async () => {
    const app = startApp(watchedBucket().bucket);
    const same = conversation();
    await app.chat(same);
    const [ref] = refsIn(app.sent[0]?.body ?? '');
    expect((await app.request(`/v1/refs/${ref}`, { method: 'DELETE' })).status).toBe(200);
    expect((await app.request(`/v1/refs/${ref}`)).status).toBe(404);
    await app.chat(same);
    expect(await expectFetchable(app)).toBe(4);
  });
});

describe('a caller’s own key', () => {
  const verified = { VERIFY_KEYS: 'true' } as const;

  it('stores nothing until the upstream has accepted it', async () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket, verified);
    app.answer.status = 401;
    app.answer.modelsStatus = 401;
    const response = await app.chat(conversation());
    expect(response.status).toBe(401);
    expect(response.headers.get('x-memory-warning')).toContain('store_failed');
    expect(watched.operations).toEqual([]);
  });

  it('is asked about once, with nothing but the key', async () => {
    const app = startApp(watchedBucket().bucket, verified);
    await app.chat(conversation());
    await app.chat(conversation());
    const asked = app.sent.filter(({ url }) => url.endsWith('/models'));
    expect(asked).toHaveLength(1);
    expect([...(asked[0]?.headers.keys() ?? [])]).toEqual(['authorization']);
  });

  it('is accepted by an answered request too', async () => {
    const app = startApp(watchedBucket().bucket, verified);
    app.answer.modelsStatus = 404;
    await app.chat(body([user('hello')], { memory_strategy: 'compact' }));
    expect((await app.chat(conversation())).headers.get('x-memory-warning')).toBeNull();
    expect(app.sent.some(({ url }) => url.endsWith('/models'))).toBe(false);
  });
});

describe('a deployment that is misconfigured', () => {
  const refused = async (variables: object) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const app = startApp(watchedBucket().bucket, variables);
    const response = await app.chat(body([user('hello')]));
    const health = await app.request('/healthz');
    return {
      status: response.status,
      error: ((await response.json()) as { error: object }).error,
      health: [health.status, await health.json()],
      logged: log.mock.calls.map(String),
    };
  };

  it.each([
    [{ PRECIS_SECRET: undefined }, 'PRECIS_SECRET is not set: '],
    [{ PRECIS_SECRET: '' }, 'PRECIS_SECRET is not set: '],
    [{ PRECIS_SECRET: 'short' }, 'PRECIS_SECRET is not valid: '],
  ])('says on every request how the secret is set: %j', async (variables, fault) => {
    const { status, error } = await refused(variables);

    expect([status, error]).toEqual([
      500,
      {
        message: `${fault}it must be a string of at least 16 characters. Set it with \`npx wrangler secret put PRECIS_SECRET\`, or in .dev.vars for \`wrangler dev\`.`,
        type: 'server_error',
        param: null,
        code: 'misconfigured',
      },
    ]);
  });

  it('fails on /healthz too, where the log alone names the variable', async () => {
    const { status, error, health, logged } = await refused({ LOG_LEVEL: 'loud' });

    expect([status, error]).toMatchObject([500, { message: expect.stringContaining('LOG_LEVEL') }]);
    expect(health).toEqual([503, { status: 'misconfigured' }]);
    expect(logged).toHaveLength(2);
    for (const line of logged) expect(line).toContain('LOG_LEVEL');
  });

  it('answers HEAD on /healthz without a body', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const app = startApp(watchedBucket().bucket, { PRECIS_SECRET: '' });
    const response = await app.request('/healthz', { method: 'HEAD' });

    expect([response.status, await response.text()]).toEqual([503, '']);
  });
});

describe('F16: a deployment with access keys that is misconfigured', () => {
  const keys = {
    ACCESS_KEYS: 'alice=precis-alice-0123456789abcdef',
    UPSTREAM_API_KEY: 'sk-the-deployers-key',
  };
  const asked = async (variables: object, key: string | undefined) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const app = startApp(watchedBucket().bucket, variables);
    const headers = { authorization: `Bearer ${key ?? ''}` };
    const response = await app.request('/v1/models', { headers });
    return { status: response.status, text: await response.text(), logged: String(log.mock.calls[0]) };
  };

  it('gives a caller without a key the same answer as for an unknown agent', async () => {
    const app = startApp(watchedBucket().bucket, keys);
    const headers = { authorization: 'Bearer wrong' };
    const unknown = await app.request('/agents/nobody/v1/models', { headers });
    const { status, text, logged } = await asked({ ...keys, ISOLATION: 'broken' }, 'wrong');

    expect([status, text]).toEqual([401, await unknown.text()]);
    expect(logged).toContain('ISOLATION');
  });

  it('says what is wrong to one who has', async () => {
    const { status, text } = await asked({ ...keys, ISOLATION: 'broken' }, 'precis-alice-0123456789abcdef');

    expect(status).toBe(500);
    expect(text).toContain('ISOLATION');
  });

  it.each(['', 'broken', '{"alice"'])('knows nobody where the keys cannot be read: %j', async (key) => {
    const { status, text, logged } = await asked({ ACCESS_KEYS: `${key} x` }, key);

    expect(status).toBe(401);
    expect(text).not.toContain('ACCESS_KEYS');
    expect(logged).toContain('ACCESS_KEYS');
  });

  it('shows nobody on /healthz which variable it is', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const app = startApp(watchedBucket().bucket, { ...keys, ISOLATION: 'broken' });
    const response = await app.request('/healthz');

    expect([response.status, await response.json()]).toEqual([503, { status: 'misconfigured' }]);
  });
});

describe('F16: an agent that nobody knows', () => {
  it('is refused without the names of others if the upstream has not accepted the key', async () => {
    const app = startApp(watchedBucket().bucket);
    const said = body([user('hello')], { agent_type: 'nobody' });

    const before = await (await app.chat(said)).text();
    await app.chat(body([user('hello')], { memory_strategy: 'compact' }));
    const after = await (await app.chat(said)).text();

    expect(before).toContain("There is no agent 'nobody'.");
    expect(before).not.toContain('coding');
    expect(after).toContain('coding');
  });
});

describe('values that no client sends', () => {
  it.each([
    { agent_type: { toString: 1 } },
    { memory_strategy: { mode: { toString: 1 } } },
    { memory_strategy: { mode: 'compact', token_budget: { valueOf: 1 } } },
    { memory_report: [] },
  ])('are refused, not stumbled over: %j', async (more) => {
    const app = startApp(watchedBucket().bucket);
    const response = await app.chat(body([user('hello')], more));
    expect(response.status).toBeLessThan(500);
    expect(response.status).toBeGreaterThanOrEqual(400);
  });
});

describe('limits of what is edited', () => {
  it('leave an array of more than 20,000 messages as it is, with a warning', async () => {
    const app = startApp(watchedBucket().bucket);
    const messages = Array.from({ length: 20_001 }, () => user('x'));
    const response = await app.chat(body(messages, { memory_strategy: { mode: 'trim', max_turns: 3 } }));
    expect(response.headers.get('x-memory-warning')).toBe('too_many_messages');
    expect(JSON.parse(app.sent[0]?.body ?? '')).toEqual(body(messages));
  });

  it('leave a body over the limit to the upstream in mode none, and refuse it in any other', async () => {
    const app = startApp(watchedBucket().bucket);
    const messages = [user('x'.repeat(17 * 1024 * 1024))];
    expect((await app.chat(body(messages))).status).toBe(200);
    const refused = await app.chat(body(messages, { memory_strategy: 'compact' }));
    expect(refused.status).toBe(413);
    expect(await refused.json()).toMatchObject({ error: { code: 'body_too_large', param: 'messages' } });
    expect(app.sent).toHaveLength(1);
  });
});
