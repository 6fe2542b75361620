/** Tokens of the operator in the place of a caller's key: they never go upstream. */
import { beforeEach, describe, expect, it } from 'vitest';
import { shorten } from '../../support/time-limits.ts';
import { startApp, watchedBucket } from '../support.ts';

const TOKENS = {
  ADMIN_TOKEN: 'the-token-of-the-operator',
  METRICS_TOKEN: 'the-token-of-the-metrics',
};

// A request waits here for the work after its answer, and refusals are counted.
beforeEach(() => shorten({ metricsBatchMs: 1 }));

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe.each(Object.entries(TOKENS))('%s in the place of a caller’s key', (_, token) => {
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
