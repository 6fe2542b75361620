/** The inspector's page and its files, and what a caller learns about the deployment. */
import { describe, expect, it } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import { deployment } from '../../../src/reference/schemas/stored.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const METRICS_TOKEN = 'a-metrics-token-of-the-tests';
const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const precis = deploy({
  vars: {
    METRICS_TOKEN,
    WEBHOOK_URL: 'http://hooks.test/services/a-token-in-a-path',
    WEBHOOK_SECRET,
    RETENTION_DAYS: '30',
  },
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${precis.url}${path}`, { headers });

const PATHS = ['/', '/inspect', '/inspect/inspector.js', '/inspect/inspector.css'];

describe('the inspector', () => {
  it.each(PATHS)('is served without a key, and lets nothing else in (%s)', async (path) => {
    const response = await get(path);
    const policy = response.headers.get('content-security-policy') ?? '';

    expect(response.status).toBe(200);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    await response.body?.cancel();
  });

  it('has no script, style or handler within its pages', async () => {
    for (const path of ['/', '/inspect']) {
      const html = await (await get(path)).text();
      expect(html).not.toMatch(/<style|\son\w+=|style=|javascript:|<script(?![^>]*\ssrc=)/i);
      expect([...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url)).not.toContainEqual(
        expect.stringMatching(/^(?:https?:)?\/\//),
      );
    }
  });

  it('is linked from the front page', async () => {
    const response = await get('/');

    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await response.text();
    for (const path of ['inspect', 'docs', 'openapi.json', 'llms.txt'])
      expect(html).toContain(`<a href="${path}">`);
    expect(html).toContain('It is running.');
    expect(html).toContain(`curl ${precis.url}/v1/chat/completions`);
    expect(html).toContain('Authorization: Bearer $OPENAI_API_KEY');
    expect(html).toContain(`curl ${precis.url}/v1/messages`);
    expect(html).toContain('x-api-key: $ANTHROPIC_API_KEY');
  });

  it.each(PATHS.slice(2))('is sent again only when it has changed (%s)', async (path) => {
    const first = await get(path);
    const etag = first.headers.get('etag') ?? '';
    expect((await first.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    const second = await get(path, { 'if-none-match': etag });

    expect(etag).toMatch(/^"[\da-f]{32}"$/);
    expect(second.status).toBe(304);
    expect(second.headers.get('etag')).toBe(etag);
    expect(await second.text()).toBe('');
  });

  it('has parts that are loaded late, each under a name that is never used again', async () => {
    const script = await (await get('/inspect/inspector.js')).text();
    const names = [...script.matchAll(/import\("\.\/([\w-]+\.js)"\)/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const part = await get(`/inspect/${name}`);
      expect(part.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(part.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(part.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect((await part.text()).length).toBeGreaterThan(1_000);
      const other = await get(`/inspect/${name.replace(/-\w{8}\.js$/, '-AAAAAAAA.js')}`);
      expect(other.status).toBe(404);
      await other.body?.cancel();
    }
  });

  it.each(['/inspect/__proto__', '/inspect/index.html', '/inspect/inspector.js/x', '/inspect/'])(
    'has no other file (%s)',
    async (path) => {
      const response = await get(path);

      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded' } });
      expect(precis.upstream.requests).toEqual([]);
    },
  );

  it('asks nobody whether callers without a key are served', async () => {
    expect(await (await get('/inspect')).text()).toContain('data-key="needed"');
  });
});

describe('GET /v1/deployment', () => {
  it('shows a caller what is set, and no secret', async () => {
    const response = await precis.fetch('/v1/deployment');
    const text = await response.text();
    const facts = deployment.parse(JSON.parse(text));
    const values = new Map(facts.variables.map(({ name, set, value }) => [name, { set, value }]));

    expect(facts).toMatchObject({
      access: 'callers_keys',
      caller: 'key',
      metrics: true,
      default_strategy: { mode: 'none' },
    });
    expect([...values.keys()]).toEqual(VARIABLES);
    expect(values.get('RETENTION_DAYS')).toEqual({ set: true, value: '30' });
    expect(values.get('SUMMARIZER_MODEL')).toEqual({ set: false, value: null });
    for (const name of [
      'PRECIS_SECRET',
      'METRICS_TOKEN',
      'WEBHOOK_SECRET',
      'WEBHOOK_URL',
      'UPSTREAM_BASE_URL',
    ])
      expect(values.get(name), name).toEqual({ set: true, value: null });
    expect(text).not.toContain(METRICS_TOKEN);
    expect(text).not.toContain(WEBHOOK_SECRET);
    expect(text).not.toContain('hooks.test');
    expect(text).not.toContain(KEY);
    expect(response.headers.get('cache-control')).toBe('private, no-store');
  });

  it('shows nothing without a key, or with one that the upstream refuses', async () => {
    const without = await get('/v1/deployment');
    const refused = await get('/v1/deployment', { authorization: 'Bearer sk-invalid-0123456789abcdef' });

    for (const response of [without, refused]) {
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    }
  });

  it('takes no other method, and is not forwarded', async () => {
    const response = await precis.fetch('/v1/deployment', { method: 'POST', body: '{}' });
    const below = await precis.fetch('/v1/deployment/secrets');

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(below.status).toBe(404);
    expect(precis.upstream.requests.filter(({ path }) => path.includes('deployment'))).toEqual([]);
  });
});
