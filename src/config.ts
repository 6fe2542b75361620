/**
 * Reads variables and secrets into a typed, validated configuration, once per isolate. A mistake
 * fails every request, with a message that names the variable.
 */
import * as z from 'zod';
import { readAccess, wordsOf } from './access-keys.ts';
import { readCallerLimits } from './caller-limits.ts';
import { ConfigError } from './config-error.ts';
import type { Immutable } from './lib/immutable.ts';
import { parseJson } from './lib/json.ts';
import { hostnameOf, isPrivateHost, serverOf } from './lib/request-url.ts';
import type { ModelTables } from './memory/models/terms.ts';
import { parseStrategy } from './memory/modes/strategy.ts';
import type { MemoryStrategy } from './memory/modes/table.ts';
import { modelPrices, modelWindows, tokenFactors } from './model-tables.ts';
import { jsonText } from './named-entries.ts';
import { checkOperatorTokens, OPERATOR_TOKEN, OPERATOR_TOKEN_PHRASE } from './operator-tokens.ts';
import { TIME_LIMITS } from './time-limits.ts';
import { isOpenAi, type UpstreamApi } from './upstream/api.ts';

/** The Worker's bindings (wrangler.toml). */
interface Bindings {
  readonly REFS: R2Bucket;
  readonly CONVERSATION_MEMORY: DurableObjectNamespace;
  readonly USER_MEMORY: DurableObjectNamespace;
  readonly TENANT_MEMORY: DurableObjectNamespace;
  /** Only needed with `METRICS_TOKEN`. */
  readonly METRICS?: DurableObjectNamespace | undefined;
}

export type Env = Bindings & { readonly [Name in keyof typeof variables.shape]?: string };

/** The deployment's own summarizer. Callers' keys are never sent to it. */
interface Summarizer {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  /** Models that a strategy may name, including `model`. */
  readonly models: readonly string[];
  /** Context window of these models in tokens, if it can't be known from their names. */
  readonly window: number | undefined;
}

interface Summarizers {
  /** Unset: the request's own upstream makes summaries, with the request's key. */
  readonly summarizer: Summarizer | undefined;
  /** The model of summaries that are made at the request's own upstream, where one is named. */
  readonly ownSummarizer: Pick<Summarizer, 'model' | 'window'> | undefined;
}

