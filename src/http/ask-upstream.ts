/** One request's way upstream: with whose key, where to, within which limits. */
import type { Context } from 'hono';
import type { Tenant } from '../storage/tenant.ts';
import { fetchUpstream, type UpstreamAnswer, UpstreamError } from '../upstream/fetch.ts';
import { requestHeaders, upstreamUrl } from '../upstream/request.ts';
import { type Caller, callerOf } from './caller.ts';
import { upstreamError } from './errors.ts';
import type { RequestScope } from './make-view.ts';
import type { AppEnv, Services } from './services.ts';
import { Timings } from './timings.ts';

/** How long the upstream may take to say whether it accepts a key, in milliseconds. */
const MODELS_LIMIT_MS = 5_000;

/** Ours, and those that opencode and Codex send (design §3). */
const SESSION_HEADERS = ['x-conversation-id', 'x-session-id', 'session-id'];

/** What a handler needs of its request. @throws ApiError `invalid_api_key` */
export function scopeOf(c: Context<AppEnv>): RequestScope {
  const services = c.get('services');
  const { headers } = c.req.raw;
  const caller = callerOf(headers, services);
  let stored: Promise<boolean> | undefined;
  return {
    services,
    caller,
    learned: services.learned(caller.tenant),
    headers,
    timings: new Timings(),
    uses: new Map(),
    session: SESSION_HEADERS.map((name) => headers.get(name)).find((value) => value !== null) ?? undefined,
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    mayStore: (tenant) => {
      stored ??= mayStore(tenant, headers, caller, services);
      return stored;
    },
  };
}

/**
 * Sends a request upstream with the caller's headers.
 *
 * @param path below the upstream's base URL
 * @param left aborts when the caller has left, where that is noticed by other means than the request's own signal
 * @throws ApiError `upstream_unreachable` or `upstream_timeout`
 */
export async function askUpstream(
  c: Context<AppEnv>,
  { services, caller, timings }: RequestScope,
  path: string,
  body: Uint8Array | ReadableStream | null,
  left?: AbortSignal,
): Promise<UpstreamAnswer> {
  const { config, log } = services;
  // A query may steer a gateway as a header may.
  const search = config.access ? '' : new URL(c.req.url).search;
  const url = upstreamUrl(config.upstreamBaseUrl, path, search);
  const headers = requestHeaders(c.req.raw.headers, caller.account, body !== null);
  const { signal } = c.req.raw;
  const gone = left ? AbortSignal.any([signal, left]) : signal;
  try {
    return await timings.measure('upstream', () =>
      fetchUpstream({ url, method: c.req.method, headers, body }, config.headersTimeoutMs, gone),
    );
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    log('warn', 'no answer from the upstream', { code: error.fault });
    throw upstreamError(error.fault);
  }
}

/** A deployer's own access keys are trusted; a caller's own key is when the upstream has accepted it. */
async function mayStore(
  tenant: Tenant,
  incoming: Headers,
  caller: Caller,
  services: Services,
): Promise<boolean> {
  const { config, accepted } = services;
  if (config.access || !config.verifyKeys) return true;
  return accepted.isAccepted(tenant.id, async () => {
    const headers = new Headers();
    const forwarded = requestHeaders(incoming, caller.account);
    for (const name of ['authorization', 'openai-organization', 'openai-project']) {
      const value = forwarded.get(name);
      if (value !== null) headers.set(name, value);
    }
    const url = upstreamUrl(config.upstreamBaseUrl, '/models', '');
    const { response } = await fetchUpstream(
      { url, method: 'GET', headers, body: null },
      MODELS_LIMIT_MS,
      new AbortController().signal,
    );
    await response.body?.cancel();
    // An upstream that is busy or in trouble has said nothing about the key.
    if (response.status === 429 || response.status >= 500) throw new Error('the upstream is busy');
    return response.ok;
  });
}
