/** Keys, headers, queries and errors of Messages, and the routes beside answers. */
import { describe, expect, it } from 'vitest';
import { assistant, result, user } from '../../support/conversations/chat.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';

const ACCESS_KEY = 'an-access-key-of-alice-0001';
const deployment = deployMessages({ refuses: true });
const shared = deployMessages({
  vars: { ACCESS_KEYS: `alice=${ACCESS_KEY}`, ANTHROPIC_API_KEY: 'sk-ant-the-account' },
  refuses: true,
});

const HELLO = { messages: [user('Hello')] };

describe('a request of Messages', () => {
  it('is sent as the bytes that came, with its query and headers, and none of Precis’s', async () => {
    const body = `{"max_tokens":9, "model":"${MESSAGES_MODEL}","messages":[{"content":"Hello","role":"user"}] }`;
    const response = await deployment.fetch('/v1/messages?beta=true&x=1', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'anthropic-version': '2026-10-21',
        'anthropic-beta': 'one-2026-01-01,two-2026-02-02',
        'x-memory-report': 'off',
      },
      body,
    });
    const message = await response.json();
    const [seen] = deployment.upstream.requests;
    expect(message).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' });
    expect(seen?.path).toBe('/v1/messages?beta=true&x=1');
    expect(seen?.rawBody.toString()).toBe(body);
    expect(seen?.headers).toMatchObject({
      'x-api-key': MESSAGES_KEY,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-2026-01-01,two-2026-02-02',
    });
    expect(seen?.headers).not.toHaveProperty('x-memory-report');
    expect(response.headers.get('request-id')).toBe('req_upstream_1');
    expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('49');
    expect(deployment.openai.requests).toEqual([]);
  });

  it('is answered below any prefix, and for an agent in the path', async () => {
    for (const path of ['/agents/coding/v1/messages', '/v1/agents/coding/messages', '/proxy/messages']) {
      const body = JSON.stringify({ model: MESSAGES_MODEL, max_tokens: 9, ...HELLO });
      const response = await deployment.fetch(path, { method: 'POST', body });
      expect([path, response.status]).toEqual([path, 200]);
    }
    expect(deployment.upstream.messages()).toHaveLength(3);
  });

  it('stores for the same tenant whichever header has the key', async () => {
    const text = 'A line of an output that is long enough.\n'.repeat(400);
    const body = { messages: talk(text), memory_strategy: { mode: 'compact', token_budget: 2_000 } };
    const { memory } = await deployment.ask(body);
    const ref = memory.refs[0]?.ref;
    expect(ref).toBeDefined();
    for (const headers of [
      { 'x-api-key': MESSAGES_KEY },
      { authorization: `Bearer ${MESSAGES_KEY}` },
    ] as const) {
      const found = await deployment.fetch(`/v1/refs/${ref}`, { headers });
      expect([found.status, await found.text()]).toEqual([200, text]);
    }
    const others = await deployment.fetch(`/v1/refs/${ref}`, {
      headers: { 'x-api-key': `${MESSAGES_KEY}0` },
    });
    expect(others.status).toBe(404);
    expect(deployment.openai.requests).toEqual([]);
  });

  it('gets the errors of the upstream unchanged', async () => {
    const said = {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
      request_id: 'r',
    };
    deployment.upstream.next({
      type: 'error',
      status: 529,
      body: said,
      headers: { 'retry-after': '7', 'x-should-retry': 'true' },
    });
    const response = await deployment.post(HELLO);
    expect([response.status, await response.json()]).toEqual([529, said]);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(response.headers.get('x-should-retry')).toBe('true');
    const refused = await deployment.post({ messages: [assistant(' ')] });
    expect(await refused.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('gets errors of Precis in the shape of the API', async () => {
    const cases = [
      [{ ...HELLO, memory_strategy: 'nonsense' }, 400, 'invalid_request_error', 'invalid_memory_strategy'],
      [{ messages: [] }, 400, 'invalid_request_error', undefined],
      [{ ...HELLO, memory_strategy: 'auto', agent_type: 'nobody' }, 404, 'not_found_error', 'unknown_agent'],
    ] as const;
    for (const [body, status, type, code] of cases) {
      const response = await deployment.post(body);
      const refusal = await response.json();
      expect(response.status).toBe(status);
      expect(refusal).toMatchObject({ type: 'error', error: { type, ...(code && { code }) } });
      expect(Object.keys(refusal as object).toSorted()).toEqual(['error', 'request_id', 'type']);
      expect(response.headers.get('request-id')).toBe((refusal as { request_id: string }).request_id);
    }
    const wrong = await deployment.fetch('/v1/messages/count_tokens');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await wrong.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('leads to one smaller view when the prompt is too long, also inside a stream', async () => {
    for (const streamed of [undefined, true] as const) {
      deployment.upstream.become({
        messages: { type: 'window', tokens: 30_000, ...(streamed && { streamed }) },
      });
      const body = {
        messages: talk('word '.repeat(8_000), streamed ? 'a' : 'b'),
        // A limit that is learned once holds for its model.
        model: streamed ? 'claude-opus-4-6' : MESSAGES_MODEL,
        memory_strategy: { mode: 'compact', token_budget: 100_000 },
        stream: streamed === true,
      };
      const response = await deployment.post(body);
      const text = await response.text();
      expect([response.status, text.includes('prompt is too long')]).toEqual([200, false]);
      expect(response.headers.get('x-memory-trigger')).toBe('upstream_limit');
      expect(deployment.upstream.messages()).toHaveLength(2);
      expect(deployment.upstream.refusals).toEqual([]);
    }
  });

  it('is too long in words that stay as they are, where no view is made', async () => {
    deployment.upstream.become({ messages: { type: 'window', tokens: 10 } });
    const response = await deployment.post({ messages: talk('word '.repeat(100)) });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/"prompt is too long: \d+ tokens > 10 maximum"/),
    ]);
  });
});

