/** Errors in the shape of Anthropic's API (https://platform.claude.com/docs/en/api/errors). */
import { asObject } from '../../lib/json.ts';
import type { AnswerFault, StreamFault } from '../answers/answer-format.ts';
import { eventFrame } from '../answers/sse.ts';

interface MessagesError {
  readonly type: 'error';
  /** With `code` and `param`, which distinguish Precis's own errors. */
  readonly error: {
    readonly type: string;
    readonly message: string;
    readonly details?: { readonly error_code: string };
  } & Partial<AnswerFault>;
  readonly request_id?: string;
}

/** Types by status. Any other below 500 is about the request, any other one is the API's. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Codes of the API's own, which its clients look for in the details. */
const DETAILED: ReadonlySet<string> = new Set(['thread_unsupported_request']);

/** The details of an error, by its code. */
function detailsOf(code: string | null): { readonly details?: { readonly error_code: string } } {
  return code !== null && DETAILED.has(code) ? { details: { error_code: code } } : {};
}

/** The status of an error by its type, for one that has come without. */
export function statusOf(type: unknown): number {
  const found = Object.entries(TYPES).find(([, known]) => known === type)?.[0];
  return found === undefined ? (type === 'invalid_request_error' ? 400 : 500) : Number(found);
}

function errorType(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/**
 * An error of Precis as Anthropic's API has them.
 *
 * @param requestId absent in streams, whose headers have it
 */
export function messagesError(
  { message, code, param }: AnswerFault,
  status: number,
  requestId?: string,
): MessagesError {
  return {
    type: 'error',
    error: { type: errorType(status), message, code, param, ...detailsOf(code) },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}

/** The error of a stream with the type that clients of Messages know. All else stays. */
export function asMessagesFault({ status, ...fault }: StreamFault): AnswerFault {
  return { ...fault, type: typeOf(fault, status) };
}

/** Types of upstreams' errors stay, but for the one that the two APIs name differently. */
function typeOf({ type, code }: AnswerFault, status: number | undefined): string {
  if (status !== undefined) return errorType(status);
  if (code === 'upstream_timeout') return errorType(504);
  return type === 'server_error' ? 'api_error' : type;
}

/** The event that ends a stream with an error. The headers of the stream have the request's id. */
export function failedEvent(fault: StreamFault): Uint8Array {
  const error = { ...asMessagesFault(fault), ...detailsOf(fault.code) };
  return eventFrame('error', JSON.stringify({ type: 'error', error }));
}

/** The error that an event reports; undefined for any other event. Some gateways name no type. */
export function errorIn(event: unknown): unknown {
  const { type, error } = asObject(event);
  if (type === 'error') return error ?? event;
  return type === undefined ? (error ?? undefined) : undefined;
}
