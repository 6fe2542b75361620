/** Requests to the upstream: URL and headers (docs/design.md#10-upstream-and-access). */
import { InvariantError } from '../lib/invariant-error.ts';
import { nearest } from '../memory/strategy/hint.ts';
import { OPENAI, type UpstreamApi } from './api.ts';
import { identifies } from './credentials.ts';

/** Headers of the connection, not of the message (RFC 9110 §7.6.1), and those that fetch sets. */
const HOP_BY_HOP = new Set([
  'connection',
  // This connection has continued, and the next one has its body from the start.
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
]);

/** Precis' own request headers. All others of `x-memory-*` are reserved, and dropped. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'x-agent-type',
  'x-conversation-id',
  'x-memory-strategy',
  'x-memory-injection',
  'x-memory-blocks',
  'x-memory-user',
  'x-memory-report',
  'x-memory-observe',
  'x-memory-stream-errors',
]);

/** Headers of Precis' answers, which a client may send back. They say nothing, and are dropped. */
const ANSWERED =
  /^x-memory-(?:mode|source|applied|trigger|frontier|(?:tokens|potential)-(?:before|after)|next-edit|refs?|warning|truncated|budget-(?:day|month))$/;

/** A header that is spelled almost like one of Precis. */
export class UnknownHeader extends Error {
  override readonly name = 'UnknownHeader';
  readonly header: string;
  readonly meant: string;

  constructor(header: string, meant: string) {
    super(header);
    this.header = header;
    this.meant = meant;
  }
}

/** By what distinguishes them: all reserved names are alike in their beginning. */
const OWN_BY_REST = new Map([...OWN_HEADERS].map((name) => [name.replace(/^x-(?:memory-)?/, ''), name]));

/** @throws UnknownHeader: a header that is spelled wrong would be dropped without a word */
export function checkOwnHeader(name: string): void {
  if (!isReserved(name) || OWN_HEADERS.has(name) || ANSWERED.test(name)) return;
  const rest = name.slice(RESERVED.length, LONGEST_HEADER);
  const meant = OWN_BY_REST.get(nearest(rest, [...OWN_BY_REST.keys()]) ?? '');
  if (meant !== undefined) throw new UnknownHeader(name, meant);
}

/** In characters. */
const LONGEST_HEADER = 64;

const RESERVED = 'x-memory-';

const isReserved = (name: string): boolean => name.startsWith(RESERVED);

const isOwnHeader = (name: string): boolean => isReserved(name) || OWN_HEADERS.has(name);

/**
 * Headers that callers of a shared account may send, beside the API's own. Any other could make a
 * gateway in front of the upstream choose another host, path, method or account, with the
 * deployer's key.
 */
const SHARED_REQUEST = ['accept', 'user-agent', 'x-stainless-*'];

/**
 * Response headers that callers of a shared account get, beside the API's own. Others reveal the
 * account: its organization, its limits, and how much of them is left
 * (https://platform.openai.com/docs/api-reference/debugging-requests).
 */
const SHARED_RESPONSE = [
  'cache-control',
  'content-*',
  'date',
  'retry-after',
  'retry-after-ms',
  'x-request-id',
  'x-should-retry',
];

/** Headers that Precis sets in requests with the deployer's key. */
const SET_HERE = new Set(['authorization', 'x-api-key', 'content-type', 'content-encoding']);

/** The upstream account: the caller's own key, or the deployer's. */
export interface UpstreamAccount {
  /** The API that it is asked over; OpenAI's if it is absent. */
  readonly api?: UpstreamApi;
  /** Whether OpenAI's API is asked of OpenAI's own server. */
  readonly isVendor?: boolean;
  /** The deployer's key, which replaces the caller's; absent if callers bring their own. */
  readonly apiKey?: string;
  /**
   * Extra headers that callers of the deployer's key may send, in lower case. A trailing `*`
   * matches any suffix.
   */
  readonly forwardedHeaders?: readonly string[];
}

/**
 * The headers for the upstream: the caller's, without the headers of the connection, of Precis and
 * of the edge, and without `accept-encoding`, since answers are read here. With the deployer's key
 * only listed headers are sent.
 *
 * The header `connection` names further headers of the connection (RFC 9110 §7.6.1). A key, an
 * account or a version is never one: without it the upstream would answer another caller than the
 * one who is known here.
 *
 * @throws UnknownHeader
 * @throws InvariantError if the key is not that by which the caller is known
 * @param hasBody whether there is a body; with the deployer's key it is JSON
 */
