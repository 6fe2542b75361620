/**
 * The two APIs that a deployment forwards to, and what they have in common with no other: how a key
 * is sent, which headers and queries belong to them (docs/design.md#10-upstream-and-access).
 */
import { serverOf } from '../lib/request-url.ts';

export interface UpstreamApi {
  readonly name: 'openai' | 'anthropic';
  /** The deployer's key for it. */
  readonly keyVariable: 'UPSTREAM_API_KEY' | 'ANTHROPIC_API_KEY';
  /** Headers that identify the account, and those without which it refuses each request. */
  readonly accountHeaders: readonly string[];
  /** Headers that callers of a shared account may send to it. A trailing `*` matches any suffix. */
  readonly sharedRequest: readonly string[];
  /** The listed headers that choose within the account all the same: a workspace, an end user. */
  readonly choosing?: RegExp;
  /** Headers of its answers that such callers get, likewise. */
  readonly sharedResponse: readonly string[];
  /** The listed headers that reveal the account all the same. */
  readonly ofAccount?: RegExp;
  /** Parameters of the query that such callers may send. */
  readonly sharedQuery: readonly string[];
  /**
   * The key by which its caller is known. It alone is sent, so that no tenant belongs to a key for
   * which another key has opened the upstream.
   */
  keyIn(headers: Headers): string | undefined;
  /**
   * Deletes keys beside the one of `keyIn` from a request's headers.
   *
   * @param isVendor whether the request goes to OpenAI's own server, and not to a gateway
   */
  dropOthers(headers: Headers, isVendor: boolean): void;
  setKey(headers: Headers, key: string): void;
  /** Adds what Precis's own requests must have. */
  complete?(headers: Headers): void;
}

/** A caller's key of Anthropic's API, and the version that each request has to name. */
const KEY_HEADER = 'x-api-key';
const VERSION_HEADER = 'anthropic-version';

/**
 * Where clients of Azure send a key, without `authorization` (AzureOpenAI of OpenAI's SDKs). Other
 * servers may look at neither.
 */
const AZURE_KEY_HEADER = 'api-key';

const ANTHROPIC_KEY = /^sk-ant-/;

export const OPENAI: UpstreamApi = {
  name: 'openai',
  keyVariable: 'UPSTREAM_API_KEY',
  accountHeaders: ['authorization', 'openai-organization', 'openai-project'],
  sharedRequest: ['openai-beta', 'anthropic-beta'],
  sharedResponse: ['openai-model', 'openai-processing-ms', 'openai-version'],
  sharedQuery: [],
  keyIn: (headers) => bearerToken(headers) ?? azureKey(headers),
  // OpenAI has no such headers. A gateway may take its key from them.
  dropOthers(headers, isVendor) {
    if (!isVendor) return;
    headers.delete(KEY_HEADER);
    if (bearerToken(headers) !== undefined) headers.delete(AZURE_KEY_HEADER);
  },
  setKey: (headers, key) => headers.set('authorization', `Bearer ${key}`),
};

/** Of Precis's own requests (https://platform.claude.com/docs/en/api/versioning). */
const VERSION = '2023-06-01';

export const ANTHROPIC: UpstreamApi = {
  name: 'anthropic',
  keyVariable: 'ANTHROPIC_API_KEY',
  accountHeaders: ['authorization', 'x-api-key', 'anthropic-version', 'anthropic-beta'],
  sharedRequest: ['anthropic-*'],
  choosing: /^anthropic-(?:account|organization|project|user|workspace)/,
  sharedResponse: ['anthropic-*', 'request-id'],
  // https://platform.claude.com/docs/en/api/rate-limits, "Response headers"
  ofAccount: /^anthropic-(?:organization|workspace|ratelimit|priority|fast)/,
  sharedQuery: ['beta', 'limit', 'after_id', 'before_id'],
  keyIn: (headers) => ownKey(headers) ?? bearerToken(headers),
  dropOthers(headers) {
    const own = ownKey(headers);
    if (own === undefined) headers.delete(KEY_HEADER);
    else if (own !== bearerToken(headers)) headers.delete('authorization');
  },
  setKey(headers, key) {
    headers.set(KEY_HEADER, key);
    // Gateways differ in where they look for a key.
    if (ANTHROPIC_KEY.test(key)) headers.delete('authorization');
    else headers.set('authorization', `Bearer ${key}`);
  },
  complete(headers) {
    if (!headers.has(VERSION_HEADER)) headers.set(VERSION_HEADER, VERSION);
  },
};

