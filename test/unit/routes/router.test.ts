import { TrieRouter } from 'hono/router/trie-router';
import { describe, expect, it } from 'vitest';
import { RouteRouter } from '../../../src/routes/router.ts';

const ADDED = [
  ['ALL', '/v1/*', 'all'],
  ['POST', '/v1/messages', 'post'],
  ['GET', '/v1/refs', 'list'],
  ['GET', '/v1/refs/:ref', 'read'],
  ['ALL', '/v1/messages', 'not allowed'],
  ['ALL', '/v1/messages/*', 'below'],
] as const;

function routers() {
  const trie = new TrieRouter<string>();
  const router = new RouteRouter<string>(['/v1/messages', '/v1/refs']);
  for (const [method, path, handler] of ADDED) {
    trie.add(method, path, handler);
    router.add(method, path, handler);
  }
  return { trie, router };
}

describe('the router', () => {
  it.each(['/v1/messages', '/v1/messages/count', '/v1/refs', '/v1/refs/a', '/v1/files', '/'])(
    'gives the handlers of %s that the trie gives, each time',
    (path) => {
      const { trie, router } = routers();
      for (const method of ['GET', 'POST', 'DELETE', 'GET', 'POST', 'DELETE'])
        expect(router.match(method, path)).toEqual(trie.match(method, path));
    },
  );

  it('keeps the parameters of two requests apart', () => {
    const { router } = routers();
    const paramsOf = (path: string) => router.match('GET', path)[0].map(([, params]) => params);
    expect(paramsOf('/v1/refs/a')).toContainEqual({ ref: 'a' });
    expect(paramsOf('/v1/refs/b')).toContainEqual({ ref: 'b' });
  });

  it('has a handler that is added after a request', () => {
    const { router } = routers();
    router.match('GET', '/v1/refs');
    router.add('GET', '/v1/refs', 'late');
    expect(router.match('GET', '/v1/refs')[0].map(([handler]) => handler)).toContain('late');
  });
});