export function requestHeaders(incoming: Headers, account: UpstreamAccount, hasBody = false): Headers {
  const headers = new Headers();
  const named = new Set((incoming.get('connection') ?? '').toLowerCase().split(/[\s,]+/));
  const { api = OPENAI, apiKey, forwardedHeaders = [], isVendor = false } = account;
  const shared =
    apiKey === undefined ? undefined : [...SHARED_REQUEST, ...api.sharedRequest, ...forwardedHeaders];
  for (const [name, value] of incoming) {
    if (named.has(name) && !identifies(name)) continue;
    checkOwnHeader(name);
    if (HOP_BY_HOP.has(name) || isOwnHeader(name) || EDGE.test(name) || name === 'accept-encoding') continue;
    if (shared && (SET_HERE.has(name) || !isListed(name, shared))) continue;
    // The caller's key opens this deployment, in whatever header it is.
    if (shared && value.trim() === api.keyIn(incoming)) continue;
    if (shared && api.choosing?.test(name) && !isListed(name, forwardedHeaders)) continue;
    // Lines of a repeated header are sent as one, so an upstream reads the key that is read here.
    headers.append(name, value);
  }
  if (apiKey === undefined) {
    api.dropOthers(headers, isVendor);
    if (api.keyIn(headers) !== api.keyIn(incoming))
      throw new InvariantError("another key than the caller's would be sent upstream");
    return headers;
  }
  api.setKey(headers, apiKey);
  if (hasBody) headers.set('content-type', 'application/json');
  return headers;
}

/** Headers that describe the body of a request, and the answer that it wants. */
const OF_ITS_BODY = /^(?:accept|content-.+|x-stainless-(?:retry-count|(?:read-)?timeout|helper.*))$/;

/**
 * Headers that identify one body: a server may answer another one under the same key with the
 * answer to the first (https://developers.cloudflare.com/ai-gateway/features/caching/).
 */
const OF_ONE_BODY = /(?:^|-)(?:idempotency-key|request-id|cache-key)$|^cf-aig-event-id$|^x-portkey-span-id$/;

/** Deletes what identifies the first body of a caller's request, for any further one. */
export function dropIdentity(headers: Headers): void {
  for (const name of [...headers.keys()]) if (OF_ONE_BODY.test(name)) headers.delete(name);
}

/**
 * The headers for a call of Precis's own to the request's upstream: all that the model's call has,
 * since a gateway may need any of them, but for what is about the caller's body.
 */
export function ownCallHeaders(incoming: Headers, account: UpstreamAccount): Headers {
  const headers = requestHeaders(incoming, account);
  dropIdentity(headers);
  for (const name of [...headers.keys()]) if (OF_ITS_BODY.test(name)) headers.delete(name);
  account.api?.complete?.(headers);
  return headers;
}

/** Adds a name to a header with a list of names, unless it has it. */
export function addToList(headers: Headers, [header, name]: readonly [string, string]): void {
  const listed = (headers.get(header) ?? '').split(',').map((one) => one.trim());
  if (listed.includes(name)) return;
  // An empty name would be one that the API does not know.
  if (listed.every((one) => one === '')) headers.set(header, name);
  else headers.append(header, name);
}

/** The encodings that the runtime decodes, in exactly this spelling. */
const DECODED = new Set(['gzip', 'br']);

/** Whether an answer's body is readable: not encoded, or decoded by the runtime. */
export function isDecoded(upstream: Headers): boolean {
  const encoding = upstream.get('content-encoding') || 'identity';
  return encoding === 'identity' || DECODED.has(encoding);
}

/** Whether an answer is a stream of events. The case of a media type has no meaning (RFC 9110). */
export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().includes('text/event-stream') === true;
}

/**
 * The upstream's answer for the caller, with a body of its own and the headers of
 * `responseHeaders`. They may still be changed, and are copied once.
 */
export function responseWith(body: BodyInit | null, upstream: Response, account: UpstreamAccount): Response {
  const response = new Response(body, upstream);
  dropOfUpstream(response.headers, account);
  return response;
}

/**
 * The upstream's headers for the caller. Encoding and length are dropped if the runtime decoded the
 * body. `x-memory-*` is reserved for Precis.
 */