/** The token of `Authorization: Bearer`. */
export function bearerToken(headers: Headers): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
}

/** The key of `x-api-key`; undefined for one that is none, such as two words. */
function ownKey(headers: Headers): string | undefined {
  return wordIn(headers, KEY_HEADER);
}

function azureKey(headers: Headers): string | undefined {
  return headers.get('authorization') ? undefined : wordIn(headers, AZURE_KEY_HEADER);
}

function wordIn(headers: Headers, name: string): string | undefined {
  return /^\S+$/.exec(headers.get(name)?.trim() ?? '')?.[0];
}

function isByAzureKey(headers: Headers, api: UpstreamApi): boolean {
  return api === OPENAI && azureKey(headers) !== undefined;
}

/** Whether the upstream certainly looks at the key by which a caller is known. */
export function isLookedAt(headers: Headers, api: UpstreamApi, baseUrl: string): boolean {
  return !isByAzureKey(headers, api) || isAzure(baseUrl);
}

/** Sets another key in the header in which a request has its own. */
export function replaceKey(headers: Headers, key: string, api: UpstreamApi): void {
  if (isByAzureKey(headers, api)) headers.set(AZURE_KEY_HEADER, key);
  else api.setKey(headers, key);
}

/**
 * All keys of a request, of which one may be a key of the deployment: the API's own first. The
 * other one is never sent.
 */
export function keysIn(headers: Headers, { keyIn }: Pick<UpstreamApi, 'keyIn'>): string[] {
  const keys = [keyIn(headers), bearerToken(headers), ownKey(headers)];
  return [...new Set(keys.filter((key) => key !== undefined))];
}

/** Paths of Anthropic's API alone, and of OpenAI's alone. */
const MESSAGES = /^\/v1\/messages(?:\/|$)/;
const COMPLETIONS = /^\/v1\/(?:chat\/|(?:completions|responses|embeddings)(?:\/|$))/;

/**
 * The API that a request speaks. Where the path does not say it, the headers do: a key alone only
 * where Precis has the route, since any other path may be a gateway's.
 *
 * @param path the canonical one
 * @param isKnown whether a path is one of a route
 */
export function apiOf(path: string, headers: Headers, isKnown: (path: string) => boolean): UpstreamApi {
  if (MESSAGES.test(path)) return ANTHROPIC;
  if (COMPLETIONS.test(path)) return OPENAI;
  if (headers.has(VERSION_HEADER)) return ANTHROPIC;
  return hasAnthropicKey(headers) && isKnown(path) ? ANTHROPIC : OPENAI;
}

/** Whether a request says that it speaks Anthropic's API, whatever its body looks like. */
export function namesVersion(headers: Headers): boolean {
  return headers.has(VERSION_HEADER);
}

/**
 * The API of a request whose body is one of OpenAI's, on a route of any protocol. A key of
 * Anthropic's goes to no other server all the same.
 */
export function apiOfOpenAiBody(headers: Headers): UpstreamApi {
  return isAnthropicKey(bearerToken(headers)) ? ANTHROPIC : OPENAI;
}

/** Whether a request has a key for Anthropic's API, by its header or by how it begins. */
function hasAnthropicKey(headers: Headers): boolean {
  if (!headers.has('authorization')) return headers.has(KEY_HEADER);
  return isAnthropicKey(bearerToken(headers));
}

/** The servers of Azure's, which answer nobody without a key. */
const AZURE_HOST = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/;

export function isAzure(baseUrl: string): boolean {
  return AZURE_HOST.test(serverOf(baseUrl));
}

/** OpenAI's own server, also of a region (`eu.api.openai.com`). */
const OPENAI_HOST = /(?:^|\.)api\.openai\.com$/;

/** Whether a key is one of Anthropic's, by how it begins. */
export function isAnthropicKey(key: string | undefined): boolean {
  return ANTHROPIC_KEY.test(key ?? '');
}

export function isAnthropic(baseUrl: string): boolean {
  return serverOf(baseUrl) === 'api.anthropic.com';
}

/** Whether a base URL is OpenAI's own server, and not a gateway or another vendor. */
export function isOpenAi(baseUrl: string): boolean {
  return OPENAI_HOST.test(serverOf(baseUrl));
}

/** OpenRouter, also of a region. */
const OPENROUTER_HOST = /^(?:.+\.)?openrouter\.ai$/;

export function isOpenRouter(baseUrl: string): boolean {
  return OPENROUTER_HOST.test(serverOf(baseUrl));
}