describe('the routes beside answers', () => {
  it('count the view that would be sent', async () => {
    const messages = talk('word '.repeat(8_000), 'c');
    const count = async (fields: object) => {
      const body = JSON.stringify({ model: MESSAGES_MODEL, messages, ...fields });
      const response = await deployment.fetch('/v1/messages/count_tokens?beta=true', {
        method: 'POST',
        body,
      });
      expect(response.status).toBe(200);
      return ((await response.json()) as { input_tokens: number }).input_tokens;
    };
    const memory_strategy = { mode: 'compact', token_budget: 2_000 };
    const whole = await count({});
    const counted = await count({ memory_strategy });
    const asked = deployment.upstream.requests.at(-1);
    const { seen } = await deployment.ask({ messages, memory_strategy });
    expect(counted).toBeLessThan(whole * 0.6);
    expect(asked?.path).toBe('/v1/messages/count_tokens?beta=true');
    expect(withoutMarks(asked?.body.messages)).toEqual(withoutMarks(seen.body.messages));
  });

  it('list the models of the API that the headers speak', async () => {
    const list = await deployment.fetch('/v1/models?limit=2');
    expect(await list.json()).toMatchObject({ has_more: true, data: [{ type: 'model' }, { type: 'model' }] });
    expect(deployment.upstream.requests[0]?.path).toBe('/v1/models?limit=2');
    const headers = { authorization: 'Bearer sk-a-key-of-openai-000001' };
    const others = await fetch(`${deployment.url}/v1/models`, { headers });
    expect(await others.json()).toMatchObject({ object: 'list' });
    expect(deployment.upstream.requests).toHaveLength(1);
  });

  it('say that somebody is there', async () => {
    for (const path of ['/', '/api/hello', '/agents/coding', '/agents/coding/']) {
      const response = await fetch(`${deployment.url}${path}`, { method: 'HEAD' });
      expect([path, response.status, await response.text()]).toEqual([path, 200, '']);
    }
  });

  it('explain and compact messages with a system', async () => {
    const body = JSON.stringify({
      model: MESSAGES_MODEL,
      system: [{ type: 'text', text: 'You read files.' }],
      messages: talk('word '.repeat(8_000), 'd'),
      memory_strategy: { mode: 'compact', token_budget: 2_000 },
    });
    const explained = await deployment.fetch('/v1/explain', { method: 'POST', body });
    const explanation = (await explained.json()) as { object: string; messages: { fate: string }[] };
    expect([explained.status, explanation.object]).toEqual([200, 'memory.explanation']);
    expect(explanation.messages).toHaveLength(16);
    const compacted = await deployment.fetch('/v1/compact', { method: 'POST', body });
    const { messages, memory } = (await compacted.json()) as {
      messages: object[];
      memory: { refs: { ref: string }[] };
    };
    expect(messages).toHaveLength(15);
    expect(JSON.stringify(messages)).toContain(memory.refs[0]?.ref);
    expect(deployment.upstream.messages()).toEqual([]);
  });

  it('compact whatever class of request a client names', async () => {
    const fields = { messages: talk('word '.repeat(8_000), 'k'), memory_strategy: { mode: 'compact' } };
    const response = await deployment.postTo(
      '/v1/compact',
      { model: MESSAGES_MODEL, force: true, ...fields },
      { 'x-claude-code-request-class': 'auxiliary' },
    );
    const { memory } = (await response.json()) as { memory: { mode: string; refs: object[] } };
    expect([memory.mode, memory.refs.length > 0]).toEqual(['compact', true]);
  });

  it('take a sealed compaction back, of this API alone', async () => {
    const fields = { model: MESSAGES_MODEL, messages: talk('word '.repeat(8_000), 'e') };
    const body = JSON.stringify({ ...fields, format: 'opaque', memory_strategy: { mode: 'compact' } });
    const compacted = await deployment.fetch('/v1/compact', { method: 'POST', body });
    const { messages } = (await compacted.json()) as { messages: object[] };
    expect(messages).toHaveLength(1);
    const goesOn = [...messages, assistant('Yes.'), user('And now?')];
    const response = await deployment.post({ messages: goesOn });
    expect([response.status, deployment.upstream.refusals]).toEqual([200, []]);
    const { body: sent } = deployment.upstream.messages().at(-1) ?? {};
    expect(sent.messages).toHaveLength(17);
    expect(JSON.stringify(sent.messages)).toMatch(/ref=ref_\w+/);
    const elsewhere = await fetch(`${deployment.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${MESSAGES_KEY}` },
      body: JSON.stringify({ model: 'gpt-4.1', messages: goesOn }),
    });
    expect(await elsewhere.json()).toMatchObject({ error: { code: 'invalid_encrypted_content' } });
  });
});

