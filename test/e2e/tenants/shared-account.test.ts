import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const alice = 'precis-alice-0123456789abcdef';
const deployers = 'sk-the-key-that-the-deployer-pays-for';
const bob = 'precis-bob-fedcba9876543210ff';
const shared = { ACCESS_KEYS: `alice=${alice},bob=${bob}`, UPSTREAM_API_KEY: deployers };

const deployment = deploy({ vars: shared });
const opened = deploy({
  vars: {
    ...shared,
    FORWARDED_HEADERS: 'x-trace-id, x-tags-*',
    FORWARDED_ITEMS: 'file_search_call',
    FORWARDED_TOOLS: 'file_search',
  },
});
const uncached = deploy({ vars: { ...shared, UPSTREAM_PROMPT_CACHE: 'false' } });
/** Alone, since the Worker that files share may still write a summary for another one. */
const ownKeys = deploy({ upstream: { strict: false } });

const model = 'gpt-4.1-mini';
const chat = { model, messages: [{ role: 'user', content: 'Hello' }] };
const withKey = (headers: Record<string, string> = {}) => ({ authorization: `Bearer ${alice}`, ...headers });

const steering = {
  'helicone-target-url': 'https://elsewhere.test',
  'x-portkey-custom-host': 'https://elsewhere.test',
  'x-original-url': '/v1/files',
  'x-rewrite-url': '/v1/files',
  'x-http-method-override': 'DELETE',
  'idempotency-key': 'of-another-caller',
  'x-trace-id': 'trace',
  'x-tags-team': 'team',
};

/** Headers of the connection, and of the Worker's platform. */
const CONNECTION = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'cf-worker',
]);

/** The forwarded headers. */
function sentHeaders({ headers }: RecordedRequest): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CONNECTION.has(name)));
}

async function refusal(response: Response): Promise<unknown[]> {
  const { error } = (await response.json()) as { error?: Record<string, unknown> };
  return [response.status, error?.type, error?.code, error?.param];
}

