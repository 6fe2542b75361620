import { expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({
  vars: { DEFAULT_MEMORY_STRATEGY: '{"mode":"trim","max_turns":2,"keep_last_n_turns":1}' },
});

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('a choice')]);

interface Said {
  path?: string;
  body?: object;
  headers?: Record<string, string>;
}

function ask({ path = '/v1', body = {}, headers = {} }: Said): Promise<Response> {
  return deployment.postTo(`${path}/chat/completions`, { model, messages, ...body }, headers);
}

function chosenIn({ headers }: Response): (string | null)[] {
  return [headers.get('x-memory-mode'), headers.get('x-memory-source')];
}

overProtocols('settings that were made without a user', deployment, (protocol) => {
  const set = (id: string, body: object, query = '') =>
    deployment.fetch(`/v1/conversations/${id}/memory${query}`, {
      method: 'PATCH',
      body: JSON.stringify(body),
    });
  const warningOf = async (body: object) => (await ask({ body })).headers.get('x-memory-warning');

  const COMPACT = { mode: 'compact', compact_trigger_turns: 9 };

  it('are reported where a request names one, until they are made with it', async () => {
    const conversation_id = `userless ${protocol.name}`;
    const named = { conversation_id, user: 'ann' };
    await set(conversation_id, { memory_strategy: COMPACT });
    const response = await ask({ body: named });
    expect(chosenIn(response)).toEqual(['trim', 'default']);
    expect(response.headers.get('x-memory-warning')).toBe('settings_without_user');
    expect(await warningOf(named)).toBe('settings_without_user');
    // These do not ask for the conversation's strategy.
    expect(await warningOf({ ...named, memory_strategy: 'none' })).toBeNull();
    expect(await warningOf({ conversation_id })).toBeNull();

    await set(conversation_id, { memory_strategy: COMPACT }, '?user=ann');
    const held = await ask({ body: named });
    expect(chosenIn(held)).toEqual(['compact', 'conversation']);
    expect(held.headers.get('x-memory-warning')).toBeNull();
  });

  it('are reported at once in the isolate that has set them', async () => {
    const conversation_id = `set later ${protocol.name}`;
    const named = { conversation_id, user: 'ann' };
    expect(await warningOf(named)).toBeNull();
    await set(conversation_id, { memory_injection: true });
    expect(await warningOf(named)).toBe('settings_without_user');
    expect(await warningOf({ ...named, memory_injection: false })).toBeNull();
    await set(conversation_id, { memory_injection: null });
    expect(await warningOf(named)).toBeNull();
  });
});

