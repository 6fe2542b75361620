import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const withKey = (key: string) => ({ authorization: `Bearer ${key}` });

function requestAbout(topic: string) {
  const messages = conversationOf([linesAbout(topic)]);
  return { model: 'llama', messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };
}

overProtocols('a deployment with LOCAL_TENANT', [], (protocol) => {
  const deployment = deploy({ vars: { LOCAL_TENANT: 'me' } });
  deployment.over(protocol);
  const refsOf = async (topic: string, key: string): Promise<string[]> => {
    const response = await deployment.chat(requestAbout(topic), withKey(key));
    const { memory } = (await response.json()) as WithMemory;
    expect(memory?.warnings).toEqual([]);
    return (memory?.refs ?? []).map(({ ref }) => ref);
  };
  const statusOf = async (ref: string, headers: Record<string, string>): Promise<number> =>
    (await deployment.fetch(`/v1/refs/${ref}`, { headers })).status;

  it('stores for callers with a placeholder instead of a key, who are one tenant', async () => {
    const [ref = ''] = await refsOf('a placeholder', 'ollama');

    expect(await refsOf('a placeholder', 'EMPTY')).toEqual([ref]);
    expect(await statusOf(ref, withKey('x'))).toBe(200);
    expect((await fetch(`${deployment.url}/v1/refs/${ref}`)).status).toBe(200);
  });

  it('asks no upstream whether it knows that key: it may have no route for that', async () => {
    await refsOf('no models', 'ollama');

    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([`/v1${protocol.path}`]);
    expect(deployment.lastChat().headers.authorization).toBe('Bearer ollama');
  });

  it('keeps callers with keys of their own apart', async () => {
    const [local = ''] = await refsOf('another', 'ollama');
    const [own = ''] = await refsOf('another', 'sk-a-caller-with-a-key-of-its-own');

    expect(own).not.toBe(local);
    expect(await statusOf(local, withKey('sk-a-caller-with-a-key-of-its-own'))).toBe(404);
    expect(await statusOf(own, withKey('ollama'))).toBe(404);
  });
});

/** The status and body of a request with any headers, which `fetch` does not allow. */
function sent(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const ROUTES: [method: string, path: string][] = [
  ['POST', '/v1/chat/completions'],
  ['POST', '/chat/completions'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/mcp'],
  ['POST', '/mcp'],
  ['GET', '/v1/conversations'],
  ['GET', '/v1/refs'],
  ['GET', '/v1/conversations/c/messages'],
  ['DELETE', '/v1/memory'],
  ['POST', '/v1/session'],
  ['DELETE', '/v1/session?everywhere=true'],
  ['GET', '/v1/stats/summary.svg'],
  ['GET', '/v1/models'],
  ['GET', '/agents/coding/v1/refs'],
];

describe('a website in the browser of a deployment with LOCAL_TENANT', () => {
  const deployment = deploy({
    vars: {
      LOCAL_TENANT: 'me',
      LOCAL_HOSTS: 'precis.lan, 192.168.1.5',
      PRECIS_SECRET: 'a secret that no repository publishes',
    },
  });
  const port = () => new URL(deployment.url).port;
  const question = JSON.stringify({ model: 'llama', messages: [{ role: 'user', content: 'Hello' }] });
  const statusWith = async (method: string, path: string, headers: Record<string, string>) =>
    (await sent(deployment.url, method, path, headers, method === 'POST' ? question : '')).status;

  it.each([
    ...ROUTES.map((route) => ['another origin', { origin: 'https://evil.example' }, ...route] as const),
    ...ROUTES.map(
      (route) => ['a name of its own (DNS rebinding)', { host: 'evil.example' }, ...route] as const,
    ),
    ['no origin', { origin: 'null' }, 'POST', '/v1/chat/completions'],
    ['no origin that can be read', { origin: 'x' }, 'POST', '/v1/chat/completions'],
    ['another port', { origin: 'http://127.0.0.1:9' }, 'DELETE', '/v1/memory'],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 'GET', '/v1/refs'],
    ['the same site', { 'sec-fetch-site': 'same-site' }, 'GET', '/v1/refs'],
    ['a name that ends like one of ours', { host: 'evil-precis.lan' }, 'GET', '/v1/refs'],
    ['a name below one of ours', { host: 'evil.precis.lan' }, 'GET', '/v1/refs'],
    ['an address that is no loopback', { host: '10.0.0.1' }, 'GET', '/v1/refs'],
    ['a name like a loopback address', { host: '127.0.0.1.evil.example' }, 'GET', '/v1/refs'],
  ] as const)('is refused from %s, with %j: %s %s', async (_, headers, method, path) => {
    const { status, text } = await sent(
      deployment.url,
      method,
      path,
      { 'content-type': 'text/plain', ...headers },
      method === 'POST' ? question : '',
    );

    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'forbidden_origin', type: 'permission_error', param: Object.keys(headers)[0] },
    });
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('does not reach what its own pages and programs do', async () => {
    const own = (host: string) => ({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' });
    for (const host of [
      `localhost:${port()}`,
      `127.0.0.1:${port()}`,
      'precis.lan:8080',
      'PRECIS.LAN',
      '192.168.1.5',
    ])
      expect(await statusWith('GET', '/v1/refs', own(host)), host).toBe(200);
    expect(await statusWith('GET', '/v1/refs', { 'sec-fetch-site': 'none' })).toBe(200);
    expect(await statusWith('POST', '/v1/chat/completions', { 'content-type': 'application/json' })).toBe(
      200,
    );
    expect(await statusWith('GET', '/healthz', { host: 'evil.example' })).toBe(200);
  });
});

describe('a deployment without it', () => {
  const deployment = deploy({ vars: { LOG_LEVEL: 'warn' } });

  it('explains once what is not stored, and which variable changes that', async () => {
    const warnings = () => deployment.worker.output().split('LOCAL_TENANT gives them a tenant').length - 1;
    await deployment.chat(requestAbout('one'), withKey('ollama'));
    await until('it is explained', () => warnings() === 1);
    await deployment.chat(requestAbout('two'), withKey('ollama'));
    const refused = await deployment.fetch('/v1/refs', { headers: withKey('ollama') });

    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('LOCAL_TENANT');
    expect(warnings()).toBe(1);
  });
});

describe('LOCAL_HOSTS without LOCAL_TENANT', () => {
  const deployment = deploy({ vars: { LOCAL_HOSTS: 'precis.lan' } });

  it('is a configuration error', async () => {
    const response = await deployment.fetch('/v1/models');

    expect(response.status).toBe(500);
    expect(await response.text()).toContain('LOCAL_HOSTS is set without LOCAL_TENANT');
  });
});

describe('LOCAL_TENANT beside ACCESS_KEYS', () => {
  const deployment = deploy({
    vars: {
      LOCAL_TENANT: 'me',
      ACCESS_KEYS: 'a=an-access-key-of-20-characters',
      UPSTREAM_API_KEY: 'sk-the-account',
    },
  });

  it('is a configuration error', async () => {
    const response = await deployment.fetch('/v1/models', {
      headers: withKey('an-access-key-of-20-characters'),
    });

    expect(response.status).toBe(500);
    expect(await response.text()).toContain('exclude each other');
  });
});
