/** The reference over HTTP: who gets it, and what it asks for. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { PAGES } from '../../../src/reference/pages.ts';
import { quiet } from '../../support/quiet.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

const FILES = ['/openapi.json', '/docs', '/llms.txt', '/docs/modes.md'];

const SECRETS = {
  ACCESS_KEYS: JSON.stringify({ 'a-team': 'an-access-key-that-nobody-guesses' }),
  UPSTREAM_API_KEY: 'sk-the-key-of-the-upstream',
  METRICS_TOKEN: 'a-token-for-the-metrics-of-tests',
} as const;

/** The app, asked without a key. */
function strangers(variables: Record<string, string> = {}) {
  const { bucket, operations } = watchedBucket();
  const objects = watchedObjects(env.TENANT_MEMORY);
  const app = startApp(bucket, { ...variables, TENANT_MEMORY: objects.namespace });
  const get = (path: string, init: RequestInit = {}) =>
    app.request(path, { ...init, headers: { authorization: 'none', ...init.headers } });
  return { ...app, get, operations, calls: objects.calls };
}

// The first test here, since an isolate keeps what it has made.
it('a part that can’t be loaded is logged, and loaded by the next request', async () => {
  const page = PAGES.get('responses-api.md');
  if (!page) throw new Error('there is no such page');
  vi.spyOn(page, 'load').mockRejectedValueOnce(new TypeError('no such module'));
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { get } = strangers();

  const failed = await get('/docs/responses-api.md');
  const next = await get('/docs/responses-api.md');

  expect([failed.status, await failed.json()]).toMatchObject([500, { error: { code: 'internal_error' } }]);
  expect(String(logged.mock.calls[0])).toMatch(/"code":"internal_error","error":"TypeError"/);
  expect(String(logged.mock.calls)).not.toContain('no such module');
  expect(next.status).toBe(200);
});

it('a page is made once, however its path is written', async () => {
  const page = PAGES.get('money.md');
  if (!page) throw new Error('there is no such page');
  const load = vi.spyOn(page, 'load');
  const { get } = strangers();
  for (const path of ['/docs/money.md', '/docs/%6doney.md', '/docs/m%6Fney.md', '/docs/m%6fney.md'])
    expect((await get(path)).status).toBe(200);
  expect(load).toHaveBeenCalledOnce();
});

describe.each(FILES)('%s', (path) => {
  it('is answered to anybody, the same everywhere, with no secret', async () => {
    const open = await strangers().get(path);
    const closed = await strangers(SECRETS).get(path);
    const text = await closed.text();

    expect([open.status, closed.status]).toEqual([200, 200]);
    expect(text).toBe(await open.text());
    expect(text.length).toBeGreaterThan(500);
    for (const secret of [...Object.values(SECRETS), 'an-access-key', env.PRECIS_SECRET])
      expect(text).not.toContain(secret);
  });

  it('is answered where the configuration is invalid', async () => {
    const { get } = strangers({ DEFAULT_MEMORY_STRATEGY: 'unknown' });

    expect((await get(path)).status).toBe(200);
  });

  it('asks neither storage nor the upstream', async () => {
    const { get, operations, calls, sent } = strangers();
    await get(path);

    expect([operations, calls, sent]).toEqual([[], [], []]);
  });

  it('has a tag by which a known version is a 304', async () => {
    const { get } = strangers();
    const first = await get(path);
    const etag = first.headers.get('etag') ?? '';
    const again = await get(path, { headers: { 'if-none-match': `"other", W/${etag}` } });
    const other = await get(path, { headers: { 'if-none-match': '"other"' } });

    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    expect(other.status).toBe(200);
  });

  it('answers `HEAD` without a body', async () => {
    const { get } = strangers();
    const [whole, head] = [await get(path), await get(path, { method: 'HEAD' })];

    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['etag', 'content-type', 'cache-control'])
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
  });
});

describe('the page', () => {
  it('may load nothing, and has only its own style', async () => {
    const answer = await strangers().get('/docs');
    const policy = answer.headers.get('content-security-policy') ?? '';
    const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(await answer.text()) ?? [];
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style));
    const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));

    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('pages of the documentation', () => {
  it('are all there, as Markdown', async () => {
    const { get } = strangers();
    for (const file of PAGES.keys()) {
      const answer = await get(`/docs/${file}`);
      expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      expect(await answer.text()).toMatch(/^# \S/);
    }
  });

  it('are HTML without `.md` for whoever accepts it, which a browser does', async () => {
    const { get } = strangers();
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const typeOf = async (path: string, headers = {}): Promise<string | null> =>
      (await get(path, { headers })).headers.get('content-type');

    const answer = await get('/docs/modes', { headers: { accept } });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('vary')).toBe('accept');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await answer.text()).toContain('<h1 id="modes">Modes</h1>');
    expect(await typeOf('/docs/modes')).toBe('text/markdown; charset=utf-8');
    expect(await typeOf('/docs/modes.md', { accept })).toBe('text/markdown; charset=utf-8');
    expect(await typeOf('/docs/modes', { accept: `text/markdown, ${accept}` })).toContain('text/markdown');
  });

  it('are searched, and what was asked is shown as text', async () => {
    const { get } = strangers();
    const found = await (await get('/docs/search?q=budget%20goal')).text();
    const hostile = await (await get('/docs/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E')).text();

    expect(found).toContain('<a href="modes#a-budget-is-a-goal">');
    expect(found).toContain('<mark>budget</mark>');
    expect(hostile).not.toContain('<script>');
    expect(hostile).toContain('No section has all words of');
    expect((await get('/docs/search')).status).toBe(200);
  });

  it.each(['unknown.md', 'constructor', '..%2fpackage.json', '%'])('are a 404 for %s', async (name) => {
    const answer = await strangers().get(`/docs/${name}`);

    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not_forwarded' } });
  });

  it('are linked from `/llms.txt` to where they are', async () => {
    const { get } = strangers();
    const text = await (await get('/llms.txt')).text();
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);

    expect(text).toMatch(/^# Precis\n\n> \S/);
    expect(links.length).toBeGreaterThan(10);
    for (const link of links) expect((await get(link)).status).toBe(200);
  });
});

it('paths below `/v1` are forwarded, whatever they end in', async () => {
  const { request, sent } = strangers();
  for (const path of ['/v1/docs', '/v1/openapi.json', '/v1/files/llms.txt']) await request(path);

  expect(sent.map(({ url }) => new URL(url).pathname)).toEqual([
    '/v1/docs',
    '/v1/openapi.json',
    '/v1/files/llms.txt',
  ]);
});
