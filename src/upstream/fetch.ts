/** Sends one request upstream. */

import type { Chunks } from './chunks.ts';

/** Why there is no answer: an error code (docs/answers-and-errors.md#errors). */
export type UpstreamFault = 'upstream_unreachable' | 'upstream_timeout';

export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  constructor(fault: UpstreamFault, options?: ErrorOptions) {
    super(fault, options);
    this.name = 'UpstreamError';
    this.fault = fault;
  }
}

/**
 * Why a request did not reach the upstream, as far as the runtime says: it distinguishes neither a
 * refused connection from one that broke off, nor an unknown name from a failed TLS handshake.
 */
export function unreachedBy(cause: unknown): string {
  const { message = '' } = Object(cause) as { readonly message?: string };
  if (/connection lost/i.test(message)) return 'the connection was refused, or broke off';
  if (/^internal error/i.test(message)) return 'its name was not found, or TLS failed';
  if (/^status 3\d\d$/.test(message)) return `it answered with a redirect (${message})`;
  return /^status \d+$/.test(message) ? `it answered with the ${message}` : 'the request failed';
}

interface UpstreamRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | ReadableStream | null;
}

/** An answer with its body still to come. */
export interface UpstreamAnswer {
  readonly response: Response;
  /** Read in place of the response's body, where that is read elsewhere first. */
  readonly rest?: Chunks;
  /** Whether its beginning has been read, and is no refusal as far as it has come. */
  readonly hasBegun?: boolean;
  abort(): void;
}

/**
 * Sends a request and waits for the answer's headers. Redirects are not followed, since the key
 * would be sent along (https://developer.mozilla.org/docs/Web/API/RequestInit#redirect). For the
 * same reason no client may follow one that is no answer.
 *
 * @param gone aborts when the caller leaves
 * @param mayRedirect whether a redirect is an answer, as to a file; by default if there is no body
 * @throws UpstreamError
 */
export async function fetchUpstream(
  request: UpstreamRequest,
  headersMs: number,
  gone: AbortSignal,
  mayRedirect = request.body === null,
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
    // Other numbers are no HTTP status (RFC 9110 §15), and no response could have them.
    const { status, headers } = response;
    const isRedirect = status >= 300 && status < 400 && headers.has('location');
    if (status < 200 || status > 599 || (isRedirect && !mayRedirect)) throw new Error(`status ${status}`);
    return { response, abort };
  } catch (cause) {
    abort();
    throw new UpstreamError(late ? 'upstream_timeout' : 'upstream_unreachable', { cause });
  } finally {
    clearTimeout(timer);
  }
}
