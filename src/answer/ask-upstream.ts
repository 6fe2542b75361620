/** Sends requests upstream: key, address, time limits. */
import { urlOf } from '../lib/request-url.ts';
import { errorFields, type Log } from '../log.ts';
import { ModelHead } from '../protocol/answers/model-head.ts';
import { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Caller } from '../request/caller.ts';
import { accountError, upstreamError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import { BROKEN_OFF, type ModelCall } from '../telemetry/request-trace.ts';
import { fetchUpstream, type UpstreamAnswer, UpstreamError } from '../upstream/fetch.ts';
import { requestHeaders, responseHeaders, upstreamUrl } from '../upstream/request.ts';
import { tap } from '../upstream/tap.ts';

/** How a request goes up. */
export interface AskOptions {
  /** Aborts when the caller leaves and the request's own signal does not show it. */
  readonly left?: AbortSignal | undefined;
  /** Whether the body has the caller's encoding. Bytes have none by default, and streams do. */
  readonly asItCame?: boolean;
  /** A header of ours. */
  readonly header?: readonly [name: string, value: string] | undefined;
  /** Whether the usage of the answer is read, even if the deployment neither counts nor traces. */
  readonly counts?: boolean;
}

/** An answer of the upstream, and its usage as far as it has come. */
export interface CountedAnswer extends UpstreamAnswer {
  /** Absent for errors, and where nobody wants it. */
  readonly usage?: UsageTail;
}

/**
 * Sends a request upstream with the caller's headers.
 *
 * @param path below the upstream's base URL
 * @throws ApiError `upstream_unreachable` or `upstream_timeout`
 */
export async function askUpstream(
  scope: RequestScope,
  path: string,
  body: Uint8Array | ReadableStream | null,
  { left, asItCame = !(body instanceof Uint8Array), counts = false, header }: AskOptions = {},
): Promise<CountedAnswer> {
  const { services, caller, timings, incoming } = scope;
  const { config, log } = services;
  // With a shared account the query is dropped: it can steer a gateway as headers can.
  const search = config.access ? '' : urlOf(incoming).search;
  const url = upstreamUrl(config.upstreamBaseUrl, path, search);
  const headers = requestHeaders(incoming.headers, caller.account, body !== null);
  if (!asItCame) headers.delete('content-encoding');
  if (header) headers.set(...header);
  const modelCall = scope.trace?.calling(url);
  if (modelCall?.traceparent) {
    headers.set('traceparent', modelCall.traceparent);
    if (scope.trace?.isFirst) headers.delete('tracestate');
  }
  const { signal, method } = incoming;
  const gone = left ? AbortSignal.any([signal, left]) : signal;
  try {
    const answer = await timings.measure('upstream', () =>
      fetchUpstream({ url, method, headers, body }, config.headersTimeoutMs, gone),
    );
    return withoutAccount(counted(answer, scope, modelCall, counts), caller, log);
  } catch (error) {
    modelCall?.end(error instanceof UpstreamError ? error.fault : 'internal_error');
    if (!(error instanceof UpstreamError)) throw error;
    log('warn', 'no answer from the upstream', { code: error.fault, ...errorFields(error.cause, error) });
    throw upstreamError(error.fault);
  }
}

/** Has the usage of an answer read, for the request or if the deployment counts or traces. */
function counted(
  answer: UpstreamAnswer,
  { services: { metrics }, waitUntil }: Pick<RequestScope, 'services' | 'waitUntil'>,
  modelCall: ModelCall | undefined,
  counts: boolean,
): CountedAnswer {
  const { ok, status, body } = answer.response;
  if (!ok || !body) modelCall?.end(ok ? undefined : String(status));
  const isCounted = metrics.isOn || modelCall !== undefined;
  if (!ok || !body || !(isCounted || counts)) return answer;
  const usage = new UsageTail();
  if (!isCounted)
    return { ...tap(answer, { push: (chunk) => usage.push(chunk), end: () => undefined }), usage };
  const model = modelCall && new ModelHead();
  const push = (chunk: Uint8Array): void => {
    usage.push(chunk);
    model?.push(chunk);
  };
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    modelCall?.answered(usage.usage(), model?.read());
    if (!metrics.isOn) return;
    for (const [state, tokens] of Object.entries(usage.read() ?? {}))
      metrics.count('precis_upstream_tokens_total', { state }, tokens);
    metrics.sendLater(waitUntil);
  };
  // A stream that calls a tool of ours is not read beyond its last event.
  const cut = (): void => (usage.isOver() ? end() : modelCall?.end(BROKEN_OFF));
  const abort = (): void => {
    cut();
    answer.abort();
  };
  return { ...tap({ ...answer, abort }, { push, end, cut }), usage };
}

/**
 * Hides what an upstream says about a shared account. Callers learn only that it refuses, and when
 * they may retry.
 */
function withoutAccount(answer: CountedAnswer, { account }: Caller, log: Log): CountedAnswer {
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
