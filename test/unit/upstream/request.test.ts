import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addToList, requestHeaders, responseHeaders, upstreamUrl } from '../../../src/upstream/request.ts';
import { anyPath } from '../../support/conversations/urls.ts';

describe('the upstream’s URL', () => {
  it('is the base followed by the path, with both queries', () => {
    expect(upstreamUrl('https://up.test/v1', '/models', '')).toBe('https://up.test/v1/models');
    expect(upstreamUrl('https://up.test/v1/', '/files', '?a=1')).toBe('https://up.test/v1/files?a=1');
    expect(upstreamUrl('https://up.test/o?api-version=2', '/x', '?a=1')).toBe(
      'https://up.test/o/x?api-version=2&a=1',
    );
  });

  it('never leaves the base, whatever the path', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyPath,
          fc.string(),
          fc.constantFrom('/../../x', '//evil.test/', '/%2e%2e/%2e%2e/', '/..\\..\\'),
        ),
        (path) => {
          let url: string;
          try {
            url = upstreamUrl('https://up.test/v1', path.startsWith('/') ? path : `/${path}`, '');
          } catch {
            return;
          }
          expect(new URL(url).origin).toBe('https://up.test');
          expect(new URL(url).pathname.startsWith('/v1/')).toBe(true);
        },
      ),
    );
  });
});

describe('the headers of a request and of its answer', () => {
  const incoming = new Headers({
    authorization: 'Bearer theirs',
    'x-memory-strategy': 'compact',
    'x-agent-type': 'a',
    'x-conversation-id': 'c',
    'accept-encoding': 'gzip',
    connection: 'close',
    'cf-ray': '1',
    'x-forwarded-for': '1.2.3.4',
    cookie: 'c=1',
    'openai-organization': 'org',
    'x-stainless-lang': 'js',
    'x-session-id': 's',
  });

  it('go up without those of the connection, of the edge and of Precis', () => {
    expect([...requestHeaders(incoming, {}).keys()].toSorted()).toEqual(
      ['authorization', 'cookie', 'openai-organization', 'x-session-id', 'x-stainless-lang'].toSorted(),
    );
  });

  it('go up without those that the header connection names, and leave the caller’s as they are', () => {
    const named = ['x-hop', 'x-last', 'x-kept'].map((name): [string, string] => [name, '1']);
    const hops = new Headers([['connection', 'keep-alive, X-Hop,x-last'], ...named]);
    const came = [...hops];
    expect([...requestHeaders(hops, {})]).toEqual([['x-kept', '1']]);
    expect([...hops]).toEqual(came);
  });

  it('go up with the deployer’s key in place of the caller’s, and with nothing of the caller’s account', () => {
    const headers = requestHeaders(incoming, { apiKey: 'ours' });
    expect(Object.fromEntries(headers)).toEqual({
      authorization: 'Bearer ours',
      'x-stainless-lang': 'js',
    });
  });

  it('F12: go up with the deployer’s key where they are listed, and as JSON', () => {
    const account = {
      apiKey: 'ours',
      forwardedHeaders: ['x-session-*', 'authorization', 'content-type', 'x-*'],
    };
    const sent = new Headers([
      ...incoming,
      ['content-type', 'text/plain; charset=utf-7'],
      ['x-memory-mode', 'x'],
    ]);
    expect(Object.fromEntries(requestHeaders(sent, account, true))).toEqual({
      authorization: 'Bearer ours',
      'content-type': 'application/json',
      'x-stainless-lang': 'js',
      'x-session-id': 's',
    });
  });

  it('come back without a length that does not hold any more', () => {
    const encoded = new Headers({
      'content-encoding': 'gzip',
      'content-length': '9',
      'x-request-id': 'r',
      'x-memory-mode': 'x',
    });
    expect(Object.fromEntries(responseHeaders(encoded, {}))).toEqual({ 'x-request-id': 'r' });
    expect(responseHeaders(new Headers({ 'content-length': '9' }), {}).get('content-length')).toBe('9');
  });
});

describe('a header with a list of names', () => {
  it.each([
    [undefined, 'new'],
    ['', 'new'],
    ['a,b', 'a,b, new'],
    ['a, new', 'a, new'],
  ])('of %j gets a further one once', (came, went) => {
    const headers = new Headers(came === undefined ? {} : { 'x-list': came });
    addToList(headers, ['x-list', 'new']);
    addToList(headers, ['x-list', 'new']);
    expect(headers.get('x-list')).toBe(went);
  });
});
