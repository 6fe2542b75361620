import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/lib/invariant-error.ts';
import { callersSearch } from '../../../src/request/scope.ts';
import { ANTHROPIC, OPENAI } from '../../../src/upstream/api.ts';
import {
  addToList,
  dropIdentity,
  forwardedSearch,
  ownCallHeaders,
  requestHeaders,
  responseHeaders,
  upstreamUrl,
} from '../../../src/upstream/request.ts';
import { anyPath } from '../../support/conversations/urls.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('the upstream’s URL', () => {
  it('is the base followed by the path, with both queries', () => {
    expect(upstreamUrl('https://up.test/v1', '/models', '')).toBe('https://up.test/v1/models');
    expect(upstreamUrl('https://up.test/v1/', '/files', '?a=1')).toBe('https://up.test/v1/files?a=1');
    expect(upstreamUrl('https://up.test/o?api-version=2', '/x', '?a=1')).toBe(
      'https://up.test/o/x?api-version=2&a=1',
    );
  });

  it('never leaves the base, whatever the path', () => {
    forAll(
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

  it('are sent without the connection’s, the edge’s and Precis’s', () => {
    expect([...requestHeaders(incoming, {}).keys()].toSorted()).toEqual(
      ['authorization', 'cookie', 'openai-organization', 'x-session-id', 'x-stainless-lang'].toSorted(),
    );
  });

  it('are sent upstream where they are for Cloudflare’s AI Gateway, and not where its edge has set them', () => {
    const ofGateway = [
      ['cf-aig-authorization', 'Bearer g'],
      ['cf-aig-cache-ttl', '60'],
      ['cf-aig-metadata', '{}'],
    ] as [string, string][];
    const ofEdge = [
      'cf-connecting-ip',
      'cf-ray',
      'cf-access-jwt-assertion',
      'cf-visitor',
      'cdn-loop',
      'true-client-ip',
      'x-forwarded-proto',
      'x-real-ip',
      'forwarded',
    ].map((name): [string, string] => [name, 'edge']);
    expect([...requestHeaders(new Headers([...ofGateway, ...ofEdge]), {})]).toEqual(ofGateway);
  });

  it('are for the deployer to open with the deployer’s key, the gateway’s like any others', () => {
    const sent = new Headers({ 'cf-aig-metadata': '{}', 'cf-aig-authorization': 'Bearer g' });
    expect([...requestHeaders(sent, { apiKey: 'ours' }).keys()]).toEqual(['authorization']);
    const open = { apiKey: 'ours', forwardedHeaders: ['cf-aig-metadata'] };
    expect([...requestHeaders(sent, open).keys()]).toEqual(['authorization', 'cf-aig-metadata']);
  });

  it('are in a call by Precis all of the model’s but for its body, its answer and its identity', () => {
    const kept = {
      authorization: 'Basic dGhlOmtleQ==',
      'helicone-auth': 'Bearer h',
      'x-stainless-lang': 'js',
    };
    const body = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-md5': 'x' };
    const answer = { accept: 'text/event-stream', 'x-stainless-helper-method': 'stream' };
    const identity = { 'idempotency-key': '1', 'x-client-request-id': '2', 'cf-aig-cache-key': '3' };
    const came = new Headers({ ...kept, ...body, ...answer, ...identity, 'x-stainless-retry-count': '1' });
    expect(Object.fromEntries(ownCallHeaders(came, {}))).toEqual(kept);
    const version = { 'anthropic-version': '2023-06-01' };
    expect(Object.fromEntries(ownCallHeaders(new Headers(identity), { api: ANTHROPIC }))).toEqual(version);
    const again = new Headers({ ...kept, ...answer, ...identity });
    dropIdentity(again);
    expect(Object.fromEntries(again)).toEqual({ ...kept, ...answer });
  });

  it('are sent without those that the header connection names, and leave the caller’s as they are', () => {
    const named = ['x-hop', 'x-last', 'x-kept'].map((name): [string, string] => [name, '1']);
    const hops = new Headers([['connection', 'keep-alive, X-Hop,x-last'], ...named]);
    const came = [...hops];
    expect([...requestHeaders(hops, {})]).toEqual([['x-kept', '1']]);
    expect([...hops]).toEqual(came);
    // .NET, PowerShell and Apache's client send it (https://github.com/spanlens/Spanlens/pull/438).
    expect([...requestHeaders(new Headers({ expect: '100-continue' }), {})]).toEqual([]);
  });

  it('keep all that identifies the caller, whatever the header connection names', () => {
    const identifying = [
      'authorization',
      'x-api-key',
      'api-key',
      'cookie',
      'openai-organization',
      'openai-project',
      'openai-beta',
      'anthropic-version',
      'anthropic-beta',
      'helicone-auth',
      'helicone-target-url',
      'x-portkey-api-key',
      'x-portkey-provider',
      'cf-aig-authorization',
      'x-goog-api-key',
      'ocp-apim-subscription-key',
      'x-auth-token',
      'x-tenant',
      'chatgpt-account-id',
      'x-api-version',
    ];
    const sent = new Headers([
      ['connection', `close, ${identifying.join(', ').toUpperCase()}`],
      ...identifying.map((name): [string, string] => [name, 'one']),
    ]);
    expect([...requestHeaders(sent, {}).keys()]).toEqual(identifying.toSorted());
  });

  it('have the key by which the caller is known, or none are sent', () => {
    const names = ['authorization', 'x-api-key', 'api-key', 'cookie', 'x-hop', 'anthropic-version'];
    const value = fc.constantFrom(
      'Bearer k-1',
      'bearer  k-2',
      'Basic k-1',
      'k-1',
      'k-2',
      'two words',
      '',
      ' ',
    );
    const header = fc.tuple(fc.constantFrom(...names), value);
    const connection = fc.subarray([...names, 'close', 'keep-alive']).map((all) => all.join(','));
    const asked = fc.record({ headers: fc.array(header), connection, isVendor: fc.boolean() });
    forAll(asked, fc.constantFrom(OPENAI, ANTHROPIC), ({ headers, connection, isVendor }, api) => {
      const sent = new Headers([...headers, ['connection', connection]]);
      expect(api.keyIn(requestHeaders(sent, { api, isVendor }))).toBe(api.keyIn(sent));
    });
    const forgetful = { ...OPENAI, dropOthers: (headers: Headers) => headers.delete('authorization') };
    expect(() => requestHeaders(incoming, { api: forgetful })).toThrow(InvariantError);
  });

  it('are sent with the deployer’s key instead of the caller’s, and with nothing of the caller’s account', () => {
    const headers = requestHeaders(incoming, { apiKey: 'ours' });
    expect(Object.fromEntries(headers)).toEqual({
      authorization: 'Bearer ours',
      'x-stainless-lang': 'js',
    });
  });

  it('F12: are sent with the deployer’s key where they are listed, and as JSON', () => {
    const account = {
      apiKey: 'ours',
      forwardedHeaders: ['x-session-*', 'authorization', 'content-type', 'x-*'],
    };
    const sent = new Headers([
      ...incoming,
      ['content-type', 'text/plain; charset=utf-7'],
      ['x-memory-user', 'x'],
    ]);
    expect(Object.fromEntries(requestHeaders(sent, account, true))).toEqual({
      authorization: 'Bearer ours',
      'content-type': 'application/json',
      'x-stainless-lang': 'js',
      'x-session-id': 's',
    });
  });

  it('never hold the key by which a caller of the deployer’s account is known', () => {
    const account = { apiKey: 'ours', forwardedHeaders: ['api-key', 'x-again'] };
    const sent = (headers: object) =>
      Object.fromEntries(requestHeaders(new Headers(headers as Record<string, string>), account));
    const ours = { authorization: 'Bearer ours' };
    expect(sent({ 'api-key': 'the-callers' })).toEqual(ours);
    expect(sent({ authorization: 'Bearer the-callers', 'x-again': 'the-callers' })).toEqual(ours);
    const other = { 'api-key': 'of-a-gateway' };
    expect(sent({ authorization: 'Bearer the-callers', ...other })).toEqual({ ...ours, ...other });
  });

  it('come back without a length that no longer holds', () => {
    const encoded = new Headers({
      'content-encoding': 'gzip',
      'content-length': '9',
      'content-type': 'application/json',
      'x-memory-mode': 'x',
    });
    expect(Object.fromEntries(responseHeaders(encoded, {}))).toEqual({ 'content-type': 'application/json' });
    expect(responseHeaders(new Headers({ 'content-length': '9' }), {}).get('content-length')).toBe('9');
  });
});

describe('the query that is sent upstream', () => {
  const search = '?api-version=1&user=ann&us%65r=eve&tag=a&tag=b%20c;d&';
  const incoming = new Request(`https://precis.test/v1/conversations/c/end${search}`);

  it('is the caller’s, byte for byte', () => {
    expect(forwardedSearch(search, {})).toBe(search);
    expect(callersSearch({ incoming })).toBe(search);
  });

  it('is without the parameters of a route that names a conversation', () => {
    const named = { conversation: 'c', user: 'ann' };
    expect(callersSearch({ incoming, named })).toBe('?api-version=1&tag=a&tag=b%20c;d&');
    const alone = new Request('https://precis.test/v1/conversations/c/end?user=ann');
    expect(callersSearch({ incoming: alone, named })).toBe('');
  });

  it('F12: has parameters of the API alone with the deployer’s key, and no separator of other servers', () => {
    const account = { api: ANTHROPIC, apiKey: 'ours' };
    expect(forwardedSearch('?beta=true;path=/x&user=ann&limit=2', account)).toBe(
      '?beta=true%3Bpath%3D%2Fx&limit=2',
    );
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
