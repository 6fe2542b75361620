import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Env, readConfig } from '../../../src/config.ts';
import { ConfigError } from '../../../src/config-error.ts';
import { Lru } from '../../../src/lib/lru.ts';
import { label, parseMarker, writeMarker } from '../../../src/memory/edits/placeholder.ts';
import { climbs, routeOf } from '../../../src/routes/routing.ts';
import { sha256Hex, Tenants } from '../../../src/tenant/identity.ts';
import { AcceptedKeys } from '../../../src/upstream/acceptance.ts';
import { requestHeaders, responseHeaders, upstreamUrl } from '../../../src/upstream/request.ts';

describe('routes', () => {
  it.each([
    ['/v1/chat/completions', '/v1/chat/completions', undefined],
    ['/chat/completions', '/v1/chat/completions', undefined],
    ['/any/prefix/v1/chat/completions/', '/v1/chat/completions', undefined],
    ['/openai/deployments/m/chat/completions', '/v1/chat/completions', undefined],
    ['/agents/coding/v1/chat/completions', '/v1/chat/completions', 'coding'],
    ['/x/agents/a%20b/chat/completions', '/v1/chat/completions', 'a b'],
    ['/agents/coding/v1/models', '/v1/models', 'coding'],
    ['/refs/ref_abc', '/v1/refs/ref_abc', undefined],
    ['/v1/compact', '/v1/compact', undefined],
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
  ])('%s is %s', (pathname, path, agent) => {
    expect(routeOf(pathname)).toEqual(agent === undefined ? { path } : { path, agent });
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

describe('the upstream’s URL', () => {
  it('is base and path, one behind the other, with both queries', () => {
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
          fc.webPath(),
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

describe('headers', () => {
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

describe('refs', () => {
  const tenants = new Tenants('a secret of at least 16');
  const [ours, theirs] = [
    tenants.ofToken('sk-ours-0123456789abcdef'),
    tenants.ofToken('sk-theirs-0123456789abcd'),
  ];

  it('are one for the same content of the same tenant, and another for every other tenant', () => {
    fc.assert(
      fc.property(fc.string(), (content) => {
        const ref = ours.refs.name(`key ${content}`, () => content);
        expect(ref).toMatch(/^ref_[a-z2-7]{26}$/);
        expect(ours.refs.name(`other key ${content}`, () => content)).toBe(ref);
        expect(theirs.refs.name(`key ${content}`, () => content)).not.toBe(ref);
        expect(ours.refs.owns(ref)).toBe(true);
        expect(theirs.refs.owns(ref)).toBe(false);
      }),
    );
  });

  it('fail their check when one character differs', () => {
    const ref = ours.refs.name('k', () => 'content');
    for (let index = 4; index < ref.length; index++) {
      const other = ref[index] === 'a' ? 'b' : 'a';
      expect(ours.refs.owns(ref.slice(0, index) + other + ref.slice(index + 1))).toBe(false);
    }
  });

  it('belong to tenants whose ids tell nothing of their keys', () => {
    expect(ours.id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Tenants('another secret of 16').ofToken('sk-ours-0123456789abcdef').id).not.toBe(ours.id);
    expect(tenants.ofName('sk-ours-0123456789abcdef').id).not.toBe(ours.id);
  });
});

describe('markers', () => {
  it('are read as they were written, whatever the names', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.option(fc.nat(), { nil: undefined }), (tool, call, tokens) => {
        const ref = `ref_${'a'.repeat(26)}`;
        const marker = {
          kind: 'tool output',
          tool: label(tool, sha256Hex),
          call: label(call, sha256Hex),
          reason: 'context_compaction',
          ...(tokens === undefined ? {} : { ref, tokens }),
        } as const;
        expect(writeMarker(marker)).not.toContain('\n');
        expect(parseMarker(`${writeMarker(marker)}\nand more`)).toEqual(marker);
      }),
    );
  });
});

describe('the configuration', () => {
  const bindings = { REFS: {}, CONVERSATION_MEMORY: {}, USER_MEMORY: {}, TENANT_MEMORY: {} };
  const env = (more: object): Env =>
    ({ PRECIS_SECRET: 'long enough for a secret', ...bindings, ...more }) as unknown as Env;

  it('reads access keys as pairs or as JSON', () => {
    const [k1, k2] = ['key-of-alice-0123456789', 'key=of-bob-0123456789ab'];
    const keys = [
      { name: 'alice', key: k1 },
      { name: 'bob', key: k2 },
    ];
    for (const ACCESS_KEYS of [
      `alice=${k1}, bob=${k2}`,
      `alice:${k1}\nbob:${k2}`,
      `{"alice":"${k1}","bob":"${k2}"}`,
    ])
      expect(readConfig(env({ ACCESS_KEYS, UPSTREAM_API_KEY: 'u' })).access).toEqual({
        keys,
        apiKey: 'u',
        forwardedHeaders: [],
        opened: { items: new Set(), tools: new Set() },
      });
  });

  const strong = 'secret-key-0123456789';

  it.each([
    ['a short key', 'alice=secret'],
    ['a key of 19 characters', `alice=${'s'.repeat(19)}`],
    ['a short key in JSON', '{"alice":"secret"}'],
    ['the same key twice', `alice=${strong},bob=${strong}`],
    ['the same name twice', `alice=${strong},alice=${strong}2`],
    ['the same name twice in JSON', `{"alice":"${strong}","al\\u0069ce":"${strong}2"}`],
    ['the key of the upstream', 'alice=secret-of-the-upstream-1'],
    ['a key with a space', '{"alice":"secret 0123456789 0123456789"}'],
    ['a key that is no text', '{"alice":12345678901234567890}'],
  ])('F15: refuses access keys with %s, without their value', (_, ACCESS_KEYS) => {
    const read = () => readConfig(env({ ACCESS_KEYS, UPSTREAM_API_KEY: 'secret-of-the-upstream-1' }));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow('ACCESS_KEYS');
    expect(read).not.toThrow(/secret/);
  });

  it('takes the deployer’s prices, of which there are none by default', () => {
    expect(readConfig(env({})).modelPrices).toEqual([]);
    const prices = [
      { family: 'my-model', fresh: 2, cached: 0.5 },
      { family: 'x'.repeat(100), fresh: 0.01, cached: 0 },
      { family: 'whole', fresh: 3, cached: 3 },
    ];
    expect(readConfig(env({ MODEL_PRICES: JSON.stringify(prices) })).modelPrices).toEqual(prices);
    const many = JSON.stringify(Array(200).fill(prices[0]));
    expect(readConfig(env({ MODEL_PRICES: many })).modelPrices).toHaveLength(200);
  });

  it.each([
    ['no JSON', ''],
    ['no array', '{"family":"secret","fresh":2,"cached":1}'],
    ['no object', '["secret"]'],
    ['a price missing', '[{"family":"secret","fresh":2}]'],
    ['the family missing', '[{"fresh":2,"cached":1}]'],
    ['an unknown field', '[{"family":"secret","fresh":2,"cached":1,"output":8}]'],
    ['a price as text', '[{"family":"secret","fresh":"2","cached":1}]'],
    ['free fresh input', '[{"family":"secret","fresh":0,"cached":0}]'],
    ['infinite fresh input', '[{"family":"secret","fresh":1e999,"cached":0}]'],
    ['a negative price', '[{"family":"secret","fresh":2,"cached":-1}]'],
    ['cached over fresh', '[{"family":"secret","fresh":2,"cached":2.1}]'],
    ['an empty family', '[{"family":"","fresh":2,"cached":1}]'],
    ['a vendor’s prefix', '[{"family":"openai/secret","fresh":2,"cached":1}]'],
    ['a long family', `[{"family":"${'x'.repeat(101)}","fresh":2,"cached":1}]`],
    ['too many', JSON.stringify(Array(201).fill({ family: 'secret', fresh: 2, cached: 1 }))],
  ])('refuses prices with %s', (_, MODEL_PRICES) => {
    const read = () => readConfig(env({ MODEL_PRICES }));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow('MODEL_PRICES');
    expect(read).not.toThrow(/secret['" ]/);
  });

  it.each([
    [{ PRECIS_SECRET: 'short' }, 'PRECIS_SECRET'],
    [{ UPSTREAM_BASE_URL: 'ftp://x' }, 'UPSTREAM_BASE_URL'],
    [{ ACCESS_KEYS: 'alice=secret' }, 'UPSTREAM_API_KEY'],
    [{ FORWARDED_ITEMS: 'a,b*' }, 'FORWARDED_ITEMS'],
    [{ FORWARDED_TOOLS: '?' }, 'FORWARDED_TOOLS'],
    [{ FORWARDED_HEADERS: '*' }, 'FORWARDED_HEADERS'],
    [{ FORWARDED_HEADERS: 'x-a, x b:c' }, 'FORWARDED_HEADERS'],
    [{ ACCESS_KEYS: 'secret', UPSTREAM_API_KEY: 'u' }, 'ACCESS_KEYS'],
    [{ ACCESS_KEYS: '{"secret', UPSTREAM_API_KEY: 'u' }, 'ACCESS_KEYS'],
    [{ DEFAULT_MEMORY_STRATEGY: '{"mode":"compct"}' }, 'DEFAULT_MEMORY_STRATEGY'],
    [{ DEFAULT_MEMORY_STRATEGY: '{' }, 'DEFAULT_MEMORY_STRATEGY'],
    [{ VERIFY_KEYS: 'maybe' }, 'VERIFY_KEYS'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
    [{ RETENTION_DAYS: '0' }, 'RETENTION_DAYS'],
    [{ RETENTION_DAYS: '1.5' }, 'RETENTION_DAYS'],
    [{ TENANT_MEMORY: undefined }, 'TENANT_MEMORY'],
    [{ UPSTREAM_IDLE_TIMEOUT_MS: '-1' }, 'UPSTREAM_IDLE_TIMEOUT_MS'],
  ])('%j is refused by the variable’s name, without its value', (more, variable) => {
    const read = () => readConfig(env(more));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(variable);
    expect(read).not.toThrow(/secret['" ]/);
  });
});

describe('caches', () => {
  it('forget what was not used for long, and hold no more than they may', () => {
    const lru = new Lru<number>({ bytes: 45_000, sizeOf: () => 10_000 });
    for (const [index, key] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      lru.set(key, index);
      lru.get('a');
    }
    const kept = ['a', 'b', 'c', 'd', 'e'].filter((key) => lru.get(key) !== undefined);
    expect(kept).toContain('a');
    expect(kept).toContain('e');
    expect(kept).not.toContain('b');
    expect(kept.length).toBeLessThanOrEqual(4);
  });

  it('hold an upstream’s word on a key for a while', async () => {
    let now = 0;
    let asked = 0;
    const keys = new AcceptedKeys(() => now);
    const ask = (accepted: boolean) => () => {
      asked++;
      return Promise.resolve(accepted);
    };
    expect(await keys.isAccepted('t', ask(false))).toBe(false);
    expect(await keys.isAccepted('t', ask(true))).toBe(false);
    now += 31_000;
    expect(await keys.isAccepted('t', ask(true))).toBe(true);
    expect(await keys.isAccepted('t', ask(false))).toBe(true);
    now += 10 * 60_000;
    expect(await keys.isAccepted('t', () => Promise.reject(new Error('down')))).toBe(false);
    expect(await keys.isAccepted('t', ask(true))).toBe(true);
    expect(asked).toBe(3);
  });
});
