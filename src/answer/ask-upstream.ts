/** Sends requests upstream: key, address, time limits. */
import { baseUrlOf } from '../config.ts';
import { InvariantError } from '../lib/invariant-error.ts';
import { Latest } from '../lib/latest.ts';
import { urlOf } from '../lib/request-url.ts';
import { errorFields } from '../log.ts';
import { ModelHead } from '../protocol/answers/model-head.ts';
import { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { SentCall, SpendingCall } from '../request/callers/spending-call.ts';
import { accountError, upstreamError } from '../request/errors.ts';
import { knownHeader } from '../request/own-headers.ts';
import type { RequestScope } from '../request/scope.ts';
import { BROKEN_OFF, type ModelCall } from '../telemetry/request-trace.ts';
import { fetchUpstream, type UpstreamAnswer, UpstreamError, unreachedBy } from '../upstream/fetch.ts';
import {
  addToList,
  dropIdentity,
  forwardedSearch,
  pathBelow,
  requestHeaders,
  responseHeaders,
  upstreamUrl,
} from '../upstream/request.ts';
import { tap } from '../upstream/tap.ts';

export interface AskOptions {
  /** Aborts when the caller leaves and the request's own signal does not show it. */
  readonly left?: AbortSignal | undefined;
  /** Whether the body has the caller's encoding. Bytes have none by default, and streams do. */
  readonly keepsEncoding?: boolean;
  /** Whether another body of the same request was sent before. */
  readonly isFurther?: boolean;
  /** Headers that Precis adds. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** A header, and a name to add to its list. */
  readonly listed?: readonly [header: string, name: string] | undefined;
  /** Whether the usage of the answer is read, even if the deployment neither counts nor traces. */
  readonly counts?: boolean;
  /** The tokens of the body, if they were counted. */
  readonly tokens?: number | undefined;
  /** What its bill takes as written to the cache (`BilledRequest`). */
  readonly writes?: SentCall['writes'];
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
 * @throws ApiError `upstream_unreachable` or `upstream_timeout`; what the caller's limits refuse
 */
export async function askUpstream(
  scope: RequestScope,
  path: string,
  body: Uint8Array | ReadableStream | null,
  {
    left,
    keepsEncoding = !(body instanceof Uint8Array),
    counts = false,
    isFurther,
    headers: added = [],
    listed,
    tokens,
    writes,
  }: AskOptions = {},
): Promise<CountedAnswer> {
  const { services, caller, timings, incoming, api } = scope;
  const { config, log } = services;
  const { account } = caller;
  const base = baseUrlOf(api, config);
  const { pathname, search } = urlOf(incoming);
  // The limits of a shared account know the models that bodies name, and not deployments.
  const at = account.apiKey === undefined ? pathBelow(base, path, pathname) : path;
  const url = upstreamUrl(base, at, forwardedSearch(search, account));
  const known = body ? ownersHeaders.last(scope) : undefined;
  const headers = known ? new Headers(known) : headersFor(scope, body !== null);
  if (!keepsEncoding) headers.delete('content-encoding');
  if (isFurther) dropIdentity(headers);
  for (const header of added) headers.set(...header);
  if (listed) addToList(headers, listed);
  const spending = body && (await scope.spending?.begin({ path, body: wholeOf(body), tokens, writes }));
  const modelCall = scope.trace?.calling(url);
  if (modelCall?.traceparent) {
    headers.set('traceparent', modelCall.traceparent);
    if (scope.trace?.isFirst) headers.delete('tracestate');
  }
  const { signal, method } = incoming;
  const gone = left ? AbortSignal.any([signal, left]) : signal;
  // A caller of a shared account would follow it with a key of Precis's.
  const mayRedirect = body === null && account.apiKey === undefined;
  try {
    const answer = await timings.measure('upstream', () =>
      fetchUpstream({ url, method, headers, body }, config.headersTimeoutMs, gone, mayRedirect),
    );
    return withoutAccount(counted(answer, scope, { modelCall, spending, counts }), scope);
  } catch (error) {
    modelCall?.end(error instanceof UpstreamError ? error.fault : 'internal_error');
    if (gone.aborted || (error instanceof UpstreamError && error.fault === 'upstream_timeout'))
      spending?.unanswered();
    else spending?.refused();
    if (!(error instanceof UpstreamError)) throw error;
    const { host } = new URL(url);
    const why = unreachedBy(error.cause);
    const fields = { code: error.fault, host, why, ...errorFields(error.cause, error) };
    log('warn', 'no answer from the upstream', fields);
    // Callers of a shared account do not know where it is.
    throw upstreamError(error.fault, account.apiKey === undefined ? host : undefined, why);
  }
}

/**
 * The headers that a request is sent upstream with.
 *
 * @throws ApiError for a header of Precis that is spelled wrong, and without a key for the API
 */
export function headersFor({ caller, incoming }: RequestScope, hasBody: boolean): Headers {
  try {
    return requestHeaders(incoming.headers, caller.account, hasBody);
  } catch (error) {
    throw knownHeader(error);
  }
}

/** Of a request of which answers are kept: its headers say whose they are. */
const ownersHeaders = new Latest<RequestScope, Headers>();

/** `headersFor` a body, for reading alone. @throws ApiError likewise */
export function knownHeadersFor(scope: RequestScope): Headers {
  return ownersHeaders.of(scope, [], () => headersFor(scope, true));
}

/** What is counted of an answer. */
interface Counting {
  readonly modelCall: ModelCall | undefined;
  readonly spending: SpendingCall | null | undefined;
  readonly counts: boolean;
}

/** Has the usage of an answer read, for the request or if the deployment counts or traces. */
function counted(
  answer: UpstreamAnswer,
  { services: { metrics }, waitUntil }: Pick<RequestScope, 'services' | 'waitUntil'>,
  { modelCall, spending, counts }: Counting,
): CountedAnswer {
  const { ok, status, body } = answer.response;
  if (!ok || !body) modelCall?.end(ok ? undefined : String(status));
  if (!ok || !body) spending?.refused();
  const isCounted = metrics.isOn || modelCall !== undefined || spending;
  if (!ok || !body || !(isCounted || counts)) return answer;
  const usage = new UsageTail();
  if (!isCounted)
    return { ...tap(answer, { push: (chunk) => usage.push(chunk), end: () => undefined }), usage };
  const model = modelCall && new ModelHead();
  spending?.begins(answer.response);
  const push = (chunk: Uint8Array): void => {
    usage.push(chunk);
    model?.push(chunk);
    spending?.push(chunk);
  };
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    spending?.ended(usage, true);
    modelCall?.answered(usage.usage(), model?.read());
    if (!metrics.isOn) return;
    for (const [state, tokens] of Object.entries(usage.read() ?? {}))
      metrics.count('precis_upstream_tokens_total', { state }, tokens);
    metrics.sendLater(waitUntil);
  };
  // A stream that calls one of Precis's tools is not read beyond its last event.
  const cut = (): void => {
    if (usage.isOver()) end();
    else {
      spending?.ended(usage, false);
      modelCall?.end(BROKEN_OFF);
    }
  };
  const abort = (): void => {
    cut();
    answer.abort();
  };
  return { ...tap({ ...answer, abort }, { push, end, cut }), usage };
}

/**
 * Hides what an upstream says about a shared account. Callers learn only that it refuses, and when
 * they may retry.
 *
 * @param refusal of the account, where the status does not show it; undefined: it is none
 */
export function withoutAccount(
  answer: CountedAnswer,
  { caller: { account }, services: { log }, api }: RequestScope,
  refusal = accountError(answer.response.status),
): CountedAnswer {
  const { headers } = answer.response;
  const error = account.apiKey === undefined ? undefined : refusal;
  if (!error) return answer;
  answer.abort();
  const fields = { code: error.code, status: error.status };
  log('warn', 'the upstream has refused the account of this deployment', fields);
  const response = error.toResponse({}, api, headers.get('request-id') ?? undefined);
  for (const [name, value] of responseHeaders(headers, account))
    if (!name.startsWith('content-')) response.headers.set(name, value);
  const { rest: _, ...unread } = answer;
  return { ...unread, response };
}

/** With limits, bodies are read before they are sent. @throws InvariantError for one that is not */
function wholeOf(body: Uint8Array | ReadableStream): Uint8Array {
  if (body instanceof Uint8Array) return body;
  throw new InvariantError('a body that limits count is not read');
}