describe('a shared account', () => {
  const ask = (headers: Record<string, string>, body: object = HELLO, path = '/v1/messages') =>
    fetch(`${shared.url}${path}`, {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify({ model: MESSAGES_MODEL, max_tokens: 9, ...body }),
    });

  it('sends the deployer’s key, and hides what describes the account', async () => {
    for (const key of [{ 'x-api-key': ACCESS_KEY }, { authorization: `Bearer ${ACCESS_KEY}` }] as const) {
      const headers = {
        ...key,
        'anthropic-beta': 'one-2026-01-01',
        'x-secret-of-a-gateway': '1',
        'anthropic-workspace-id': 'w',
        'anthropic-user-profile-id': 'u',
      };
      const response = await ask(headers, HELLO, '/v1/messages?beta=true&account=2');
      expect(response.status).toBe(200);
      const seen = shared.upstream.requests.at(-1);
      expect(seen?.path).toBe('/v1/messages?beta=true');
      expect(seen?.headers).toMatchObject({
        'x-api-key': 'sk-ant-the-account',
        'anthropic-beta': 'one-2026-01-01',
        'anthropic-version': '2023-06-01',
      });
      expect(JSON.stringify(seen?.headers)).not.toContain(ACCESS_KEY);
      expect(seen?.headers).not.toHaveProperty('authorization');
      expect(seen?.headers).not.toHaveProperty('x-secret-of-a-gateway');
      expect(seen?.headers).not.toHaveProperty('anthropic-workspace-id');
      expect(seen?.headers).not.toHaveProperty('anthropic-user-profile-id');
      expect(response.headers.get('request-id')).toMatch(/^req_upstream_/);
      expect(response.headers.get('anthropic-organization-id')).toBeNull();
      expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBeNull();
    }
  });

  it('is closed to strangers, to stored names, and over an API without a key', async () => {
    const stranger = await ask({ 'x-api-key': 'a-key-of-nobody-0000001' });
    expect([stranger.status, await stranger.json()]).toMatchObject([
      401,
      { type: 'error', error: { type: 'authentication_error' } },
    ]);
    const source = { type: 'file', file_id: 'file_1' };
    for (const body of [
      { messages: [user([{ type: 'document', source }])] },
      { ...HELLO, container: 'container_1' },
      { ...HELLO, user_profile_id: 'uprof_1' },
      { ...HELLO, mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] },
      { ...HELLO, tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
    ]) {
      const response = await ask({ 'x-api-key': ACCESS_KEY }, body);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { code: 'not_forwarded' } },
      ]);
    }
    const chat = await ask({ authorization: `Bearer ${ACCESS_KEY}` }, HELLO, '/v1/chat/completions');
    expect([chat.status, await chat.json()]).toMatchObject([404, { error: { code: 'not_forwarded' } }]);
    const files = await fetch(`${shared.url}/v1/files`, {
      headers: { 'x-api-key': ACCESS_KEY, 'anthropic-version': '2023-06-01' },
    });
    expect(files.status).toBe(404);
    expect(shared.upstream.requests).toEqual([]);
  });

  it('compacts conversations of an API without a key, with a digest for a summary', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'read', arguments: '{}' } };
    const turn = (at: number) => [
      user(`Read file ${at}.`),
      { role: 'assistant', content: null, tool_calls: [{ ...call, id: `c${at}` }] },
      result(`c${at}`, 'A line of a file.\n'.repeat(400)),
      assistant('I have read it.'),
    ];
    const body = {
      model: 'gpt-4.1',
      messages: [...[1, 2, 3, 4, 5, 6].flatMap(turn), user('And now?')],
      memory_strategy: { mode: 'summarize', token_budget: 2_000 },
      force: true,
    };
    const response = await fetch(`${shared.url}/v1/compact`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ACCESS_KEY}` },
      body: JSON.stringify(body),
    });
    const { messages, memory } = (await response.json()) as { messages: object[]; memory: object };
    expect([response.status, memory]).toMatchObject([200, { mode: 'summarize' }]);
    expect(messages.length).toBeLessThan(body.messages.length);
    expect(shared.openai.requests).toEqual([]);
  });

  it('takes tools of the caller’s own', async () => {
    const tools = [
      { name: 'read', input_schema: { type: 'object', properties: { file_id: { type: 'string' } } } },
      { type: 'bash_20250124', name: 'bash' },
    ];
    const called = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { file_id: 'mine' } };
    const messages = [
      user('Read it.'),
      assistant([called]),
      user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A text.' }]),
    ];
    const response = await ask({ 'x-api-key': ACCESS_KEY }, { messages, tools });
    expect([response.status, shared.upstream.refusals]).toEqual([200, []]);
  });

  it('answers refusals of the account in Precis’s words', async () => {
    const words = {
      type: 'error',
      error: { type: 'rate_limit_error', message: 'org-of-the-account: 50 a minute' },
    };
    shared.upstream.next({ type: 'error', status: 429, body: words, headers: { 'retry-after': '3' } });
    const response = await ask({ 'x-api-key': ACCESS_KEY });
    const refusal = await response.text();
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3']);
    expect(JSON.parse(refusal)).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect(refusal).not.toContain('org-of-the-account');
  });
});

/** What the model reads of messages: marks of the prompt cache make a text a block. */
function withoutMarks(messages: { role: string; content: unknown }[]): unknown {
  return messages.map(({ role, content }) => ({
    role,
    content: (typeof content === 'string' ? [{ type: 'text', text: content }] : (content as object[])).map(
      (block) => ({ ...block, cache_control: undefined }),
    ),
  }));
}

/** A task with six files that are read one after the other. */
function talk(text: string, name = ''): object[] {
  const read = (at: number) => [
    assistant([{ type: 'tool_use', id: `toolu_${name}${at}`, name: 'read', input: { at } }]),
    user([{ type: 'tool_result', tool_use_id: `toolu_${name}${at}`, content: text }]),
  ];
  return [
    user(`Read the files ${name}.`),
    ...[1, 2, 3, 4, 5, 6].flatMap(read),
    assistant('I have read them.'),
    user('What do they say?'),
  ];
}