overProtocols('what is sent with the key of a shared account', [deployment, opened, ownKeys], (protocol) => {
  const routes = (
    on: typeof deployment,
  ): [string, (headers: Record<string, string>) => Promise<Response>][] => [
    ['an answer', (headers) => on.chat(chat, headers)],
    [
      'embeddings',
      (headers) =>
        on.fetch('/v1/embeddings', { method: 'POST', headers, body: '{"model":"small","input":"x"}' }),
    ],
    ['models', (headers) => on.fetch('/v1/models', { headers })],
  ];

  it.each(routes(deployment))('F12: is no header that could steer a gateway: %s', async (name, ask) => {
    const usual = {
      accept: 'application/json',
      'user-agent': 'test/1',
      'openai-beta': 'x=v1',
      'anthropic-beta': 'thinking-binding-controls-2026-08-01',
      'x-stainless-lang': 'js',
    };
    const type = name === 'models' ? {} : { 'content-type': 'application/json' };

    const response = await ask(withKey({ ...usual, ...steering, 'content-type': 'application/json; x=y' }));

    expect(response.status).toBe(200);
    expect(deployment.upstream.requests.map(sentHeaders)).toEqual([
      { ...usual, ...type, authorization: `Bearer ${deployers}` },
    ]);
  });

  it.each(routes(opened))('F12: is a header that the deployer lists: %s', async (_, ask) => {
    expect((await ask(withKey(steering))).status).toBe(200);

    const [sent] = opened.upstream.requests;
    expect(sent?.headers).toMatchObject({ 'x-trace-id': 'trace', 'x-tags-team': 'team' });
    expect(sent?.headers).not.toHaveProperty('idempotency-key');
  });

  it('F12: is no query', async () => {
    const body = JSON.stringify(protocol.body(chat));
    await deployment.fetch(`/v1${protocol.path}?api-version=1&target=elsewhere`, {
      method: 'POST',
      headers: withKey(),
      body,
    });
    await deployment.fetch('/v1/models?after=x', { headers: withKey() });
    await deployment.fetch('/v1/embeddings?x=y', { method: 'POST', headers: withKey(), body: '{}' });

    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([
      `/v1${protocol.path}`,
      '/v1/models',
      '/v1/embeddings',
    ]);
  });

  it('F12: is all that callers send with keys of their own', async () => {
    await ownKeys.chat(chat, steering);
    expect(ownKeys.lastChat().headers).toMatchObject(steering);
  });

  it('F15: is a key of the prompt cache that no other caller has', async () => {
    const send = async (key: string, prompt_cache_key: unknown) => {
      await deployment.chat({ ...chat, prompt_cache_key }, { authorization: `Bearer ${key}` });
      return deployment.upstream.requests.at(-1)?.body.prompt_cache_key;
    };

    const long = 'of a conversation '.repeat(10);
    const ours = [await send(alice, 'shared'), await send(alice, 'shared'), await send(alice, long)];
    const theirs = await send(bob, 'shared');

    expect(ours[0]).toBe(ours[1]);
    const [ofAlice, none, ofBob] = [
      await send(alice, undefined),
      await send(alice, null),
      await send(bob, undefined),
    ];
    expect(ofAlice).toBe(none);
    expect(new Set([...ours, theirs, 'shared', long, ofAlice, ofBob]).size).toBe(7);
    for (const key of [...ours, theirs, ofAlice, ofBob]) expect(key).toMatch(/^[0-9a-f]{20,64}$/);
  });

  it('is no key of the prompt cache, but for a caller that sends one, if the upstream refuses it', async () => {
    const send = async (fields: object) => {
      await uncached.chat({ ...chat, ...fields }, { authorization: `Bearer ${alice}` });
      return uncached.upstream.requests.at(-1)?.body;
    };
    expect(await send({})).not.toHaveProperty('prompt_cache_key');
    expect((await send({ prompt_cache_key: 'mine' }))?.prompt_cache_key).toMatch(/^[0-9a-f]{20,64}$/);
  });

  it('F15: is an unchanged key of the prompt cache, where callers bring their own', async () => {
    await ownKeys.chat({ ...chat, prompt_cache_key: 'mine' });
    expect(ownKeys.upstream.requests[0]?.body.prompt_cache_key).toBe('mine');
  });

  const charsets = [
    'application/json; charset=utf-7',
    'application/json;charset="utf-16"',
    'application/json; charset=utf-8; charset=utf-7',
    'application/json; CHARSET = UTF-7',
    "application/json; charset*=utf-8''utf-7",
    'application/json, application/json; charset=iso-8859-1',
    'application/json; charset',
  ];

  it.each(charsets)('F13: is nothing that another server may read in another charset: %s', async (type) => {
    const headers = { 'content-type': type };
    const answers = [
      await deployment.chat(chat, withKey(headers)),
      await deployment.fetch('/v1/embeddings', { method: 'POST', headers: withKey(headers), body: '{}' }),
      await deployment.fetch('/v1/compact', {
        method: 'POST',
        headers: withKey(headers),
        body: JSON.stringify(chat),
      }),
      await ownKeys.chat(chat, headers),
    ];

    for (const answer of answers)
      expect(await refusal(answer)).toEqual([
        415,
        'invalid_request_error',
        'unsupported_media_type',
        'content-type',
      ]);
    expect([...deployment.upstream.requests, ...ownKeys.upstream.requests]).toEqual([]);
  });

  it.each([
    'application/json; charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json;charset=us-ascii',
    'text/plain',
  ])('F13: is JSON and said to be nothing else: %s', async (type) => {
    const answers = [
      await deployment.chat(chat, withKey({ 'content-type': type })),
      await deployment.fetch('/v1/embeddings', {
        method: 'POST',
        headers: withKey({ 'content-type': type }),
        body: '{}',
      }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { headers } of deployment.upstream.requests)
      expect(headers['content-type']).toBe('application/json');
  });

  it('F13: is no body of embeddings in an encoding that is not read', async () => {
    const headers = withKey({ 'content-type': 'application/json', 'content-encoding': 'gzip' });
    const answer = await deployment.fetch('/v1/embeddings', { method: 'POST', headers, body: '{}' });

    expect(await refusal(answer)).toEqual([
      415,
      'invalid_request_error',
      'unsupported_media_type',
      'content-encoding',
    ]);
    expect(deployment.upstream.requests).toEqual([]);
  });

  it.each(['gzip', 'x-gzip', 'deflate', 'gzip, identity'])(
    'F13: is no body that was not looked into: %s',
    async (encoding) => {
      const stored = {
        ...protocol.body(chat),
        store: true,
        previous_response_id: 'resp_1',
        prompt: { id: 'p' },
      };
      const answer = await deployment.fetch(`/v1${protocol.path}`, {
        method: 'POST',
        headers: withKey({ 'content-type': 'application/json', 'content-encoding': encoding }),
        body: encoding === 'deflate' ? deflateSync(JSON.stringify(stored)) : gzipSync(JSON.stringify(stored)),
      });

      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it.each([
    ['UTF-16', Buffer.from(JSON.stringify(protocol.body(chat)), 'utf16le')],
    [
      'bytes that are no UTF-8',
      Buffer.from(JSON.stringify(protocol.body(chat)).replace('Hello', '\xff\xfe'), 'latin1'),
    ],
    [
      'an overlong quote',
      Buffer.from(JSON.stringify(protocol.body(chat)).replace('Hello', '\xc0\xa2'), 'latin1'),
    ],
  ])('F13: is no body with %s', async (_, body) => {
    for (const on of [deployment, ownKeys]) {
      const headers = on === deployment ? withKey() : { 'x-memory-strategy': 'compact' };
      const answer = await on.fetch(`/v1${protocol.path}`, { method: 'POST', headers, body });
      expect(await refusal(answer)).toEqual([400, 'invalid_request_error', 'invalid_json', null]);
      expect(on.upstream.requests).toEqual([]);
    }
  });
});

overProtocols('what callers learn of a shared account', [deployment, ownKeys], () => {
  const answered = {
    error: {
      message:
        'Rate limit reached for gpt-5 in organization org-deployers on tokens per min (TPM): Limit 30000. Key sk-...pays',
      type: 'tokens',
      param: null,
      code: 'rate_limit_exceeded',
    },
  };
  const headers = {
    'retry-after': '7',
    'x-should-retry': 'true',
    'x-ratelimit-limit-tokens': '30000',
    'openai-organization': 'org-deployers',
    'openai-project': 'proj_deployers',
    'set-cookie': 'org=deployers',
  };
  const refuse =
    (status: number): Behaviour =>
    (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(answered));
    };

  const wanted = [
    [401, 'permission_error', 'upstream_refused'],
    [402, 'permission_error', 'upstream_refused'],
    [403, 'permission_error', 'upstream_refused'],
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
  ] as const;

  it.each(wanted)('F15: is no more than the status of a refusal: %i', async (status, type, code) => {
    const ways: (() => Promise<Response>)[] = [
      () => deployment.chat({ ...chat, memory_strategy: 'none' }, withKey()),
      () => deployment.chat({ ...chat, memory_strategy: 'auto', memory_report: true }, withKey()),
      () => deployment.chat({ ...chat, stream: true }, withKey()),
      () => deployment.fetch('/v1/embeddings', { method: 'POST', headers: withKey(), body: '{}' }),
    ];
    for (const ask of ways) {
      deployment.upstream.next(refuse(status));
      const answer = await ask();

      expect(answer.headers.get('retry-after')).toBe('7');
      expect(answer.headers.get('x-should-retry')).toBe('true');
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
      expect(answer.headers.get('content-type')).toContain('application/json');
      expect(JSON.stringify([...answer.headers])).not.toMatch(/deployers|30000|ratelimit/);
      const text = await answer.clone().text();
      expect(text).not.toMatch(/deployers|30000|sk-/);
      expect(await refusal(answer)).toEqual([status, type, code, null]);
    }
  });

  it('F15: is nothing of its limits in an answer', async () => {
    deployment.upstream.next({ type: 'answer', headers });
    const answer = await deployment.chat(chat, withKey());

    expect(answer.status).toBe(200);
    expect(JSON.stringify([...answer.headers])).not.toMatch(/deployers|30000|ratelimit/);
  });

  it('F15: is all that the upstream says of a bad request, and of their own account', async () => {
    deployment.upstream.next(refuse(400));
    expect(await (await deployment.chat(chat, withKey())).json()).toEqual(answered);
    ownKeys.upstream.next(refuse(429));
    const answer = await ownKeys.chat(chat);
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('30000');
    expect(await answer.json()).toEqual(answered);
  });
});

describe('what callers learn of a shared account by a stream', () => {
  const limited = {
    code: 'rate_limit_exceeded',
    message:
      'Rate limit reached for gpt-5 in organization org-deployers on tokens per min (TPM): Limit 30000.',
  };
  const failures: [string, string, object][] = [
    ['chat', '/v1/chat/completions', { error: { ...limited, type: 'tokens', param: null } }],
    ['chat', '/v1/chat/completions', { choices: [], error: { code: 429, message: limited.message } }],
    ['chat', '/v1/chat/completions', { error: limited.message }],
    ['responses', '/v1/responses', { type: 'error', sequence_number: 4, param: null, ...limited }],
    ['responses', '/v1/responses', { type: 'error', sequence_number: 4, error: limited }],
    [
      'responses',
      '/v1/responses',
      { type: 'response.failed', response: { id: 'r', status: 'failed', error: limited, output: [] } },
    ],
  ];

  it.each(failures)('F15: is nothing in a stream that fails, either: %s, %#', async (name, path, event) => {
    const failing = streaming(name, event);
    const body = {
      model,
      stream: true,
      ...(name === 'chat' ? { messages: chat.messages } : { input: 'Hello' }),
    };
    const tool = { name: 'search', parameters: { type: 'object' } };
    const tools = [name === 'chat' ? { type: 'function', function: tool } : { type: 'function', ...tool }];
    const strategy = { mode: 'compact', compact_retrieval: 'tool' };
    for (const more of [{ memory_strategy: 'none' }, { memory_strategy: strategy, tools }]) {
      deployment.upstream.next(failing);
      const answer = await deployment.postTo(path, { ...body, ...more }, { ...withKey() });
      const text = await answer.text();
      expect(answer.status).toBe(200);
      expect(text).toContain('accepts no more requests from this deployment');
      expect(text).toContain('rate_limit_exceeded');
      expect(text).not.toMatch(/deployers|30000/);
    }
    ownKeys.upstream.next(failing);
    const own = await ownKeys.postTo(path, body, { authorization: 'Bearer sk-of-a-caller-0123456789' });
    expect(await own.text()).toContain(JSON.stringify(event));
  });

  it.each(ofTurn(0, [false, true]))(
    'is nothing in an answer over another API, either (stream: %s)',
    async (stream) => {
      const failed = { id: 'r', status: 'failed', error: limited, output: [] };
      deployment.upstream.next((_, response) => {
        response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
        const event = { type: 'response.failed', response: failed };
        response.end(stream ? `data: ${JSON.stringify(event)}\n\n` : JSON.stringify(failed));
      });
      const bridged = { ...chat, stream, memory_strategy: { mode: 'none', upstream_api: 'responses' } };
      const answer = await deployment.postTo('/v1/chat/completions', bridged, withKey());
      const text = await answer.text();
      expect({ status: answer.status, text }).toMatchObject({
        status: 429,
        text: expect.stringContaining('accepts no more requests from this deployment'),
      });
      expect(text).not.toMatch(/deployers|30000/);
    },
  );

  it('F15: is all that the upstream says of what a stream asks for', async () => {
    const event = {
      error: { code: 'invalid_prompt', message: 'This prompt is not taken.', type: 'x', param: null },
    };
    deployment.upstream.next(streaming('chat', event));
    const answer = await deployment.chat({ ...chat, stream: true }, withKey());
    expect(await answer.text()).toContain(JSON.stringify(event));
  });
});

/** A stream with a word and then this event. */
function streaming(name: string, event: object): Behaviour {
  const said =
    name === 'chat'
      ? {
          id: 'c',
          choices: [{ index: 0, delta: { role: 'assistant', content: 'One' }, finish_reason: null }],
        }
      : { type: 'response.output_text.delta', sequence_number: 3, item_id: 'm', delta: 'One' };
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of [said, event]) {
      const type = 'type' in frame ? `event: ${frame.type}\n` : '';
      response.write(`${type}data: ${JSON.stringify(frame)}\n\n`);
    }
    response.end();
  };
}

