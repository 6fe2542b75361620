/** Sends requests upstream: key, address, time limits. */
import type { Context } from 'hono';
import { urlOf } from '../lib/request-url.ts';
import { errorName, type Log } from '../log.ts';
import type { Caller } from '../request/caller.ts';
import { accountError, upstreamError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import { fetchUpstream, type UpstreamAnswer, UpstreamError } from '../upstream/fetch.ts';
import { requestHeaders, responseHeaders, upstreamUrl } from '../upstream/request.ts';

/**
 * Sends a request upstream with the caller's headers.
 *
 * @param path below the upstream's base URL
 * @param body a stream has the caller's encoding; bytes have none, unless `asItCame` is set
 * @param left aborts when the caller leaves and the request's own signal does not show it
 * @throws ApiError `upstream_unreachable` or `upstream_timeout`
 */
export async function askUpstream(
  c: Context<AppEnv>,
  { services, caller, timings }: RequestScope,
  path: string,
  body: Uint8Array | ReadableStream | null,
  left?: AbortSignal,
  asItCame = !(body instanceof Uint8Array),
): Promise<UpstreamAnswer> {
  const { config, log } = services;
  // With a shared account the query is dropped: it can steer a gateway as headers can.
  const search = config.access ? '' : urlOf(c.req.raw).search;
  const url = upstreamUrl(config.upstreamBaseUrl, path, search);
  const headers = requestHeaders(c.req.raw.headers, caller.account, body !== null);
  if (!asItCame) headers.delete('content-encoding');
  const { signal } = c.req.raw;
  const gone = left ? AbortSignal.any([signal, left]) : signal;
  try {
    const answer = await timings.measure('upstream', () =>
      fetchUpstream({ url, method: c.req.method, headers, body }, config.headersTimeoutMs, gone),
    );
    return withoutAccount(answer, caller, log);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    log('warn', 'no answer from the upstream', { code: error.fault, error: errorName(error.cause) });
    throw upstreamError(error.fault);
  }
}

/**
 * Hides what an upstream says about a shared account. Callers learn only that it refuses, and when
 * they may retry.
 */
function withoutAccount(answer: UpstreamAnswer, { account }: Caller, log: Log): UpstreamAnswer {
  const { status, headers } = answer.response;
  const error = account.apiKey === undefined ? undefined : accountError(status);
  if (!error) return answer;
  answer.abort();
  log('warn', 'the upstream has refused the account of this deployment', { code: error.code, status });
  const response = error.toResponse();
  for (const [name, value] of responseHeaders(headers, account))
    if (!name.startsWith('content-')) response.headers.set(name, value);
  return { ...answer, response };
}
