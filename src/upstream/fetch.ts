/** One request upstream, and the two ways in which there is no answer. */

/** Why there is no answer, as a code of docs/design.md#5-routes. */
export type UpstreamFault = 'upstream_unreachable' | 'upstream_timeout';

export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  constructor(fault: UpstreamFault, options?: ErrorOptions) {
    super(fault, options);
    this.name = 'UpstreamError';
    this.fault = fault;
  }
}

export interface UpstreamRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | ReadableStream | null;
}

/** An answer whose body is still to come, and the way to give it up. */
export interface UpstreamAnswer {
  readonly response: Response;
  /** Closes the connection. */
  abort(): void;
}

/**
 * Sends a request and waits for the headers of the answer. Redirects are not followed: a followed
 * one would carry the key along (https://developer.mozilla.org/docs/Web/API/RequestInit#redirect).
 *
 * @param headersMs how long the upstream may take until its headers are there, in milliseconds
 * @param gone aborts when the caller has left
 * @throws UpstreamError
 */
export async function fetchUpstream(
  request: UpstreamRequest,
  headersMs: number,
  gone: AbortSignal,
): Promise<UpstreamAnswer> {
  const connection = new AbortController();
  const abort = () => connection.abort();
  gone.addEventListener('abort', abort, { once: true });
  if (gone.aborted) abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    abort();
  }, headersMs);
  try {
    const { url, ...init } = request;
    const response = await fetch(url, { ...init, redirect: 'manual', signal: connection.signal });
    // RFC 9110 §15: anything else is no HTTP status, and no response could carry it on.
    if (response.status < 200 || response.status > 599) throw new Error(`status ${response.status}`);
    return { response, abort };
  } catch (cause) {
    abort();
    throw new UpstreamError(late ? 'upstream_timeout' : 'upstream_unreachable', { cause });
  } finally {
    clearTimeout(timer);
  }
}