export interface Otlp {
  /** `/v1/traces` is below it. */
  readonly endpoint: string;
  /** Sent with each message; they may hold its key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The share of requests without a trace of the caller's that are traced, from 0 to 1. */
  readonly share: number;
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Config = Readonly<ReturnType<typeof readConfig>>;

/** In characters. Shorter secrets can be guessed. */
const SHORTEST_SECRET = 16;

/**
 * In tokens. OpenAI's models take 8192
 * (https://platform.openai.com/docs/api-reference/embeddings/create).
 */
const EMBEDDINGS_WINDOW_TOKENS = 8_000;
const SMALLEST_EMBEDDINGS_WINDOW = 64;
const LARGEST_EMBEDDINGS_WINDOW = 32_768;

const LONGEST_RETENTION_DAYS = 36_500;

/** 24 bytes or more in base64 (https://www.standardwebhooks.com, "Symmetric"). */
const WEBHOOK_SECRET = /^(?:whsec_)?(?=.{32,}$)(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** What a variable must be, in words that end the sentence "NAME is not valid: it must be …". */
const text = (phrase = 'a string') => z.string(phrase);
const filledText = (phrase = 'a string of at least one character') => z.string(phrase).min(1, phrase);
const URL_PHRASE = 'a URL that begins with http:// or https://';
const url = () => z.url({ protocol: /^https?$/, error: URL_PHRASE });
const BASE_URL_PHRASE = `${URL_PHRASE}, without the route of a request`;
const baseUrl = () =>
  url().refine(
    (it) => !/\/(?:chat\/completions|responses|messages|embeddings)\/*$/.test(it),
    BASE_URL_PHRASE,
  );
const oneOf = <const Words extends readonly string[]>(...words: Words) =>
  z.enum(words, `one of the strings ${words.map((word) => `"${word}"`).join(', ')}`);

function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  const phrase = `a whole number ${range}`;
  return z.coerce.number(phrase).int(phrase).min(least, phrase).max(most, phrase);
}

const SHARE_PHRASE = 'a number from 0 to 1';
const share = (otherwise: number) =>
  z.coerce.number(SHARE_PHRASE).min(0, SHARE_PHRASE).max(1, SHARE_PHRASE).default(otherwise);

const SECRET_PHRASE = `a string of at least ${SHORTEST_SECRET} characters`;
const secret = z.string(SECRET_PHRASE).min(SHORTEST_SECRET, SECRET_PHRASE);

const TENANT_PHRASE = 'a string of 1 to 64 characters';
const operatorToken = z.string(OPERATOR_TOKEN_PHRASE).regex(OPERATOR_TOKEN, OPERATOR_TOKEN_PHRASE);
const WEBHOOK_SECRET_PHRASE =
  'at least 24 bytes in base64, with or without a leading whsec_ (`echo "whsec_$(openssl rand -base64 32)"`)';

const path = z
  .string()
  .regex(/^[^.\s]+(\.[^.\s]+)*$/)
  .max(200);

/** The shape of `ISOLATION` and of an agent's `isolation`. */
export const isolationSchema = z.strictObject({
  user_key: path.optional(),
  session_key: path.optional(),
  /** Turns memory off for requests that name no conversation. */
  require_explicit_key: z.boolean().optional(),
});

/** Dotted paths into the body that name user and conversation, tried before the usual fields. */
export type Isolation = Immutable<z.output<typeof isolationSchema>>;

/** All variables and secrets, with their defaults. */
export const variables = z.object({
  PRECIS_SECRET: secret,
  PRECIS_SECRET_PREVIOUS: secret.optional(),
  UPSTREAM_BASE_URL: baseUrl().default('https://api.openai.com/v1'),
  UPSTREAM_API_KEY: text().optional(),
  ANTHROPIC_BASE_URL: baseUrl().optional(),
  ANTHROPIC_API_KEY: text().optional(),
  ACCESS_KEYS: text().optional(),
  FORWARDED_HEADERS: text().optional(),
  FORWARDED_ITEMS: text().optional(),
  FORWARDED_TOOLS: text().optional(),
  CALLER_LIMITS: text('a string of JSON').default('{}'),
  LIMITS_UNREACHABLE: oneOf('refuse', 'allow').default('refuse'),
  VERIFY_KEYS: oneOf('true', 'false').default('true'),
  UNVERIFIED_READS: oneOf('allow', 'deny').default('deny'),
  LOCAL_TENANT: z.string(TENANT_PHRASE).min(1, TENANT_PHRASE).max(64, TENANT_PHRASE).optional(),
  LOCAL_HOSTS: text().default(''),
  DEFAULT_MEMORY_STRATEGY: text('a string: a mode, or a strategy as JSON').default('none'),
  ISOLATION: jsonText(
    isolationSchema,
    'a JSON object of user_key and session_key (dotted paths into the body) and require_explicit_key',
  ).prefault('{}'),
  SUMMARIZER_BASE_URL: baseUrl().optional(),
  SUMMARIZER_MODEL: filledText().optional(),
  SUMMARIZER_API_KEY: filledText().optional(),
  SUMMARIZER_MODELS: text().default(''),
  SUMMARIZER_TIMEOUT_MS: wholeNumber(1).default(TIME_LIMITS.summarizerCallMs),
  OFFLOAD_DIGEST_WAIT_MS: wholeNumber(1).default(TIME_LIMITS.outputDigestsMs),
  SUMMARIZER_WINDOW_TOKENS: wholeNumber(1).optional(),
  EMBEDDINGS_BASE_URL: baseUrl().optional(),
  EMBEDDINGS_MODEL: filledText().optional(),
  EMBEDDINGS_API_KEY: filledText().optional(),
  EMBEDDINGS_WINDOW_TOKENS: wholeNumber(SMALLEST_EMBEDDINGS_WINDOW, LARGEST_EMBEDDINGS_WINDOW).default(
    EMBEDDINGS_WINDOW_TOKENS,
  ),
  UPSTREAM_HEADERS_TIMEOUT_MS: wholeNumber(1).default(TIME_LIMITS.upstreamHeadersMs),
  UPSTREAM_IDLE_TIMEOUT_MS: wholeNumber(1).default(TIME_LIMITS.upstreamIdleMs),
  UPSTREAM_NATIVE_COMPACTION: oneOf('true', 'false').default('false'),
  UPSTREAM_PROMPT_CACHE: oneOf('true', 'false').default('true'),
  MODEL_PRICES: modelPrices.prefault('[]'),
  MODEL_WINDOWS: modelWindows.prefault('[]'),
  TOKEN_FACTORS: tokenFactors.prefault('[]'),
  RETENTION_DAYS: wholeNumber(1, LONGEST_RETENTION_DAYS).optional(),
  ARCHIVE: oneOf('always', 'asked').default('asked'),
  USER_ARCHIVE: oneOf('on', 'off').default('off'),
  OBSERVE: oneOf('true', 'false').default('false'),
  OBSERVE_SHARE: share(0),
  EVENTS: oneOf('on', 'off').default('on'),
  LOG_LEVEL: oneOf(...LOG_LEVELS).default('info'),
  OTLP_ENDPOINT: url().optional(),
  OTLP_HEADERS: text().default(''),
  OTLP_SHARE: share(1),
  WEBHOOK_URL: url().optional(),
  WEBHOOK_SECRET: z.string(WEBHOOK_SECRET_PHRASE).regex(WEBHOOK_SECRET, WEBHOOK_SECRET_PHRASE).optional(),
  METRICS_TOKEN: operatorToken.optional(),
  ADMIN_TOKEN: operatorToken.optional(),
});

/** The names of all variables and secrets. */
export const VARIABLES = variables.keyof().options;

/** @see VARIABLES */
export type VariableName = (typeof VARIABLES)[number];

const BINDINGS = ['REFS', 'CONVERSATION_MEMORY', 'USER_MEMORY', 'TENANT_MEMORY'] as const;

/** @throws ConfigError */
export function readConfig(env: Env) {
  const needed = env.METRICS_TOKEN === undefined ? BINDINGS : [...BINDINGS, 'METRICS' as const];
  const missing = needed.find((name) => env[name] === undefined);
  if (missing) throw new ConfigError(`The binding ${missing} is missing: name it in wrangler.toml.`);
  const parsed = variables.safeParse(env);
  if (!parsed.success) throw invalidVariable(env, parsed.error.issues);
  const vars = parsed.data;
  if ((vars.WEBHOOK_URL === undefined) !== (vars.WEBHOOK_SECRET === undefined))
    throw new ConfigError('Set WEBHOOK_URL and WEBHOOK_SECRET together, or neither.');
  return { ...upstreamsIn(vars), ...featuresIn(vars) } satisfies ModelTables;
}

type Variables = z.output<typeof variables>;

/** Who calls, and what is asked for them. */
function upstreamsIn(vars: Variables) {
  const anthropicBaseUrl = readAnthropicBaseUrl(vars);
  const access = readAccess({ ...vars, anthropicIsUpstream: anthropicBaseUrl === vars.UPSTREAM_BASE_URL });
  checkOperatorTokens(vars, access);
  return {
    secret: vars.PRECIS_SECRET,
    /** The secret before this one, under which stored data can still be read and deleted. */
    previousSecret: readPreviousSecret(vars),
    upstreamBaseUrl: vars.UPSTREAM_BASE_URL,
    upstreamIsOpenAi: isOpenAi(vars.UPSTREAM_BASE_URL),
    anthropicBaseUrl,
    /**
     * Set: callers present an access key, and the deployer's key goes upstream. Unset: callers
     * bring their own key.
     */
    access,
    /** Callers' limits, by the names of access keys. */
    callerLimits: readCallerLimits(vars.CALLER_LIMITS, access),
    /**
     * Whether a request is sent although it is not known whether its caller may still spend, or is
     * still a caller.
     */
    allowsUnknown: vars.LIMITS_UNREACHABLE === 'allow',
    /** Whether a key's first write waits until the upstream has accepted the key. */
    verifyKeys: vars.VERIFY_KEYS === 'true',
    /** Whether stored data can be read with a key while the upstream can't be asked about it. */
    unverifiedReads: vars.UNVERIFIED_READS === 'allow',
    /**
     * The tenant of all callers without a key that identifies one. Set in deployments
     * that only their owner reaches.
     */
    localTenant: readLocalTenant(vars),
  };
}

/** What is done with requests. */
function featuresIn(vars: Variables) {
  return {
    defaultStrategy: readDefaultStrategy(vars.DEFAULT_MEMORY_STRATEGY),
    isolation: vars.ISOLATION,
    ...readSummarizers(vars),
    summarizerTimeoutMs: vars.SUMMARIZER_TIMEOUT_MS,
    /** Unset: archives are searched by words alone. */
    embeddings: readEmbeddings(vars),
    digestWaitMs: vars.OFFLOAD_DIGEST_WAIT_MS,
    headersTimeoutMs: vars.UPSTREAM_HEADERS_TIMEOUT_MS,
    idleTimeoutMs: vars.UPSTREAM_IDLE_TIMEOUT_MS,
    promptCache: vars.UPSTREAM_PROMPT_CACHE === 'true',
    ownModels: vars.LOCAL_TENANT !== undefined || isPrivateHost(serverOf(vars.UPSTREAM_BASE_URL)),
    /** Whether the upstream does its own compaction in the Responses API. */
    nativeCompaction: vars.UPSTREAM_NATIVE_COMPACTION === 'true',
    modelPrices: vars.MODEL_PRICES,
    /** The deployer's factors for counting. They take precedence over the built-in ones. */
    tokenFactors: vars.TOKEN_FACTORS,
    modelWindows: vars.MODEL_WINDOWS,
    /** Days after which unused data is deleted; undefined: never. */
    retentionDays: vars.RETENTION_DAYS,
    /** Whether every named conversation is archived, whatever its strategy says. */
    archives: vars.ARCHIVE === 'always',
    /** Whether a request that names a user may let its model reach all of the user's archives. */
    userArchives: vars.USER_ARCHIVE === 'on',
    observe: vars.OBSERVE === 'true',
    /** The share of conversations that are only observed, from 0 to 1. */
    observeShare: vars.OBSERVE_SHARE,
    /** Where spans are sent; undefined: nowhere. */
    otlp: readOtlp(vars),
    /** Whether the events of conversations' requests are kept. */
    keepsEvents: vars.EVENTS === 'on',
    logLevel: vars.LOG_LEVEL,
    /** What opens `GET /metrics`; undefined: nothing is counted. */
    metricsToken: vars.METRICS_TOKEN,
    /** What opens the operator's routes; undefined: there are none. */
    adminToken: vars.ADMIN_TOKEN,
  };
}

/** The base URL of one of the upstreams. */
export function baseUrlOf(
  { name }: Pick<UpstreamApi, 'name'>,
  { upstreamBaseUrl, anthropicBaseUrl }: Pick<Config, 'upstreamBaseUrl' | 'anthropicBaseUrl'>,
): string {
  return name === 'anthropic' ? anthropicBaseUrl : upstreamBaseUrl;
}

const ANTHROPIC_BASE_URL = 'https://api.anthropic.com/v1';

/**
 * A gateway speaks both APIs, or one: what a deployer has sent to it never leaves for another
 * server unless the deployer says so. A key for Anthropic's API says so, and goes to no gateway.
 */
function readAnthropicBaseUrl(vars: Variables): string {
  if (vars.ANTHROPIC_BASE_URL !== undefined) return vars.ANTHROPIC_BASE_URL;
  const hasAccount = vars.ACCESS_KEYS !== undefined && Boolean(vars.ANTHROPIC_API_KEY);
  return hasAccount || isOpenAi(vars.UPSTREAM_BASE_URL) ? ANTHROPIC_BASE_URL : vars.UPSTREAM_BASE_URL;
}

/** How the secret is set: in a deployment, and for `wrangler dev`. */
const SET_SECRET = 'Set it with `npx wrangler secret put PRECIS_SECRET`, or in .dev.vars for `wrangler dev`.';

/** The error for the first variable that is not valid. */
function invalidVariable(env: Env, issues: readonly z.core.$ZodIssue[]): ConfigError {
  const [issue] = issues;
  const name = String(issue?.path[0]);
  const quoted = /^["']/.test(String(env[name as VariableName]));
  const hint = quoted ? ' The quotation marks are a part of it: leave them out.' : '';
  if (name !== 'PRECIS_SECRET')
    return new ConfigError(`${name} is not valid: it must be ${issue?.message}.${hint}`);
  const fault = env.PRECIS_SECRET ? 'is not valid' : 'is not set';
  return new ConfigError(`${name} ${fault}: it must be ${issue?.message}. ${SET_SECRET}`);
}

/** @throws ConfigError if both secrets are the same: then nothing was rotated */
function readPreviousSecret(vars: Variables): string | undefined {
  const { PRECIS_SECRET: secret, PRECIS_SECRET_PREVIOUS: previous } = vars;
  if (previous === secret)
    throw new ConfigError('PRECIS_SECRET_PREVIOUS is the same as PRECIS_SECRET; set it to the previous one.');
  return previous;
}

/**
 * The tenant of callers without a key, with the deployment's host names beside the machine's, in
 * lower case, without ports.
 *
 * @throws ConfigError with access keys, which every caller must present; for hosts without a tenant
 *   or that no request can match
 */
function readLocalTenant(vars: Variables) {
  const { LOCAL_TENANT: name, LOCAL_HOSTS: list, ACCESS_KEYS: keys } = vars;
  const hosts = wordsOf(list).map(readLocalHost);
  if (name === undefined && hosts.length > 0)
    throw new ConfigError('LOCAL_HOSTS is set without LOCAL_TENANT.');
  if (name !== undefined && keys !== undefined)
    throw new ConfigError('LOCAL_TENANT and ACCESS_KEYS exclude each other: access keys name the tenants.');
  return name === undefined ? undefined : { name, hosts };
}

/** A host name, or an address as in a URL: no port, no other part of a URL, and no pattern. */
const HOST_ALONE = /^(?:\[[^\]]+\]|[^[\]/\\:@?#%*]+)$/;

/** A host as requests name it. @throws ConfigError */
function readLocalHost(host: string, index: number): string {
  const name = HOST_ALONE.test(host) ? hostnameOf(host) : undefined;
  if (name !== undefined) return name;
  throw new ConfigError(
    `LOCAL_HOSTS is not valid: entry ${index + 1} must be a host name or an address without a port, such as precis.lan or [fe80::1].`,
  );
}

/** `SUMMARIZER_MODEL` alone is a model of the request's own upstream. */
function readSummarizers(vars: Variables): Summarizers {
  const { SUMMARIZER_BASE_URL: baseUrl, SUMMARIZER_MODEL: model, SUMMARIZER_API_KEY: apiKey } = vars;
  const { SUMMARIZER_WINDOW_TOKENS: window, SUMMARIZER_MODELS } = vars;
  if (baseUrl === undefined && apiKey === undefined)
    return { summarizer: undefined, ownSummarizer: model === undefined ? undefined : { model, window } };
  if (baseUrl === undefined || model === undefined || apiKey === undefined)
    throw new ConfigError(
      'Set SUMMARIZER_BASE_URL, SUMMARIZER_MODEL and SUMMARIZER_API_KEY together, or SUMMARIZER_MODEL alone, or none of them.',
    );
  const models = [model, ...wordsOf(SUMMARIZER_MODELS)];
  return { summarizer: { baseUrl, apiKey, model, models, window }, ownSummarizer: undefined };
}

/** @throws ConfigError if a header is not a pair, or if there is nowhere to send it */
function readOtlp(vars: Variables): Otlp | undefined {
  const { OTLP_ENDPOINT: endpoint, OTLP_HEADERS: list, OTLP_SHARE: share } = vars;
  if (endpoint === undefined) {
    if (list === '') return undefined;
    throw new ConfigError('OTLP_HEADERS is set without OTLP_ENDPOINT.');
  }
  try {
    const pairs = list.split(',').filter((pair) => pair.trim() !== '');
    const headers = Object.fromEntries(new Headers(pairs.map(readHeader)));
    return { endpoint, headers, share };
  } catch {
    throw new ConfigError(
      'OTLP_HEADERS is not a list of headers, such as `authorization=Bearer%20…,x-team=memory`, with percent-encoded values.',
    );
  }
}

/** A header as in OTEL_EXPORTER_OTLP_HEADERS. @throws if it is none */
function readHeader(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  if (at < 0) throw new ConfigError('a pair has no =');
  return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
}

/**
 * The deployment's own embeddings. Callers' keys are never sent to them. `windowTokens` is the
 * longest text in tokens, and so in bytes: no tokenizer makes more tokens than bytes.
 */
function readEmbeddings(vars: Variables) {
  const { EMBEDDINGS_BASE_URL: baseUrl, EMBEDDINGS_MODEL: model, EMBEDDINGS_API_KEY: apiKey } = vars;
  if (baseUrl === undefined && model === undefined && apiKey === undefined) return undefined;
  if (baseUrl === undefined || model === undefined || apiKey === undefined)
    throw new ConfigError(
      'Set EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY together, or none of them.',
    );
  return { baseUrl, apiKey, model, windowTokens: vars.EMBEDDINGS_WINDOW_TOKENS };
}

function readDefaultStrategy(text: string): MemoryStrategy {
  const input = text.trim().startsWith('{') ? parseJson(text) : text.trim();
  if (input === undefined) throw new ConfigError('DEFAULT_MEMORY_STRATEGY is not valid JSON.');
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw new ConfigError(`DEFAULT_MEMORY_STRATEGY: ${strategy.reason.message}`);
  return strategy.value;
}
