import { describe, expect, it } from 'vitest';
import { climbs } from '../../../src/routes/routing.ts';
import { ROUTES, routeOf } from '../../../src/routes/table.ts';

describe('the route of a path', () => {
  it.each([
    ['/v1/chat/completions', '/v1/chat/completions', undefined],
    ['/chat/completions', '/v1/chat/completions', undefined],
    ['/any/prefix/v1/chat/completions/', '/v1/chat/completions', undefined],
    ['/openai/deployments/m/chat/completions', '/v1/chat/completions', undefined],
    ['/agents/coding/v1/chat/completions', '/v1/chat/completions', 'coding'],
    ['/x/agents/a%20b/chat/completions', '/v1/chat/completions', 'a b'],
    ['/agents/coding/v1/models', '/v1/models', 'coding'],
    ['/agents/coding/', '/', 'coding'],
    ['/agents/coding', '/', 'coding'],
    ['/x/agents/coding', '/', 'coding'],
    ['/agents/nobody', '/agents/nobody', undefined],
    ['/v1/agents/coding', '/v1/agents/coding', undefined],
    ['/refs/ref_abc', '/v1/refs/ref_abc', undefined],
    ['/v1/compact', '/v1/compact', undefined],
    ['/x/conversations/a%2Fb/end', '/v1/conversations/a%2Fb/end', undefined],
    ['/users/ann/memory', '/v1/users/ann/memory', undefined],
    ['/conversations/c/memory/flush', '/v1/conversations/c/memory/flush', undefined],
    ['/users/ann/memory/a%2Fb', '/v1/users/ann/memory/a%2Fb', undefined],
    ['/blocks/team', '/v1/blocks/team', undefined],
    ['/x/v1/blocks', '/v1/blocks', undefined],
    ['/v1/files/blocks', '/v1/files/blocks', undefined],
    ['/v1/files/users/ann/memory', '/v1/files/users/ann/memory', undefined],
    ['/v1/responses/compact', '/v1/responses/compact', undefined],
    ['/prefix/responses/compact', '/v1/responses/compact', undefined],
    ['/v1/batches/b1/responses', '/v1/batches/b1/responses', undefined],
    ['/v1/responses/resp_1/cancel', '/v1/responses/resp_1/cancel', undefined],
    ['/v1/files/refs', '/v1/files/refs', undefined],
    ['/v1/agents/abc/versions', '/v1/agents/abc/versions', undefined],
    ['/v1/files/v1/content', '/v1/files/v1/content', undefined],
    ['/v1/files/', '/v1/files/', undefined],
    ['/v1/compact/', '/v1/compact', undefined],
    ['/x/v1/refs/', '/v1/refs', undefined],
    ['/mcp', '/v1/mcp', undefined],
    ['/any/prefix/v1/mcp', '/v1/mcp', undefined],
    ['/v1/files/mcp', '/v1/files/mcp', undefined],
    ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource/mcp', undefined],
    ['/healthz', '/healthz', undefined],
    ['/docs/conversations', '/docs/conversations', undefined],
    ['/docs/explain', '/docs/explain', undefined],
    ['/inspect/', '/inspect/', undefined],
    ['/v1/healthz', '/v1/healthz', undefined],
    ['/v1/docs/modes.md', '/v1/docs/modes.md', undefined],
    ['/v1/x/stats', '/v1/x/stats', undefined],
  ])('%s is %s', (pathname, path, agent) => {
    expect(routeOf(pathname)).toEqual(agent === undefined ? { path } : { path, agent });
  });

  const paths = ROUTES.map(({ path }) => path.replace(/:\w+/g, 'a%2Fb'));

  it.each(paths.filter((path) => path.startsWith('/v1/')))(
    'matches without /v1 and after any prefix: %s',
    (path) => {
      const below = path.slice('/v1'.length);
      for (const own of [path, `/some/prefix${path}`, below, `/some/prefix${below}`, `/x${below}/`])
        expect(routeOf(own), own).toEqual({ path });
      for (const own of [`/agents/coding${path}`, `/x/agents/coding${below}`])
        expect(routeOf(own), own).toEqual({ path, agent: 'coding' });
    },
  );

  it.each(paths.filter((path) => !path.startsWith('/v1/') && path !== '/'))(
    'matches after any prefix: %s',
    (path) => {
      for (const own of [path, `/some/prefix${path}`]) expect(routeOf(own), own).toEqual({ path });
    },
  );

  it.each([
    '/conversations//memory',
    '/conversations/memory',
    '/x/users//memory',
    '/users/ann/stats',
    '/docs/memory/memory',
    '/inspect/x/memory',
    '/memory/memory',
    '/v2/memory',
    '/x/v1beta/memory',
  ])('with a forgotten id is not one about all data of a caller: %s', (pathname) => {
    expect(routeOf(pathname)).toEqual({ path: pathname });
  });
});

/**
 * Anthropic's SDKs and LiteLLM append `/v1/messages`, also where the base URL ends in a version
 * (https://github.com/BerriAI/litellm/issues/36956), or in a slash.
 */
