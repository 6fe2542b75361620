import { describe, expect, it } from 'vitest';
import { configuredLimits } from '../../src/caller-limits.ts';
import { type Env, readConfig, VARIABLES } from '../../src/config.ts';
import { ConfigError } from '../../src/config-error.ts';

describe('the configuration', () => {
  const bindings = { REFS: {}, CONVERSATION_MEMORY: {}, USER_MEMORY: {}, TENANT_MEMORY: {} };
  const env = (more: object): Env =>
    ({ PRECIS_SECRET: 'long enough for a secret', ...bindings, ...more }) as unknown as Env;

  const strong = 'secret-key-0123456789';

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

  it('sends Messages to no other server than the deployer’s gateway, unless it is configured so', () => {
    const own = 'https://api.anthropic.com/v1';
    const gateway = { UPSTREAM_BASE_URL: 'http://127.0.0.1:11434/v1' };
    const both = { ACCESS_KEYS: `ann=${strong}`, UPSTREAM_API_KEY: 'u', ANTHROPIC_API_KEY: 'a' };
    const { ANTHROPIC_API_KEY: _, ...access } = both;
    const read = (vars: object) => {
      const { anthropicBaseUrl, access } = readConfig(env(vars));
      return [anthropicBaseUrl, access?.anthropicApiKey];
    };
    expect(read({})).toEqual([own, undefined]);
    expect(read({ UPSTREAM_BASE_URL: 'https://eu.api.openai.com/v1' })).toEqual([own, undefined]);
    expect(read({ ...gateway, LOCAL_TENANT: 'me', ANTHROPIC_API_KEY: 'a' })).toEqual([
      gateway.UPSTREAM_BASE_URL,
      undefined,
    ]);
    expect(read({ ...gateway, ANTHROPIC_BASE_URL: own })).toEqual([own, undefined]);
    expect(read(access)).toEqual([own, undefined]);
    expect(read(both)).toEqual([own, 'a']);
    // The gateway's key opens both of its APIs, and one of Anthropic's goes to no gateway.
    expect(read({ ...gateway, ...access })).toEqual([gateway.UPSTREAM_BASE_URL, 'u']);
    expect(read({ ...gateway, ...both })).toEqual([own, 'a']);
  });

  it('reads the limits of callers by name, and refuses what would leave one without', () => {
    const access = { ACCESS_KEYS: `ann=${strong}`, UPSTREAM_API_KEY: 'u' };
    const limits = { ann: { usd_per_day: 0.5, models: ['gpt-6*'] }, '*': { requests_per_minute: 60 } };
    const read = (all: unknown, more: object = access) =>
      readConfig(env({ CALLER_LIMITS: typeof all === 'string' ? all : JSON.stringify(all), ...more }));
    expect(read(limits).callerLimits).toEqual(new Map(Object.entries(limits)));
    expect(readConfig(env({})).callerLimits).toEqual(new Map());
    expect(() => read({ '*': {} }, {})).toThrow(ConfigError);
    for (const [broken, fault] of [
      ['{', 'JSON object of limits'],
      ['[]', 'JSON object of limits'],
      ['{"ann":{"usd_per_day":1},"*":{},"\\u0061nn":{}}', 'an earlier entry has the name of entry 3'],
      [{ ben: {} }, 'entry 1 is none of ACCESS_KEYS'],
      [{ ann: 5 }, 'entry 1 must be an object of usd_per_day, '],
      [{ ann: { usd_a_day: 5 } }, "entry 1 has an unknown field; the nearest known one is 'usd_per_day'"],
      [{ ann: { usd_per_day: '5' } }, 'entry 1 is not valid: usd_per_day'],
      [{ '*': {}, ann: { tokens_per_minute: -1 } }, 'entry 2 is not valid: tokens_per_minute'],
    ] as const) {
      expect(() => read(broken)).toThrow(ConfigError);
      expect(() => read(broken)).toThrow(fault);
    }
  });

  it('B11: limits callers whatever their names are', () => {
    for (const name of ['__proto__', 'constructor', 'toString', '1']) {
      const text = `{"ann":{"usd_per_day":2},"${name}":{"usd_per_day":1}}`;
      const keys = { ...access, ACCESS_KEYS: `${access.ACCESS_KEYS},${name}=a-key-of-${name}-0123456789` };
      const { callerLimits } = readConfig(env({ CALLER_LIMITS: text, ...keys }));
      expect(configuredLimits(callerLimits, name)).toEqual({ usd_per_day: 1 });
      expect(configuredLimits(callerLimits, 'ann')).toEqual({ usd_per_day: 2 });
      expect(configuredLimits(callerLimits, 'nobody')).toBeUndefined();
      expect(() => readConfig(env({ CALLER_LIMITS: text, ...access }))).toThrow('none of ACCESS_KEYS');
    }
  });

  it('reads the headers for a collector, and refuses what is none', () => {
    const OTLP_ENDPOINT = 'https://otlp.example.com/x';
    expect(readConfig(env({})).otlp).toBeUndefined();
    expect(readConfig(env({ OTLP_ENDPOINT })).otlp).toEqual({
      endpoint: OTLP_ENDPOINT,
      headers: {},
      share: 1,
    });
    const OTLP_HEADERS = 'authorization=Bearer%20secret=, X-Team = memory,';
    expect(readConfig(env({ OTLP_ENDPOINT, OTLP_HEADERS, OTLP_SHARE: '0.25' })).otlp).toEqual({
      endpoint: OTLP_ENDPOINT,
      headers: { authorization: 'Bearer secret=', 'x-team': 'memory' },
      share: 0.25,
    });
    for (const bad of ['secret-alone', 'a b=secret', 'a=%zz-secret', 'a=secret%0asecret'])
      expect(() => readConfig(env({ OTLP_ENDPOINT, OTLP_HEADERS: bad })), bad).toThrow(
        expect.objectContaining({
          name: 'ConfigError',
          message: expect.not.stringContaining('secret'),
        }),
      );
    for (const bad of [
      { OTLP_HEADERS: 'a=b' },
      { OTLP_ENDPOINT: 'otlp' },
      { OTLP_ENDPOINT, OTLP_SHARE: '2' },
    ])
      expect(() => readConfig(env(bad)), JSON.stringify(bad)).toThrow(ConfigError);
  });

  it('reads factors for counting, and refuses others', () => {
    const factors = [
      { family: 'my-model', factor: 0.25 },
      { family: 'other', factor: 4 },
    ];
    expect(readConfig(env({})).tokenFactors).toEqual([]);
    expect(readConfig(env({ TOKEN_FACTORS: JSON.stringify(factors) })).tokenFactors).toEqual(factors);
    const bad = [
      '{}',
      'x',
      '[{"family":"a/b","factor":1}]',
      '[{"family":"a","factor":0.2}]',
      '[{"family":"a","factor":4.1}]',
      '[{"family":"a"}]',
    ];
    for (const TOKEN_FACTORS of bad)
      expect(() => readConfig(env({ TOKEN_FACTORS }))).toThrow('TOKEN_FACTORS');
  });

  it('reads the windows of models, and names the variable if they are not well formed', () => {
    const windows = [
      { family: 'my-', window: 32_768 },
      { family: 'my-large', window: 131_072, output: 8_192 },
    ];
    expect(readConfig(env({})).modelWindows).toEqual([]);
    expect(readConfig(env({ MODEL_WINDOWS: JSON.stringify(windows) })).modelWindows).toEqual(windows);
    const bad = [
      '{}',
      'x',
      '[{"family":"a/b","window":8000}]',
      '[{"family":"a","window":999}]',
      '[{"family":"a","window":8000.5}]',
      '[{"family":"a","window":8000,"output":0}]',
      '[{"family":"a","window":8000,"answer":1}]',
    ];
    for (const MODEL_WINDOWS of bad)
      expect(() => readConfig(env({ MODEL_WINDOWS }))).toThrow('MODEL_WINDOWS');
  });

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

  it.each(['name:8080', 'precis.lan,[::1]:80', 'http://precis.lan', 'precis.lan/', 'a_b@c', '*.lan', '::1'])(
    'refuses %j as LOCAL_HOSTS, which no request could match',
    (LOCAL_HOSTS) => {
      const read = () => readConfig(env({ LOCAL_TENANT: 'me', LOCAL_HOSTS }));
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(
        /^LOCAL_HOSTS is not valid: entry [12] must be a host name or an address without a port/,
      );
    },
  );

  it('reads local hosts as requests name them', () => {
    const hosts = (LOCAL_HOSTS: string) =>
      readConfig(env({ LOCAL_TENANT: 'me', LOCAL_HOSTS })).localTenant?.hosts;
    expect(hosts('')).toEqual([]);
    expect(hosts('Precis.LAN., 192.168.1.5 [FE80::0:1] my_box bücher.lan')).toEqual([
      'precis.lan',
      '192.168.1.5',
      '[fe80::1]',
      'my_box',
      'xn--bcher-kva.lan',
    ]);
  });

  it('takes the receiver of callbacks together with its secret', () => {
    const WEBHOOK_URL = 'https://hooks.example.com/precis';
    const secret = `whsec_${'c2VjcmV0'.repeat(4)}`;
    for (const WEBHOOK_SECRET of [secret, secret.slice('whsec_'.length), `${secret}YQ==`])
      expect(() => readConfig(env({ WEBHOOK_URL, WEBHOOK_SECRET }))).not.toThrow();
    for (const alone of [{ WEBHOOK_URL }, { WEBHOOK_SECRET: secret }])
      expect(() => readConfig(env(alone))).toThrow(/^Set .* together/);
    for (const WEBHOOK_SECRET of [
      'whsec_c2VjcmV0',
      `${secret}!`,
      'a secret that is no base64 at all, but long',
    ])
      expect(() => readConfig(env({ WEBHOOK_URL, WEBHOOK_SECRET }))).toThrow('WEBHOOK_SECRET');
    expect(() => readConfig(env({ WEBHOOK_URL: 'ftp://a', WEBHOOK_SECRET: secret }))).toThrow('WEBHOOK_URL');
  });

  it('takes embeddings with all of their variables, or none', () => {
    const all = {
      EMBEDDINGS_BASE_URL: 'https://embeddings.example.com/v1',
      EMBEDDINGS_MODEL: 'a-model',
      EMBEDDINGS_API_KEY: 'secret-of-the-embeddings',
    };
    const [baseUrl, model, apiKey] = Object.values(all);
    expect(readConfig(env({})).embeddings).toBeUndefined();
    expect(readConfig(env({ EMBEDDINGS_WINDOW_TOKENS: '512' })).embeddings).toBeUndefined();
    expect(readConfig(env(all)).embeddings).toEqual({ baseUrl, model, apiKey, windowTokens: 8_000 });
    const EMBEDDINGS_WINDOW_TOKENS = '512';
    expect(readConfig(env({ ...all, EMBEDDINGS_WINDOW_TOKENS })).embeddings?.windowTokens).toBe(512);
    for (const name of Object.keys(all)) {
      const incomplete = () => readConfig(env({ ...all, [name]: undefined }));
      expect(incomplete).toThrow(ConfigError);
      expect(incomplete).toThrow(/^Set .* together/);
      expect(incomplete).not.toThrow(/secret/);
    }
    for (const [name, value] of Object.entries({
      EMBEDDINGS_BASE_URL: 'ftp://a',
      EMBEDDINGS_MODEL: '',
      EMBEDDINGS_API_KEY: '',
      EMBEDDINGS_WINDOW_TOKENS: '63',
    }))
      expect(() => readConfig(env({ ...all, [name]: value }))).toThrow(name);
    expect(() => readConfig(env({ ...all, EMBEDDINGS_WINDOW_TOKENS: '32769' }))).toThrow();
  });

  it.each([
    ['https://api.openai.com/v1', false],
    ['https://my-gateway.example.com/v1', false],
    ['https://172.32.0.1/v1', false],
    ['http://127.0.0.1:11434/v1', true],
    ['http://[::1]:11434/v1', true],
    ['http://[fd12:3456::1]/v1', true],
    ['http://10.0.0.5:8000/v1', true],
    ['http://172.16.0.1/v1', true],
    ['http://192.168.1.20/v1', true],
    ['http://ollama:11434/v1', true],
    ['http://host.docker.internal:11434/v1', true],
    ['http://box.local/v1', true],
    ['http://0.0.0.0:11434/v1', true],
    ['http://169.254.10.1/v1', true],
    ['http://100.64.0.7:11434/v1', true],
    ['http://100.127.1.1/v1', true],
    ['https://100.128.1.1/v1', false],
    ['http://[fe80::1]:11434/v1', true],
    ['http://nas.lan:11434/v1', true],
    ['http://nas.home.arpa/v1', true],
    ['https://box.tail1234.ts.net/v1', true],
    ['https://lan.example.com/v1', false],
  ])('takes models without a price for the deployer’s own by where the upstream is: %s', (url, own) => {
    expect(readConfig(env({ UPSTREAM_BASE_URL: url })).ownModels).toBe(own);
    expect(readConfig(env({ UPSTREAM_BASE_URL: url, LOCAL_TENANT: 'me' })).ownModels).toBe(true);
  });

  it('takes a long token for metrics, together with their binding', () => {
    const METRICS_TOKEN = 'secret-token-of-20-c';
    expect(readConfig(env({})).metricsToken).toBeUndefined();
    expect(readConfig(env({ METRICS_TOKEN, METRICS: {} })).metricsToken).toBe(METRICS_TOKEN);
    expect(() => readConfig(env({ METRICS_TOKEN }))).toThrow('binding METRICS');
    const short = () => readConfig(env({ METRICS_TOKEN: METRICS_TOKEN.slice(1), METRICS: {} }));
    expect(short).toThrow('METRICS_TOKEN');
    expect(short).not.toThrow(/secret/);
  });

  const shared = 'aSecretOfTwoPurposes0123456789ab';
  const access = { ACCESS_KEYS: `ann=${strong}, ben=${shared}`, UPSTREAM_API_KEY: 'u' };
  const summarizer = { SUMMARIZER_BASE_URL: 'https://api.example.com/v1', SUMMARIZER_MODEL: 'm' };
  const embeddings = { EMBEDDINGS_BASE_URL: 'https://api.example.com/v1', EMBEDDINGS_MODEL: 'm' };
  it.each(['ADMIN_TOKEN', 'METRICS_TOKEN'])('refuses %s with the value of another secret', (token) => {
    const others: readonly (readonly [string, object])[] = [
      ['METRICS_TOKEN', { ADMIN_TOKEN: shared, METRICS_TOKEN: shared }],
      ['entry 2 of ACCESS_KEYS', access],
      ['UPSTREAM_API_KEY', { UPSTREAM_API_KEY: shared }],
      ['PRECIS_SECRET', { PRECIS_SECRET: shared }],
      ['PRECIS_SECRET_PREVIOUS', { PRECIS_SECRET_PREVIOUS: shared }],
      ['SUMMARIZER_API_KEY', { ...summarizer, SUMMARIZER_API_KEY: shared }],
      ['EMBEDDINGS_API_KEY', { ...embeddings, EMBEDDINGS_API_KEY: shared }],
      ['WEBHOOK_SECRET', { WEBHOOK_URL: 'https://a.example.com', WEBHOOK_SECRET: shared }],
    ];
    for (const [other, vars] of others) {
      expect(() => readConfig(env({ METRICS: {}, ...vars, [token]: `${shared}-more` }))).not.toThrow();
      const read = () => readConfig(env({ METRICS: {}, ...vars, [token]: shared }));
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(token);
      expect(read).toThrow(other);
      expect(read).not.toThrow(shared);
    }
  });

  it('takes the deployer’s prices, of which there are none by default', () => {
    expect(readConfig(env({})).modelPrices).toEqual([]);
    const prices = [
      { family: 'my-model', fresh: 2, cached: 0.5 },
      { family: 'x'.repeat(100), fresh: 0.01, cached: 0 },
      { family: 'whole', fresh: 3, cached: 3 },
      {
        family: 'billed',
        fresh: 2,
        cached: 0.2,
        written: 2.5,
        output: 8,
        step: { above: 272_000, input: 2, output: 1.5 },
      },
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
    ['an unknown field', '[{"family":"secret","fresh":2,"cached":1,"input":8}]'],
    ['a negative price of output', '[{"family":"secret","fresh":2,"cached":1,"output":-8}]'],
    ['free writes', '[{"family":"secret","fresh":2,"cached":1,"written":0}]'],
    ['a price beyond reason', '[{"family":"secret","fresh":1000001,"cached":1}]'],
    [
      'a step without its threshold',
      '[{"family":"secret","fresh":2,"cached":1,"step":{"input":2,"output":2}}]',
    ],
    ['a step down', '[{"family":"secret","fresh":2,"cached":1,"step":{"above":9,"input":0.5,"output":1}}]'],
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
    expect(read).not.toThrow(/secret(?! put)['" ]/);
  });

  const bad: readonly [variable: string, value: unknown, mustBe: string][] = [
    ['PRECIS_SECRET_PREVIOUS', 'short', 'a string of at least 16 characters'],
    ['UPSTREAM_BASE_URL', 'api.openai.com/v1', 'a URL that begins with http:// or https://'],
    [
      'UPSTREAM_BASE_URL',
      'https://api.openai.com/v1/chat/completions/',
      'a URL that begins with http:// or https://, without the route of a request',
    ],
    [
      'LOG_LEVEL',
      '"info"',
      'one of the strings "debug", "info", "warn", "error". The quotation marks are a part of it: leave them out',
    ],
    ['OBSERVE', true, 'one of the strings "true", "false"'],
    ['LOG_LEVEL', 'loud', 'one of the strings "debug", "info", "warn", "error"'],
    ['SUMMARIZER_TIMEOUT_MS', 'ten seconds', 'a whole number of 1 or more'],
    ['SUMMARIZER_TIMEOUT_MS', '0', 'a whole number of 1 or more'],
    ['RETENTION_DAYS', '1.5', 'a whole number from 1 to 36500'],
    ['OTLP_SHARE', '50%', 'a number from 0 to 1'],
    ['OBSERVE_SHARE', '1.5', 'a number from 0 to 1'],
    ['LOCAL_TENANT', '', 'a string of 1 to 64 characters'],
    ['SUMMARIZER_MODEL', '', 'a string of at least one character'],
    ['MODEL_PRICES', [], 'a string of JSON'],
    ['DEFAULT_MEMORY_STRATEGY', { mode: 'auto' }, 'a string: a mode, or a strategy as JSON'],
    ['METRICS_TOKEN', 'short', 'a string of at least 20 characters without white space'],
    ['METRICS_TOKEN', 'a token of white space', 'a string of at least 20 characters without white space'],
    ['ADMIN_TOKEN', 'a-token-with-a-newline\n', 'a string of at least 20 characters without white space'],
  ];

  it.each(bad)('says what %s must be, for %j', (variable, value, mustBe) => {
    const more = { METRICS: {}, [variable]: value };
    expect(() => readConfig(env(more))).toThrow(
      new ConfigError(`${variable} is not valid: it must be ${mustBe}.`),
    );
  });

  it.each(VARIABLES)('says what %s must be in a sentence of its own', (variable) => {
    const read = () => readConfig(env({ METRICS: {}, [variable]: [{}] }));
    expect(read).toThrow(new RegExp(`^${variable} is not valid: it must be [a-z].+[^.]\\.`));
    expect(read).not.toThrow(/Invalid|expected/);
  });
});
