/**
 * Calls that Precis itself makes to an OpenAI-compatible model, with the `openai` package: those of
 * the summarizer and of the embeddings.
 */
import OpenAI, { APIError } from 'openai';
import type { Result } from '../lib/result.ts';
import { bounded } from './body.ts';

/** A model's server, and the key for it. Never stored or logged. */
export interface ModelServer {
  readonly baseUrl: string;
  /** Absent if the caller has sent none. Then none is sent. */
  readonly apiKey?: string;
  /** Other headers that identify the account. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Limits of one call. */
export interface CallLimits {
  /** Including the body, in milliseconds. */
  readonly timeoutMs: number;
  /** Of the answer, in decoded bytes. */
  readonly longestAnswer: number;
}

/** Why there is no answer. */
export interface ModelFault {
  readonly code: 'timeout' | 'unreachable' | 'rate_limited' | 'upstream_error' | 'refused';
  /** Whether the same call may succeed later. */
  readonly again: boolean;
  /** The pause that the server asks for, in milliseconds. */
  readonly afterMs?: number;
  /** Whether another input may be accepted. */
  readonly isOfInput?: true;
  /** The name of the caught error. */
  readonly cause?: string;
}

/** Statuses that refuse the input, and not the caller (RFC 9110 §15.5). */
const OF_INPUT = new Set([400, 413, 422]);

/** @param call makes the call with this client, until the signal, and reads its answer */
export async function askModel<Answer>(
  server: ModelServer,
  { timeoutMs, longestAnswer }: CallLimits,
  call: (client: OpenAI, signal: AbortSignal) => Promise<Answer>,
): Promise<Result<Answer, ModelFault>> {
  // The package's own limit ends with the headers. The timer must be cleared, or it keeps a Durable
  // Object awake.
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  try {
    return { ok: true, value: await call(clientOf(server, longestAnswer), limit.signal) };
  } catch (error) {
    const fault = limit.signal.aborted ? ({ code: 'timeout', again: true } as const) : faultOf(error);
    return { ok: false, reason: { ...fault, cause: causeOf(error) } };
  } finally {
    clearTimeout(timer);
  }
}

function clientOf({ baseUrl, apiKey, headers }: ModelServer, longestAnswer: number): OpenAI {
  const base = new URL(baseUrl);
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    baseURL: `${base.origin}${base.pathname}`,
    defaultQuery: Object.fromEntries(base.searchParams),
    // The package must not read the deployment's environment variables.
    organization: null,
    project: null,
    defaultHeaders: { ...headers, ...(apiKey === undefined ? { Authorization: null } : {}) },
    // Following a redirect would send the key along.
    fetch: async (input, init) => bounded(await fetch(input, { ...init, redirect: 'manual' }), longestAnswer),
    // Callers retry themselves, since only they know what an attempt costs.
    maxRetries: 0,
    logLevel: 'off',
  });
}

/** The name of an error. The package wraps errors of the connection. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.name : 'unknown';
}

function faultOf(error: unknown): ModelFault {
  // Errors of the connection have no status.
  if (!(error instanceof APIError) || error.status === undefined) return { code: 'unreachable', again: true };
  const { status } = error;
  if (status === 429) return { code: 'rate_limited', again: true, ...retryAfter(error.headers) };
  if (status >= 500 || status === 408 || status === 409)
    return { code: 'upstream_error', again: true, ...retryAfter(error.headers) };
  return { code: 'refused', again: false, ...(OF_INPUT.has(status) ? { isOfInput: true } : {}) };
}

/** RFC 9110 §10.2.3. Only the form in seconds is read. */
function retryAfter(headers: Headers | undefined): { afterMs?: number } {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { afterMs: seconds * 1_000 } : {};
}
