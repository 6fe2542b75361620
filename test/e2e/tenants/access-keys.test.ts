import { AzureOpenAI } from 'openai';
import { beforeAll, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const alice = 'precis-alice-0123456789abcdef';
const bob = 'precis-bob-fedcba9876543210ff';
const deployers = 'sk-the-key-that-the-deployer-pays-for';

const deployment = deploy({
  vars: { ACCESS_KEYS: `alice=${alice},bob=${bob}`, UPSTREAM_API_KEY: deployers },
});

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('access keys')]);
const request = { model, messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };

function withKey(key: string, headers: Record<string, string> = {}): Record<string, string> {
  return { authorization: `Bearer ${key}`, ...headers };
}

async function errorOf(response: Response): Promise<unknown[]> {
  const { error } = (await response.json()) as {
    error?: { code: string; type: string; param: null };
  };
  return [response.status, error?.type, error?.code, error?.param];
}

/** All headers of the upstream's requests, with their values. */
function seenHeaders(): string {
  return JSON.stringify(deployment.upstream.requests.map(({ headers }) => headers));
}

overProtocols('a caller with an access key', deployment, (protocol) => {
  it("is served with the deployer's key, and its own is never sent", async () => {
    const client = deployment.client({ apiKey: alice });

    await client.chat.completions.create(request);
    await client.models.list();
    await client.embeddings.create({ model: 'small', input: 'x', encoding_format: 'float' });

    const keys = deployment.upstream.requests.map(({ headers }) => headers.authorization);
    expect(keys).toEqual([`Bearer ${deployers}`, `Bearer ${deployers}`, `Bearer ${deployers}`]);
    expect(seenHeaders()).not.toContain(alice);
  });

  it('is known by a client of Azure’s, which sends its key as api-key', async () => {
    const client = new AzureOpenAI({
      endpoint: `${deployment.url}/azure`,
      apiKey: alice,
      apiVersion: '2024-10-21',
      maxRetries: 0,
    });

    if (protocol.name === 'chat') await client.chat.completions.create({ model, messages });
    else await client.responses.create({ model, input: 'Hello.' });
    await client.models.list();

    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([
      `/v1${protocol.path}`,
      '/v1/models',
    ]);
    expect(deployment.lastChat().headers.authorization).toBe(`Bearer ${deployers}`);
    expect(seenHeaders()).not.toContain(alice);
  });

  it('can name no other account of the upstream', async () => {
    const account = {
      'openai-organization': 'org-of-somebody',
      'openai-project': 'proj-of-somebody',
      'api-key': 'key-of-somebody',
      cookie: 'session=of-somebody',
    };

    await deployment.chat(request, withKey(alice, account));
    await deployment.fetch('/v1/models', { headers: withKey(alice, account) });

    expect(deployment.upstream.requests).toHaveLength(2);
    expect(seenHeaders()).not.toContain('somebody');
  });

  it("does not learn of the deployer's account from the answer", async () => {
    deployment.upstream.next({
      type: 'answer',
      headers: { 'openai-organization': 'org-of-the-deployer', 'set-cookie': 'a=of-the-deployer' },
    });

    const response = await deployment.chat(request, withKey(alice));

    expect(JSON.stringify([...response.headers])).not.toContain('of-the-deployer');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('puts back the memory of its own conversations alone', async () => {
    const path = `/v1/conversations/put-back-${protocol.name}/memory`;
    const memory = {
      memory_strategy: { mode: 'compact' },
      memory_injection: null,
      health: 'healthy',
      memories: [],
      rounds: [],
    };
    const put = (key: string) =>
      deployment.fetch(path, { method: 'PUT', headers: withKey(key), body: JSON.stringify(memory) });

    const response = await put(alice);

    expect(await response.json()).toMatchObject(memory);
    expect((await deployment.fetch(path, { headers: withKey(bob) })).status).toBe(404);
    expect(await errorOf(await put('precis-nobody-0123456789abcdef'))).toEqual([
      401,
      'authentication_error',
      'invalid_api_key',
      null,
    ]);
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('has its contents stored at once: its key needs no word of the upstream', async () => {
    const fresh = { ...request, messages: conversationOf([linesAbout('trust')]) };

    const response = await deployment.chat(fresh, withKey(bob));

    expect(response.headers.get('x-memory-refs')).toBe('1');
    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([`/v1${protocol.path}`]);
  });

  it.each(['precis-alice-0123456789abcdeg', 'alice', `${alice}x`, deployers])(
    'is nobody with the wrong key %s',
    async (key) => {
      const responses = [
        await deployment.chat(request, withKey(key)),
        await deployment.fetch('/v1/models', { headers: withKey(key) }),
        await deployment.fetch('/v1/refs', { headers: withKey(key) }),
        await deployment.fetch('/v1/compact', {
          method: 'POST',
          headers: withKey(key),
          body: JSON.stringify(request),
        }),
      ];

      for (const response of responses)
        expect(await errorOf(response)).toEqual([401, 'authentication_error', 'invalid_api_key', null]);
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it('F16: learns of no agent with a wrong key, by no route', async () => {
    const said = { ...request, agent_type: 'nobody' };
    const responses = [
      await deployment.fetch('/agents/nobody/v1/models', { headers: withKey('wrong') }),
      await deployment.fetch('/agents/coding/v1/models', { headers: withKey('wrong') }),
      await deployment.fetch('/agents/nobody/v1/refs/tool', { headers: withKey('wrong') }),
      await deployment.fetch('/agents/nobody/v1/memory', { method: 'PUT', headers: withKey('wrong') }),
      await deployment.chat(said, withKey('wrong')),
      await deployment.chat(request, withKey('wrong', { 'x-agent-type': 'nobody' })),
    ];

    for (const response of responses)
      expect(await errorOf(response)).toEqual([401, 'authentication_error', 'invalid_api_key', null]);
  });

  it('F16: learns the known agents with its own', async () => {
    const response = await deployment.fetch('/agents/nobody/v1/models', { headers: withKey(alice) });

    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('coding') } });
  });

  it('is nobody without a key', async () => {
    const response = await fetch(`${deployment.url}/v1${protocol.path}`, {
      method: 'POST',
      body: JSON.stringify(protocol.body(request)),
    });

    expect(await errorOf(response)).toEqual([401, 'authentication_error', 'invalid_api_key', null]);
    expect((await fetch(`${deployment.url}/healthz`)).status).toBe(200);
  });
});

overProtocols('a ref of a tenant with an access key', deployment, () => {
  let ref = '';
  beforeAll(async () => {
    const { memory } = (await (await deployment.chat(request, withKey(alice))).json()) as WithMemory;
    ref = memory?.refs[0]?.ref ?? '';
  });

  it('is fetched with the key of its owner', async () => {
    const response = await deployment.fetch(`/v1/refs/${ref}`, { headers: withKey(alice) });

    expect(await response.text()).toBe(linesAbout('access keys'));
  });

  it('is not there for another tenant, in no list and for no method', async () => {
    const headers = withKey(bob);
    const read = await deployment.fetch(`/v1/refs/${ref}`, { headers });
    const deleted = await deployment.fetch(`/v1/refs/${ref}`, { method: 'DELETE', headers });
    const listed = await (await deployment.fetch('/v1/refs', { headers })).text();

    expect(await errorOf(read)).toEqual([404, 'invalid_request_error', 'ref_not_found', 'ref']);
    expect(await errorOf(deleted)).toEqual([404, 'invalid_request_error', 'ref_not_found', 'ref']);
    expect(listed).not.toContain(ref);
    expect((await deployment.fetch(`/v1/refs/${ref}`, { headers: withKey(alice) })).status).toBe(200);
  });
});

overProtocols('responses of a shared account', deployment, () => {
  const ask = (fields: object) =>
    deployment.postTo(
      '/v1/responses',
      { model: 'gpt-4.1', input: 'Hello', ...fields },
      { ...withKey(alice) },
    );

  it.each([{}, { store: true }, { store: null }])(
    'are not stored upstream, whatever is asked for: %j',
    async (fields) => {
      expect((await ask(fields)).status).toBe(200);
      expect(deployment.upstream.requests.at(-1)?.body).toEqual({
        model: 'gpt-4.1',
        input: 'Hello',
        store: false,
        prompt_cache_key: expect.stringMatching(/^[0-9a-f]{40}$/),
      });
    },
  );

  it.each(['previous_response_id', 'conversation'])(
    'go on from none that another caller may have: %s',
    async (field) => {
      const response = await ask({ [field]: 'resp_1' });
      expect(await errorOf(response)).toEqual([400, 'invalid_request_error', 'not_forwarded', field]);
    },
  );
});

overProtocols('the routes of a shared account', deployment, () => {
  it.each([
    ['GET', '/v1/files'],
    ['POST', '/v1/files'],
    ['GET', '/v1/files/file_1/content'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['GET', '/v1/responses/resp_1'],
    ['GET', '/v1/chat/completions'],
    ['GET', '/v1/chat/completions/chatcmpl-1'],
    ['DELETE', '/v1/chat/completions/chatcmpl-1'],
    ['POST', '/v1/fine_tuning/jobs'],
    ['DELETE', '/v1/models/ft:gpt-4.1-mini:org::1'],
    ['POST', '/v1/models'],
    ['GET', '/v1/models/../files'],
    ['GET', '/v1/models/%2e%2e/files'],
    ['GET', '/v1/models/..%2Ffiles'],
    ['GET', '/v1/models/..%5Cfiles'],
    ['GET', '/v1//files'],
    ['GET', '/prefix/v1/files'],
    ['GET', '/agents/coding/v1/files'],
    ['GET', '/v1/organization/admin_api_keys'],
  ])('are closed: %s %s', async (method, path) => {
    const response = await deployment.fetch(path, { method, headers: withKey(alice) });

    expect(await errorOf(response)).toEqual([404, 'invalid_request_error', 'not_forwarded', null]);
    expect(deployment.upstream.requests).toEqual([]);
  });

  it.each([
    ['GET', '/v1/models'],
    ['GET', '/v1/models/gpt-4.1-mini'],
    ['GET', '/v1/models/some-lab%2Fsome-model'],
    ['GET', '/models'],
    ['POST', '/v1/embeddings'],
    ['POST', '/some/prefix/embeddings'],
  ])('are open: %s %s', async (method, path) => {
    const body = method === 'POST' ? '{"model":"small","input":"x"}' : null;

    const response = await deployment.fetch(path, { method, headers: withKey(alice), body });

    expect(response.status).toBe(200);
    expect(deployment.upstream.requests).toHaveLength(1);
  });
});

it('is asked by browsers before a page of another origin sends its key', async () => {
  const path = `${deployment.url}/v1/chat/completions`;
  const asked = {
    origin: 'https://page.test',
    'access-control-request-headers': 'authorization,content-type',
  };
  const before = await fetch(path, { method: 'OPTIONS', headers: asked });
  const refused = await fetch(path, { method: 'POST', headers: withKey('unknown') });
  const answered = await deployment.chat({ model, messages }, withKey(alice));

  expect([before.status, refused.status, answered.status]).toEqual([204, 401, 200]);
  expect(before.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
  for (const { headers } of [before, refused, answered])
    expect(headers.get('access-control-allow-origin')).toBe('*');
  expect((await deployment.fetch('/v1/admin/health', { method: 'OPTIONS' })).status).toBe(405);
  expect(deployment.chats()).toHaveLength(1);
});