overProtocols('the strategy', deployment, (protocol) => {
  const compact = COMPACT_OLD_TURNS;
  const asHeader = { 'x-memory-strategy': JSON.stringify(compact) };

  it.each<[string, Said, string, string]>([
    ["is the deployment's when nobody says another", {}, 'trim', 'default'],
    ['is what the body says, as an object', { body: { memory_strategy: compact } }, 'compact', 'request'],
    [
      'is left to the header by a mode of null',
      { body: { memory_strategy: { mode: null } }, headers: asHeader },
      'compact',
      'request',
    ],
    [
      'is left to the agent by a mode of null',
      { path: '/agents/chat/v1', headers: { 'x-memory-strategy': '{"mode":null}' } },
      'rolling_summary',
      'agent',
    ],
    [
      'is left to the deployment by nulls alone',
      { body: { memory_strategy: { mode: null, token_budget: null } } },
      'trim',
      'default',
    ],
    [
      "has defaults for nulls, also of another mode's fields",
      { body: { memory_strategy: { ...compact, summary_focus: null, token_budget: null } } },
      'compact',
      'request',
    ],
    ["is what the body says, as a mode's name", { body: { memory_strategy: 'none' } }, 'none', 'request'],
    ['is what the header says, as JSON', { headers: asHeader }, 'compact', 'request'],
    ['is what the header says, as a mode', { headers: { 'x-memory-strategy': 'none' } }, 'none', 'request'],
    ["is the agent's that the base URL names", { path: '/agents/coding/v1' }, 'auto', 'agent'],
    ["is the agent's that the body names", { body: { agent_type: 'coding' } }, 'auto', 'agent'],
    ["is the agent's that the header names", { headers: { 'x-agent-type': 'coding' } }, 'auto', 'agent'],
    [
      'is that of the body before that of the header',
      { body: { memory_strategy: 'none' }, headers: asHeader },
      'none',
      'request',
    ],
    [
      "is that of the request before the agent's",
      { path: '/agents/chat/v1', body: { agent_type: 'chat' }, headers: asHeader },
      'compact',
      'request',
    ],
    [
      'is that of the agent in the body before that of the others',
      { path: '/agents/chat/v1', body: { agent_type: 'coding' }, headers: { 'x-agent-type': 'chat' } },
      'auto',
      'agent',
    ],
    [
      'is that of the agent in the header before that of the base URL',
      { path: '/agents/chat/v1', headers: { 'x-agent-type': 'coding' } },
      'auto',
      'agent',
    ],
    ['is not chosen by null', { body: { memory_strategy: null, agent_type: null } }, 'trim', 'default'],
  ])('%s', async (_, said, mode, source) => {
    const response = await ask(said);

    expect(response.status).toBe(200);
    expect(chosenIn(response)).toEqual([mode, source]);
  });

  it('wins whole: nothing of the next level is merged into it', async () => {
    const response = await ask({ body: { memory_strategy: { mode: 'trim' } } });

    // The deployment's default would have trimmed these two turns.
    expect(chosenIn(response)).toEqual(['trim', 'request']);
    expect(deployment.lastChat().body.messages).toEqual(messages);
  });

  it('of the deployment is applied', async () => {
    const response = await ask({});

    expect(deployment.lastChat().body.messages).toEqual([messages[0], messages.at(-1)]);
    expect(response.headers.get('x-memory-applied')).toBe('trim');
    expect(response.headers.get('x-memory-trigger')).toBe('turns');
  });

  it('reaches Precis through a client that can only change its base URL', async () => {
    const client = deployment.client({ baseURL: `${deployment.url}/agents/coding/v1` });

    const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
    const models = await client.models.list();

    expect(data.choices[0]?.message.content).toBeTruthy();
    expect(response.headers.get('x-memory-source')).toBe('agent');
    expect(models.data[0]?.id).toBe('gpt-4.1-mini');
    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([
      `/v1${protocol.path}`,
      '/v1/models',
    ]);
  });

  it('reaches Precis through a client that can add fields to the body', async () => {
    const params = { model, messages, memory_strategy: COMPACT_OLD_TURNS };

    const { response } = await deployment.client().chat.completions.create(params).withResponse();

    expect(response.headers.get('x-memory-applied')).toBe('compact');
    expect(deployment.lastChat().body.messages[3].content).toMatch(/^⟦removed: tool output for read_file/);
    expect(Object.keys(deployment.lastChat().body)).toEqual(['model', 'messages']);
  });

  it('reaches Precis through a client that can add headers', async () => {
    const client = deployment.client({ defaultHeaders: asHeader });

    const { response } = await client.chat.completions.create({ model, messages }).withResponse();

    expect(chosenIn(response)).toEqual(['compact', 'request']);
    expect(deployment.lastChat().headers).not.toHaveProperty('x-memory-strategy');
  });
});

overProtocols('an agent that nobody knows', deployment, () => {
  it.each<[string, Said, string | null]>([
    ['the base URL', { path: '/agents/nobody/v1' }, null],
    ['the base URL after the version', { path: '/v1/agents/nobody' }, null],
    ['the base URL after and before a version', { path: '/prefix/v1/agents/nobody/v1' }, null],
    ['the body', { body: { agent_type: 'nobody' } }, 'agent_type'],
    ['a header', { headers: { 'x-agent-type': 'nobody' } }, 'x-agent-type'],
    [
      'the base URL of a request with a strategy',
      { path: '/agents/nobody/v1', body: { memory_strategy: 'none' } },
      null,
    ],
  ])('is not found when %s names it', async (_, said, param) => {
    const response = await ask(said);

    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(/'nobody'.*coding/),
        type: 'invalid_request_error',
        param,
        code: 'unknown_agent',
      },
    });
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('is not found without a key in the base URL, which is named as it should be', async () => {
    for (const path of ['/agents//v1', '/v1/agents/', '/v1/agents//v1']) {
      const response = await ask({ path });

      expect(response.status, path).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringContaining('/agents/{key}/v1'), code: 'unknown_agent' },
      });
    }
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('is not found on the other routes either', async () => {
    const models = await deployment.fetch('/agents/nobody/v1/models');
    const refs = await deployment.fetch('/agents/nobody/v1/refs');

    expect([models.status, refs.status]).toEqual([404, 404]);
    expect(deployment.upstream.requests).toEqual([]);
  });
});

