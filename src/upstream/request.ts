/** What goes upstream: where to, and with which headers (design §10). */

/** Headers of one connection, not of the message (RFC 9110 §7.6.1), and those that fetch makes itself. */
const HOP_BY_HOP = new Set([
  'connection',
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

/** Precis' own request headers that do not begin with `x-memory-`. */
const OWN_HEADERS = new Set(['x-agent-type', 'x-conversation-id']);

/** What would tell the shared account, or the caller's own one, to the wrong side when Precis holds the key. */
const ACCOUNT_HEADERS = new Set([
  'openai-organization',
  'openai-project',
  'cookie',
  'api-key',
  'x-api-key',
  'set-cookie',
]);

/** The upstream account in use: the caller's own key, or the deployer's. */
export interface UpstreamAccount {
  /** The deployer's key, which takes the place of the caller's; absent when callers bring their own. */
  readonly apiKey?: string;
}

/**
 * The headers that go upstream: the caller's, without those of this connection, of Precis, of the edge (`cf-*`, forwarding), and
 * without `accept-encoding`, since answers are read here.
 */
export function requestHeaders(incoming: Headers, account: UpstreamAccount): Headers {
  const headers = new Headers();
  const named = new Set((incoming.get('connection') ?? '').toLowerCase().split(/[\s,]+/));
  for (const [name, value] of incoming) {
    if (named.has(name)) continue;
    if (HOP_BY_HOP.has(name) || isOwnHeader(name) || isEdgeHeader(name) || name === 'accept-encoding')
      continue;
    if (account.apiKey !== undefined && ACCOUNT_HEADERS.has(name)) continue;
    headers.append(name, value);
  }
  if (account.apiKey !== undefined) headers.set('authorization', `Bearer ${account.apiKey}`);
  return headers;
}

/**
 * The upstream's headers as the caller gets them. Encoding and length of a body that is decoded on its way do not hold any
 * more, and nobody but Precis speaks in `x-memory-*`.
 */
export function responseHeaders(upstream: Headers, account: UpstreamAccount): Headers {
  const headers = new Headers();
  const encoded = upstream.has('content-encoding');
  for (const [name, value] of upstream) {
    if (name === 'content-length' && !encoded) headers.set(name, value);
    if (HOP_BY_HOP.has(name) || name === 'content-encoding' || name.startsWith('x-memory-')) continue;
    if (account.apiKey !== undefined && ACCOUNT_HEADERS.has(name)) continue;
    headers.append(name, value);
  }
  return headers;
}

/**
 * The upstream's URL for a path: base and path, one behind the other.
 *
 * @param base as configured, such as `https://api.openai.com/v1`
 * @param path below the base, with its leading slash
 * @param search the caller's query with its `?`, or empty
 * @throws when the outcome would leave the base: no request can choose a host
 */
export function upstreamUrl(base: string, path: string, search: string): string {
  const root = new URL(base);
  const prefix = root.pathname.replace(/\/+$/, '');
  const url = new URL(`${root.origin}${prefix}${path}`);
  url.search = [root.search.slice(1), search.slice(1)].filter((part) => part !== '').join('&');
  if (url.origin !== root.origin || !url.pathname.startsWith(`${prefix}/`))
    throw new Error('a path left the upstream base URL');
  return url.href;
}

function isOwnHeader(name: string): boolean {
  return name.startsWith('x-memory-') || OWN_HEADERS.has(name);
}

function isEdgeHeader(name: string): boolean {
  return (
    name.startsWith('cf-') || name.startsWith('x-forwarded-') || name === 'x-real-ip' || name === 'forwarded'
  );
}