export function responseHeaders(upstream: Headers, account: UpstreamAccount): Headers {
  const headers = new Headers(upstream);
  dropOfUpstream(headers, account);
  return headers;
}

/** What no browser takes for a page. */
const DATA = /^(?:application\/json|text\/event-stream) *(?:;|$)/i;

/**
 * Drops from a copy, since the runtime copies all faster than each is appended here. A page of the
 * upstream would have the rights of the inspector, whose origin it would share.
 */
function dropOfUpstream(headers: Headers, { api = OPENAI, apiKey }: UpstreamAccount): void {
  const asSent = !headers.has('content-encoding') || !isDecoded(headers);
  for (const name of [...headers.keys()]) {
    const isDropped =
      (HOP_BY_HOP.has(name) && !(name === 'content-length' && asSent)) ||
      (name === 'content-encoding' && !asSent) ||
      isReserved(name) ||
      (apiKey !== undefined && !isShared(name, api));
    if (isDropped) headers.delete(name);
  }
  if (!DATA.test(headers.get('content-type') ?? '')) headers.append('content-security-policy', 'sandbox');
}

let lastRoot: { readonly base: string; readonly url: URL } | undefined;

/** The parsed base URL. A deployment has one. */
function rootOf(base: string): Readonly<URL> {
  if (lastRoot?.base !== base) lastRoot = { base, url: new URL(base) };
  return lastRoot.url;
}

/**
 * The upstream's URL for a path, by concatenation.
 *
 * @param base as configured, such as `https://api.openai.com/v1`
 * @param path below the base, with its leading slash
 * @param search the caller's query with its `?`, or empty
 * @throws if the result would leave the base, since no request can choose a host
 */
export function upstreamUrl(base: string, path: string, search: string): string {
  if (search !== '') return makeUrl(base, path, search);
  if (last?.base !== base || last.path !== path) last = { base, path, url: makeUrl(base, path, search) };
  return last.url;
}

/** A deployment, as in the paths of Azure's clients. */
const DEPLOYMENT = /\/deployments\/[\w-][\w.-]{0,63}\//;

/**
 * The path below a base URL that ends as Azure's does before its `/v1`: there the deployment that a
 * client names in its path chooses the model.
 *
 * @param asked the client's path
 */
export function pathBelow(base: string, path: string, asked: string): string {
  const at = asked.search(DEPLOYMENT);
  const isAzures = at >= 0 && /\/openai\/*$/.test(rootOf(base).pathname);
  const named = asked.slice(at);
  return isAzures && named.split('/').slice(3).join('/') === path.slice(1) ? named : path;
}

/** Most requests go to the same path as the one before. */
let last: { readonly base: string; readonly path: string; readonly url: string } | undefined;

function makeUrl(base: string, path: string, search: string): string {
  const root = rootOf(base);
  const prefix = root.pathname.replace(/\/+$/, '');
  const url = new URL(`${root.origin}${prefix}${path}`);
  url.search = [root.search.slice(1), search.slice(1)].filter((part) => part !== '').join('&');
  if (url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`))
    throw new Error('a path left the upstream base URL');
  return url.href;
}

/** Whether callers of a shared account get a header of an answer. */
function isShared(name: string, { sharedResponse, ofAccount }: UpstreamApi): boolean {
  if (ofAccount?.test(name)) return false;
  return isListed(name, SHARED_RESPONSE) || isListed(name, sharedResponse);
}

/**
 * The query that is sent upstream. With a shared account only parameters of the API are: any other
 * can steer a gateway as headers can.
 *
 * @param search with its `?`, or empty
 */
export function forwardedSearch(search: string, { api = OPENAI, apiKey }: UpstreamAccount): string {
  if (search === '' || apiKey === undefined) return search;
  const listed = [...new URLSearchParams(search)].filter(([name]) => api.sharedQuery.includes(name));
  return listed.length === 0 ? '' : `?${new URLSearchParams(listed)}`;
}

/** @param list names; a trailing `*` matches any suffix */
function isListed(name: string, list: readonly string[]): boolean {
  return list.some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry));
}

/**
 * Headers that an edge or a reverse proxy has set
 * (https://developers.cloudflare.com/fundamentals/reference/http-headers/). The headers of
 * Cloudflare's AI Gateway (`cf-aig-*`) are the caller's.
 */
const EDGE = /^(?:cf-(?!aig-)|x-forwarded-|(?:cdn-loop|forwarded|true-client-ip|x-real-ip)$)/;
