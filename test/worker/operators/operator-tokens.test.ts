/** Tokens of the operator instead of a caller's key: they never go upstream. */
import { beforeEach, describe, expect, it } from 'vitest';
import { shorten } from '../../support/time-limits.ts';
import { KEY, startApp, watchedBucket } from '../support.ts';

const TOKENS = {
  ADMIN_TOKEN: 'the-token-of-the-operator',
  METRICS_TOKEN: 'the-token-of-the-metrics',
};

// A request waits here for the work after its answer, and refusals are counted.
beforeEach(() => shorten({ metricsBatchMs: 1 }));

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe.each(Object.entries(TOKENS))('%s instead of a caller’s key', (_, token) => {
  it.each([
    '/v1/Admin/health',
    '/v1/v1/admin/health',
    '/v1//admin/health',
    '/v1/admin%2fhealth',
    '/v1/metrics',
    '/v1/models',
    '/v1/files',
    '/v1/refs',
    '/v1/deployment',
  ])('is refused as an operator’s token, and not passed on: %s', async (path) => {
    const { request, sent } = startApp(watchedBucket().bucket, TOKENS);
    const response = await request(path, bearer(token));
    expect(response.status).toBe(401);
    const { error } = (await response.json()) as { readonly error: { code: string; message: string } };
    expect(error.code).toBe('invalid_api_key');
    expect(error.message).toContain("a token of this deployment's operator");
    expect(error.message).not.toContain(token);
    expect(sent).toEqual([]);
  });

  it.each([
    ['without a tenant of its own', {}],
    ['where callers without a key share a tenant', { LOCAL_TENANT: 'home', LOCAL_HOSTS: 'precis.test' }],
  ])('makes no model call: %s', async (_case, vars) => {
    const { request, sent } = startApp(watchedBucket().bucket, { ...TOKENS, ...vars });
    const body = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] });
    const response = await request('/v1/chat/completions', { method: 'POST', body, ...bearer(token) });
    expect(response.status).toBe(401);
    expect(sent).toEqual([]);
  });

  const encoded = encodeURIComponent(token).replaceAll('-', '%2D');
  const ways: [string, { readonly path?: string; readonly headers?: Record<string, string> }][] = [
    ['without a scheme', { headers: { authorization: token } }],
    ['under another scheme', { headers: { authorization: `Token ${token}` } }],
    ['as a password', { headers: { authorization: `Basic ${btoa(`admin:${token}`)}` } }],
    ['beside a key', { headers: { authorization: `Bearer sk-a-key-of-a-caller-0001, Bearer ${token}` } }],
    ['in quotes', { headers: { authorization: `Bearer "${token}"` } }],
    ...['x-api-key', 'api-key', 'x-goog-api-key', 'cf-aig-authorization', 'x-auth-token', 'user-agent'].map(
      (name): [string, { headers: Record<string, string> }] => [name, { headers: { [name]: token } }],
    ),
    ['helicone-auth', { headers: { 'helicone-auth': `Bearer ${token}` } }],
    ['a header of many', { headers: { 'x-portkey-config': `{"api_key":"${token}"}` } }],
    ['a cookie', { headers: { cookie: `a=b; session=${token}; c=d` } }],
    ['an encoded cookie', { headers: { cookie: `session=${encoded}` } }],
    ['the query', { path: `?key=${token}` }],
    ['the encoded query', { path: `?a=b&token=${encoded}` }],
  ];

  it.each(ways)(
    'B11: is not sent upstream, nor with another key: %s',
    async (_way, { path = '', headers }) => {
      const body = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] });
      const messages = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 9, messages: [] });
      for (const [method, route, sentBody] of [
        ['POST', '/v1/chat/completions', body],
        ['POST', '/v1/messages', messages],
        ['GET', '/v1/files', null],
        ['GET', '/v1/refs', null],
      ] as const)
        for (const access of [{}, { ACCESS_KEYS: `one=${KEY}`, UPSTREAM_API_KEY: 'sk-of-the-deployer' }]) {
          const { request, sent } = startApp(watchedBucket().bucket, { ...TOKENS, ...access });
          const key = route === '/v1/messages' ? { 'x-api-key': KEY } : { authorization: `Bearer ${KEY}` };
          const response = await request(`${route}${path}`, {
            method,
            headers: { ...key, ...headers },
            body: sentBody,
          });
          expect([route, response.status, sent]).toEqual([route, 401, []]);
          expect(await response.text()).not.toContain(token);
        }
    },
  );

  it('is not missed in the path', async () => {
    const { request, sent } = startApp(watchedBucket().bucket, TOKENS);
    expect((await request(`/v1/files/${encoded}`)).status).toBe(401);
    expect(sent).toEqual([]);
  });

  it('is a key as any other for a deployment without these tokens', async () => {
    const { request, sent } = startApp(watchedBucket().bucket);
    expect((await request('/v1/files', bearer(token))).status).toBe(200);
    expect(sent).toHaveLength(1);
  });
});

describe('paths below /v1/admin', () => {
  it.each(['/v1/admin', '/v1/admin/', '/v1/admin/x', '/admin/health/x', '/v1/admin/health/x'])(
    'are no route, and nobody’s request is passed on: %s',
    async (path) => {
      for (const method of ['GET', 'POST'])
        for (const token of [undefined, ...Object.values(TOKENS)]) {
          const { request, sent } = startApp(watchedBucket().bucket, TOKENS);
          const response = await request(path, { method, ...(token && bearer(token)) });
          expect(response.status).toBe(404);
          expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded' } });
          expect(sent).toEqual([]);
        }
    },
  );
});