describe('what a body may name of a shared account', () => {
  const post = (
    on: typeof deployment,
    path: string,
    body: object | string,
    headers: Record<string, string> = withKey(),
  ) => on.postTo(path, body, headers);
  const ask = (body: object) => ({ model, input: 'Hello', ...body });
  const inInput = (item: object) => ask({ input: [{ role: 'user', content: 'Hello' }, item] });
  const chatWith = (body: object) => ({ ...chat, ...body });

  it.each([
    ['/v1/responses', inInput({ id: 'msg_1' }), 'input[1]'],
    ['/v1/responses', inInput({ id: 'msg_1', type: null }), 'input[1]'],
    ['/v1/responses', inInput({ id: 'msg_1', type: 'item_reference' }), 'input[1].type'],
    ['/v1/responses/compact', inInput({ id: 'msg_1' }), 'input[1]'],
    ['/v1/responses', inInput({ type: 'image_generation_call', id: 'ig_1' }), 'input[1].type'],
    ['/v1/responses', inInput({ type: 'reasoning', id: 'rs_1', summary: [] }), 'input[1]'],
    ['/v1/responses', ask({ prompt: { id: 'pmpt_1' } }), 'prompt'],
    ['/v1/responses', ask({ background: true }), 'background'],
    ['/v1/responses', ask({ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }), 'tools[0].type'],
    ['/v1/responses', ask({ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }), 'tools[0].type'],
    ['/v1/responses', ask({ tools: [{ type: 'mcp', connector_id: 'connector_gmail' }] }), 'tools[0].type'],
    [
      '/v1/responses',
      inInput({ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }),
      'input[1].content[0].file_id',
    ],
    ['/v1/chat/completions', chatWith({ store: true }), 'store'],
    ['/v1/chat/completions', chatWith({ conversation: 'conv_1' }), 'conversation'],
    ['/v1/chat/completions', chatWith({ tools: [{ type: 'file_search' }] }), 'tools[0].type'],
    [
      '/v1/chat/completions',
      chatWith({ messages: [...chat.messages, { role: 'assistant', audio: { id: 'audio_1' } }] }),
      'messages[1].audio.id',
    ],
    [
      '/v1/chat/completions',
      chatWith({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }] }),
      'messages[0].content[0].file.file_id',
    ],
  ])('F14: is nothing that another caller may have stored: %s %j', async (path, body, param) => {
    for (const memory_strategy of ['none', 'auto']) {
      const answer = await post(deployment, path, { ...body, memory_strategy });

      expect(await refusal(answer)).toEqual([400, 'invalid_request_error', 'not_forwarded', param]);
      expect(deployment.upstream.requests).toEqual([]);
    }
  });

  it('F14: is what the deployer has opened, and no more', async () => {
    const body = ask({
      input: [
        { role: 'user', content: 'Hello' },
        {
          type: 'file_search_call',
          id: 'fs_1',
          queries: ['x'],
          status: 'completed',
          results: [{ file_id: 'f' }],
        },
      ],
      tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
    });

    expect((await post(opened, '/v1/responses', body)).status).toBe(200);
    expect(opened.upstream.requests[0]?.body).toMatchObject({ ...body, store: false });
    const answer = await post(opened, '/v1/responses', inInput({ id: 'msg_1' }));
    expect(await refusal(answer)).toEqual([400, 'invalid_request_error', 'not_forwarded', 'input[1]']);
  });

  it.each([{ id: 'msg_1' }, { id: 'msg_1', type: null }])(
    'F14: with a key of the caller’s own is sent unchanged: %j',
    async (item) => {
      const body = JSON.stringify(inInput(item));
      const answer = await post(ownKeys, '/v1/responses', body, {
        authorization: 'Bearer sk-of-a-caller-0123456789',
        'x-memory-strategy': 'auto',
      });

      expect(answer.headers.get('x-memory-warning')).toBe('upstream_state');
      expect(ownKeys.upstream.requests[0]?.rawBody.toString()).toBe(body);
    },
  );
});

describe('a redirect of the upstream', () => {
  it('reaches no caller of a shared account, who would follow it with a key of Precis’s', async () => {
    deployment.upstream.next({ type: 'redirect', location: 'https://elsewhere.test/v1/models' });

    const response = await deployment.fetch('/v1/models/gpt-4.1', { headers: withKey(), redirect: 'manual' });

    expect(response.headers.get('location')).toBeNull();
    expect(await refusal(response)).toEqual([502, 'server_error', 'upstream_unreachable', null]);
  });
});
