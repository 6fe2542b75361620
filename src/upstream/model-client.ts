/**
 * Calls that Precis itself makes to an OpenAI-compatible model, with the `openai` package: the
 * summarizer's and the embeddings'.
 */
import OpenAI, { APIError } from 'openai';
import type { Result } from '../lib/result.ts';
import { bounded } from './body.ts';
import type { CallEnd, CallGuard, GuardedCall } from './call-guard.ts';
import { mayBeTooLong, readNoRoom, type TooLong } from './too-long.ts';

/** A model's server, and what opens it. Never stored or logged. */
export interface ModelServer {
  readonly baseUrl: string;
  /** The deployer's. Absent where the headers are the caller's, which hold its key, if any. */
  readonly apiKey?: string;
  /** In lower case. They replace the package's. */
  readonly headers: Readonly<Record<string, string>>;
  /** The query of each call, with its `?`, beside the query of the base URL. */
  readonly search?: string;
}

interface CallLimits {
  /** Including the body, in milliseconds. */
  readonly timeoutMs: number;
  /** Of the answer, in decoded bytes. */
  readonly longestAnswer: number;
}

export interface ModelFault {
  /** `over_limit`: the limits of the caller have kept it from being sent. */
  readonly code: 'timeout' | 'unreachable' | 'rate_limited' | 'upstream_error' | 'refused' | 'over_limit';
  /** Whether the same call may succeed later. */
  readonly again: boolean;
  /** The pause that the server asks for, in milliseconds. */
  readonly afterMs?: number;
  /** Whether another input may be accepted. */
  readonly isOfInput?: true;
  /** Why: prompt and answer do not fit into the model's context. */
  readonly noRoom?: TooLong;
  /** The name of the caught error. */
  readonly cause?: string;
}

/** Statuses that refuse the input, and not the caller (RFC 9110 §15.5). */
const OF_INPUT = new Set([400, 413, 422]);

/** What one call costs, and before whose limits. */
export interface Toll<Answer> extends GuardedCall {
  readonly guard: CallGuard;
  /** What an answer says that it has cost. */
  endOf(answer: Answer): CallEnd;
}

/**
 * @param toll `free` for a call that no model answers, and for the deployer's own calls
 * @param call makes the call with this client, until the signal, and reads its answer
 */
export async function askModel<Answer>(
  server: ModelServer,
  limits: CallLimits,
  toll: Toll<Answer> | 'free',
  call: (client: OpenAI, signal: AbortSignal) => Promise<Answer>,
): Promise<Result<Answer, ModelFault>> {
  if (toll === 'free') return answered(server, limits, call);
  const ended = await toll.guard.admit(toll);
  if (!ended) return { ok: false, reason: { code: 'over_limit', again: false } };
  const answer = await answered(server, limits, call);
  if (answer.ok) await ended(toll.endOf(answer.value));
  // The model may have worked until the time was up.
  else await ended(answer.reason.code === 'timeout' ? 'unknown' : 'nothing');
  return answer;
}

async function answered<Answer>(
  server: ModelServer,
  { timeoutMs, longestAnswer }: CallLimits,
  call: (client: OpenAI, signal: AbortSignal) => Promise<Answer>,
): Promise<Result<Answer, ModelFault>> {
  // The package's own limit ends with the headers. The timer must be cleared, or it keeps a Durable
  // Object awake.
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  let noRoom: TooLong | undefined;
  const send: Send = async (input, init) => {
    const response = bounded(await fetch(input, { ...init, redirect: 'manual' }), longestAnswer);
    if (!mayBeTooLong(response.status)) return response;
    // The package keeps the words of such errors only where they are in OpenAI's own form.
    const words = await response.text();
    noRoom = readNoRoom(response.status, words);
    return new Response(words, response);
  };
  try {
    return { ok: true, value: await call(clientOf(server, send), limit.signal) };
  } catch (error) {
    const fault = limit.signal.aborted ? ({ code: 'timeout', again: true } as const) : faultOf(error, noRoom);
    return { ok: false, reason: { ...fault, cause: causeOf(error) } };
  } finally {
    clearTimeout(timer);
  }
}

type Send = (...request: Parameters<typeof fetch>) => Promise<Response>;

/** @param send without following redirects, which would send the key along */
function clientOf({ baseUrl, apiKey, headers, search = '' }: ModelServer, send: Send): OpenAI {
  const base = new URL(baseUrl);
  const query = [base.search.slice(1), search.slice(1)].filter((part) => part !== '').join('&');
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    baseURL: `${base.origin}${base.pathname}`,
    // The package must not read the deployment's environment variables.
    organization: null,
    project: null,
    defaultHeaders: { ...(apiKey === undefined ? { Authorization: null } : {}), ...headers },
    fetch: (input, init) => {
      const url = new URL(String(input));
      // The package would write a repeated parameter anew.
      url.search = query;
      return send(url, init);
    },
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

function faultOf(error: unknown, noRoom: TooLong | undefined): ModelFault {
  // Errors of the connection have no status.
  if (!(error instanceof APIError) || error.status === undefined) return { code: 'unreachable', again: true };
  const { status } = error;
  if (status === 429) return { code: 'rate_limited', again: true, ...retryAfter(error.headers) };
  if (status >= 500 || status === 408 || status === 409)
    return { code: 'upstream_error', again: true, ...retryAfter(error.headers) };
  return {
    code: 'refused',
    again: false,
    ...(OF_INPUT.has(status) ? { isOfInput: true } : {}),
    ...(noRoom ? { noRoom } : {}),
  };
}

/** RFC 9110 §10.2.3. Only the form in seconds is read. */
function retryAfter(headers: Headers | undefined): { afterMs?: number } {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { afterMs: seconds * 1_000 } : {};
}