describe('a path that a client has appended to a whole base URL', () => {
  it.each([
    '/chat/completions',
    '/completions',
    '/responses',
    '/responses/compact',
    '/responses/input_tokens',
    '/messages',
    '/messages/count_tokens',
    '/embeddings',
    '/models',
    '/models/gpt-4.1',
  ])('is known: %s', (below) => {
    const path = `/v1${below}`;
    for (const base of ['/v1/v1', '/v1/', '/v1//v1', '/some/prefix/v1/v1', '/some/prefix/v1/'])
      expect(routeOf(base + below), base).toEqual({ path });
    for (const base of ['/agents/coding/v1/v1', '/agents/coding/v1/', '/v1/agents/coding/v1/v1'])
      expect(routeOf(base + below), base).toEqual({ path, agent: 'coding' });
  });

  it.each([
    '/v1/v1/memory',
    '/v1//memory',
    '/v1//stats',
    '/v1/v1/admin/health',
    '/v1//admin/health',
    '/v1//conversations',
    '/v1//conversations//memory',
    '/v1/v1/files',
    '/v1/v1/batches/b1/responses',
    '/v1/files/v1/models',
  ])('is no other route: %s', (pathname) => {
    expect(routeOf(pathname)).toEqual({ path: pathname });
  });
});

describe('an agent after the version', () => {
  it.each([
    ['/v1/agents/coding/chat/completions', '/v1/chat/completions', 'coding'],
    ['/v1/agents/coding/v1/chat/completions', '/v1/chat/completions', 'coding'],
    ['/some/prefix/v1/agents/coding/responses', '/v1/responses', 'coding'],
    ['/v1/agents/coding/conversations/c/memory', '/v1/conversations/c/memory', 'coding'],
    ['/v1/agents/coding/files/file_1', '/v1/files/file_1', 'coding'],
    ['/v1/agents/coding/v1/files', '/v1/files', 'coding'],
    ['/v1/agents/nobody/chat/completions', '/v1/chat/completions', 'nobody'],
    ['/v1/agents/nobody/responses', '/v1/responses', 'nobody'],
    ['/v1/agents/nobody/v1/anything', '/v1/anything', 'nobody'],
    ['/v1/openai/agents/coding/chat/completions', '/v1/chat/completions', 'coding'],
    ['/v1/agents//chat/completions', '/v1/chat/completions', ''],
    ['/agents//v1/responses', '/v1/responses', ''],
    ['/agents//memory', '/v1/memory', ''],
  ])('is the one of %s', (pathname, path, agent) => {
    expect(routeOf(pathname)).toEqual({ path, agent });
  });

  it.each([
    '/v1/agents',
    '/v1/agents/completions',
    '/v1/agents/abc',
    '/v1/agents/abc/versions',
    '/v1/agents/abc/refs/a/b',
    '/v1/threads/agents/coding/responses',
  ])("is the upstream's in %s", (pathname) => {
    expect(routeOf(pathname)).toEqual({ path: pathname });
  });
});

describe('paths that climb', () => {
  it.each([
    '/v1/models/..%2Ffiles',
    '/v1/models/..%5Cfiles',
    '/v1/models/%252e%252e%252ffiles',
    '/v1/models/%ff%2f..%2f..%2ffiles',
    `/v1/models/%${'25'.repeat(9)}2e%2e`,
    '/v1/./files',
  ])('%s', (path) => {
    expect(climbs(path)).toBe(true);
  });

  it.each(['/v1/models/lab%2Fmodel', '/v1/models/gpt-4.1', '/v1/files/a..b', '/v1/models/%zz'])(
    'not %s',
    (path) => {
      expect(climbs(path)).toBe(false);
    },
  );
});

describe('F16: paths that another server may read otherwise', () => {
  it.each([
    ['a parameter behind dots', '/v1/files/..;/models'],
    ['a parameter with a value', '/v1/files/..;a=b/models'],
    ['an escaped parameter', '/v1/files/..%3b/models'],
    ['all of it escaped', '/v1/files/%2e%2e%3B/models'],
    ['a parameter behind one dot', '/v1/.;/models'],
    ['a dot of two bytes', '/v1/files/%c0%ae%c0%ae/models'],
    ['a slash of two bytes', '/v1/files/x%c0%afmodels'],
    ['a dot of three bytes', '/v1/files/%e0%80%ae%e0%80%ae/models'],
    ['a surrogate', '/v1/files/%ed%a0%80'],
    ['a byte that is no text', '/v1/files/%ff'],
    ['a byte that is no text, escaped twice', '/v1/files/%25ff'],
    ['an end of text', '/v1/files/a%00b'],
    ['an end of text, escaped twice', '/v1/files/a%2500b'],
    ['an end of line', '/v1/files/a%0d%0ab'],
    ['a backslash', '/v1/files/a%5cb'],
    ['dots and white space', '/v1/files/..%20/models'],
    ['full-width dots', '/v1/files/%EF%BC%8E%EF%BC%8E/models'],
    ['a full-width slash', '/v1/files/..%EF%BC%8Fmodels'],
    ['two dots in one', '/v1/files/%E2%80%A5/models'],
    ['a dot in the way of an old server', '/v1/files/%u002e%u002e/models'],
  ])('%s', (_, path) => {
    expect(climbs(path)).toBe(true);
  });

  it.each([
    '/v1/files/a;b',
    '/v1/files/...',
    '/v1/files/%C3%A9',
    '/v1/files/100%25',
    '/v1/files/a%20b',
    '/v1/models/lab%2Fmodel',
  ])('not %s', (path) => {
    expect(climbs(path)).toBe(false);
  });
});
