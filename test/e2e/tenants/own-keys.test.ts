import { expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ vars: { LOG_LEVEL: 'debug' } });

const model = 'gpt-4.1-mini';

function requestAbout(...topics: string[]) {
  const messages = conversationOf(topics.map((topic) => linesAbout(topic)));
  return { model, messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };
}

function withKey(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

function paths(): string[] {
  return deployment.upstream.requests.map(({ method, path }) => `${method} ${path}`);
}

/** The answer to a caller who lists the refs of a key. */
async function listingOf(key: string): Promise<unknown[]> {
  const response = await deployment.fetch('/v1/refs', { headers: withKey(key) });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
}

overProtocols('a placeholder instead of a key', deployment, (protocol) => {
  it.each(['ollama', 'EMPTY', 'nineteen-characters'])(
    'is sent, and the view names no refs: %s',
    async (key) => {
      const response = await deployment.chat(requestAbout('placeholders'), withKey(key));

      const { memory } = (await response.json()) as WithMemory;
      expect(memory).toMatchObject({ refs: [], warnings: ['no_tenant'] });
      expect(response.headers.get('x-memory-warning')).toBe('no_tenant');
      expect(response.headers.get('x-memory-applied')).toBe('compact');
      expect(deployment.lastChat().headers.authorization).toBe(`Bearer ${key}`);
      expect(deployment.lastChat().body.messages[3].content).toBe(
        '⟦removed: tool output for read_file (call_id=call_1); reason=context_compaction⟧',
      );
      expect(paths()).toEqual([`POST /v1${protocol.path}`]);
    },
  );

  it('may be absent', async () => {
    const response = await fetch(`${deployment.url}/v1${protocol.path}`, {
      method: 'POST',
      body: JSON.stringify(protocol.body(requestAbout('no key at all'))),
    });

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toBe('no_tenant');
    expect(deployment.lastChat().headers).not.toHaveProperty('authorization');
  });

  it('is no matter of warning where nothing would be stored', async () => {
    const offline = { ...requestAbout('nothing to store'), memory_strategy: { mode: 'trim', max_turns: 1 } };

    const response = await deployment.chat(offline, withKey('ollama'));

    expect(response.headers.has('x-memory-warning')).toBe(false);
  });
});

overProtocols('a key that the upstream does not know', deployment, (protocol) => {
  const key = 'sk-invalid-a-key-that-was-made-up';

  it("writes nothing: the view stays in full, and the upstream's refusal is relayed", async () => {
    const request = requestAbout('an invented key');

    const response = await deployment.chat(request, withKey(key));

    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: {
        message: 'Incorrect API key provided.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
    });
    expect(response.headers.get('x-memory-warning')).toBe('store_failed');
    expect(response.headers.get('x-memory-refs')).toBe('0');
    expect(paths()).toEqual(['GET /v1/models', `POST /v1${protocol.path}`]);
    expect(deployment.lastChat().body.messages).toEqual(request.messages);
    expect(await listingOf(key)).toEqual([401, 'invalid_api_key']);
  });

  it('is asked about once, and not with every request', async () => {
    const another = 'sk-invalid-and-tried-again-and-again';

    await deployment.chat(requestAbout('an invented key, again'), withKey(another));
    await deployment.chat(requestAbout('an invented key, and again'), withKey(another));

    expect(paths().filter((path) => path === 'GET /v1/models')).toHaveLength(1);
    expect(await listingOf(another)).toEqual([401, 'invalid_api_key']);
  });

  it('can store nothing through /v1/compact either', async () => {
    const response = await deployment.fetch('/v1/compact', {
      method: 'POST',
      headers: withKey(key),
      body: JSON.stringify(requestAbout('an invented key, by another way')),
    });

    const { memory } = (await response.json()) as WithMemory;
    expect(memory).toMatchObject({ refs: [], warnings: ['store_failed'] });
    expect(await listingOf(key)).toEqual([401, 'invalid_api_key']);
  });
});

overProtocols('a key that the upstream accepts', deployment, (protocol) => {
  it('is asked about once, with the account that the caller names, and then remembered', async () => {
    const key = 'sk-a-key-that-is-asked-about-once';
    const account = { 'openai-organization': 'org-1', 'openai-project': 'proj-1' };

    const first = await deployment.chat(requestAbout('one'), { ...withKey(key), ...account });
    const second = await deployment.chat(requestAbout('one', 'two'), withKey(key));

    expect(paths()).toEqual(['GET /v1/models', `POST /v1${protocol.path}`, `POST /v1${protocol.path}`]);
    expect(deployment.upstream.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${protocol.key(key)}`,
      ...account,
    });
    expect([first, second].map(({ headers }) => headers.get('x-memory-refs'))).toEqual(['1', '2']);
  });

  it('needs not be asked about after a request that the upstream has answered', async () => {
    const key = 'sk-a-key-that-has-been-answered-before';

    const messages = [{ role: 'user', content: 'Hello' }];
    await deployment.chat({ model, messages, memory_strategy: 'compact' }, withKey(key));
    const response = await deployment.chat(requestAbout('an answered key'), withKey(key));

    expect(paths()).toEqual([`POST /v1${protocol.path}`, `POST /v1${protocol.path}`]);
    expect(response.headers.get('x-memory-refs')).toBe('1');
  });
});

overProtocols('the log', deployment, () => {
  it('holds neither keys nor content, whatever happens', async () => {
    const secret = 'sk-a-key-that-must-not-be-logged';
    const invalid = 'sk-invalid-key-that-must-not-be-logged';
    const content = 'the-content-that-must-not-be-logged';
    const failures = () => deployment.worker.output().split('store_failed').length;
    const before = failures();

    await deployment.chat(requestAbout(content), withKey(secret));
    await deployment.chat(requestAbout(content), withKey(invalid));
    deployment.upstream.next((request) => request.socket.destroy());
    await deployment.chat(requestAbout(content), withKey(secret));
    await deployment.chat(`{"model":"${content}"`, withKey(secret));
    await until('the failed write is logged', () => failures() > before);
    await until('the dead upstream is logged', () =>
      deployment.worker.output().includes('upstream_unreachable'),
    );

    const output = deployment.worker.output();
    expect(output).not.toContain('must-not-be-logged');
    expect(output).not.toContain('secret-of-the-end-to-end-tests');
    expect(output).not.toContain('Bearer');
  });
});
