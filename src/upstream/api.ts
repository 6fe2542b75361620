/**
 * The two APIs that a deployment forwards to, and what they have in common with no other: how a key
 * goes up, which headers and queries belong to them (docs/design.md#10-upstream-and-access).
 */

export interface UpstreamApi {
  readonly name: 'openai' | 'anthropic';
  /** The deployer's key for it. */
  readonly keyVariable: 'UPSTREAM_API_KEY' | 'ANTHROPIC_API_KEY';
  /** Headers that identify the account, and those without which it refuses each request. */
  readonly accountHeaders: readonly string[];
  /** Headers that callers of a shared account may send to it. A trailing `*` matches any suffix. */
  readonly sharedRequest: readonly string[];
  /** Headers of its answers that such callers get, likewise. */
  readonly sharedResponse: readonly string[];
  /** Those of them that reveal the account all the same. */
  readonly ofAccount?: RegExp;
  /** Parameters of the query that such callers may send. */
  readonly sharedQuery: readonly string[];
  /** Sets a key in a request's headers. */
  setKey(headers: Headers, key: string): void;
  /** Adds what a request of ours must have. */
  complete?(headers: Headers): void;
}

export const OPENAI: UpstreamApi = {
  name: 'openai',
  keyVariable: 'UPSTREAM_API_KEY',
  accountHeaders: ['authorization', 'openai-organization', 'openai-project'],
  sharedRequest: ['openai-beta', 'anthropic-beta'],
  sharedResponse: ['openai-model', 'openai-processing-ms', 'openai-version'],
  sharedQuery: [],
  setKey: (headers, key) => headers.set('authorization', `Bearer ${key}`),
};

/** A caller's key, and the version that each request has to name. */
const KEY_HEADER = 'x-api-key';
const VERSION_HEADER = 'anthropic-version';

/** Of requests of ours (https://platform.claude.com/docs/en/api/versioning). */
const VERSION = '2023-06-01';

export const ANTHROPIC: UpstreamApi = {
  name: 'anthropic',
  keyVariable: 'ANTHROPIC_API_KEY',
  accountHeaders: ['authorization', 'x-api-key', 'anthropic-version', 'anthropic-beta'],
  sharedRequest: ['anthropic-*'],
  sharedResponse: ['anthropic-*', 'request-id'],
  // https://platform.claude.com/docs/en/api/rate-limits, "Response headers"
  ofAccount: /^anthropic-(?:organization|workspace|ratelimit|priority|fast)/,
  sharedQuery: ['beta', 'limit', 'after_id', 'before_id'],
  setKey(headers, key) {
    headers.set(KEY_HEADER, key);
    headers.delete('authorization');
  },
  complete(headers) {
    if (!headers.has(VERSION_HEADER)) headers.set(VERSION_HEADER, VERSION);
  },
};

/**
 * The keys of a request: that of `Authorization: Bearer`, and that of `x-api-key`. The first one is
 * the caller's: with `anthropic-version` that of `x-api-key`, as in Anthropic's API.
 */
export function keysIn(headers: Headers): string[] {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  const own = headers.get(KEY_HEADER)?.trim();
  const keys = headers.has(VERSION_HEADER) ? [own, bearer] : [bearer, own];
  return keys.filter((key) => key !== undefined && key !== '' && !/\s/.test(key)) as string[];
}

/** Paths of Anthropic's API alone, and of OpenAI's alone. */
const MESSAGES = /^\/v1\/messages(?:\/|$)/;
const COMPLETIONS = /^\/v1\/(?:chat\/|responses(?:\/|$)|embeddings(?:\/|$))/;

/**
 * The API that a request speaks. Where the path does not say it, the headers do: a key alone only
 * where Precis has the route, since any other path may be that of a gateway.
 *
 * @param path the canonical one
 * @param isKnown whether the path is one of a route
 */
export function apiOf(path: string, headers: Headers, isKnown: boolean): UpstreamApi {
  if (MESSAGES.test(path)) return ANTHROPIC;
  if (COMPLETIONS.test(path)) return OPENAI;
  if (headers.has(VERSION_HEADER)) return ANTHROPIC;
  return isKnown && headers.has(KEY_HEADER) && !headers.has('authorization') ? ANTHROPIC : OPENAI;
}