overProtocols('the base URL', deployment, (protocol) => {
  it.each([
    '/v1',
    '',
    '/some/prefix/v1',
    '/some/prefix',
    '/openai/v1beta',
    '/some/prefix/agents/coding/v1',
    '/agents/coding',
    '/v1/agents/coding',
    '/some/prefix/v1/agents/coding/v1',
  ])('may be %j: the upstream gets its own path', async (path) => {
    const response = await ask({ path, body: { memory_strategy: COMPACT_OLD_TURNS } });

    expect(chosenIn(response)).toEqual(['compact', 'request']);
    expect(deployment.lastChat().path).toBe(`/v1${protocol.path}`);
    expect(deployment.lastChat().body.messages[3].content).toMatch(/^⟦removed: /);
  });

  it.each(['/v1/agents/coding', '/v1/agents/coding/v1', '/prefix/v1/agents/coding'])(
    'may name its agent after the version, as %s does',
    async (path) => {
      const answers = [await ask({ path }), await ask({ path, body: { stream: true } })];

      for (const response of answers) {
        await response.text();
        expect(chosenIn(response)).toEqual(['auto', 'agent']);
        expect(deployment.lastChat().path).toBe(`/v1${protocol.path}`);
      }
    },
  );

  it('with an agent after the version leads to all other routes of the upstream and of Precis', async () => {
    const at = (path: string) => deployment.fetch(`/v1/agents/coding${path}`);

    const refs = await at('/refs');
    await at('/models');
    await at('/files/file_1');
    await deployment.fetch('/v1/agents/abc/versions');

    expect(await refs.json()).toMatchObject({ object: 'list' });
    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([
      '/v1/models',
      '/v1/files/file_1',
      '/v1/agents/abc/versions',
    ]);
  });

  it('may be without /v1 for the client, and lead to every known route', async () => {
    const client = deployment.client({ baseURL: `${deployment.url}/some/prefix` });

    await client.models.list();
    await client.embeddings.create({ model: 'text-embedding-3-small', input: 'x', encoding_format: 'float' });

    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual(['/v1/models', '/v1/embeddings']);
  });

  it('may carry a query, which is forwarded', async () => {
    const client = deployment.client({ defaultQuery: { 'api-version': '2026-01-01', other: 'é&b' } });

    await client.chat.completions.create({ model, messages });

    const sent = new URL(deployment.lastChat().path, deployment.upstream.url);
    expect(Object.fromEntries(sent.searchParams)).toEqual({ 'api-version': '2026-01-01', other: 'é&b' });
  });

  it('may make a client end its paths with a slash: the routes are the same', async () => {
    const body = JSON.stringify({ model, messages, memory_strategy: COMPACT_OLD_TURNS });
    const answered = await fetch(`${deployment.url}/v1${protocol.path}/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${protocol.key(KEY)}` },
      body: JSON.stringify(protocol.body(JSON.parse(body))),
    });
    const compacted = await deployment.fetch('/v1/compact/', { method: 'POST', body });
    const refs = await deployment.fetch('/v1/refs/');

    expect(answered.headers.get('x-memory-applied')).toBe('compact');
    expect(await compacted.json()).toMatchObject({ object: 'memory.compaction' });
    expect(await refs.json()).toMatchObject({
      object: 'list',
      data: [{ id: expect.stringMatching(/^ref_/) }],
    });
    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([`/v1${protocol.path}`]);
  });
});
