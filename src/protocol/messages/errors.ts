/** Errors in the shape of Anthropic's API (https://platform.claude.com/docs/en/api/errors). */
import type { AnswerFault } from '../answers/answer-format.ts';

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
export function detailsOf(code: string | null): { readonly details?: { readonly error_code: string } } {
  return code !== null && DETAILED.has(code) ? { details: { error_code: code } } : {};
}

/** The status of an error by its type, for one that has come without. */
export function statusOf(type: unknown): number {
  const found = Object.entries(TYPES).find(([, known]) => known === type)?.[0];
  return found === undefined ? (type === 'invalid_request_error' ? 400 : 500) : Number(found);
}

/** The type of an error by its status. */
export function errorType(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/**
 * An error of Precis as Anthropic's API has them.
 *
 * @param status of HTTP
 * @param requestId absent in streams, whose headers have it
 */
export function messagesError(
  { message, code, param }: AnswerFault,
  status: number,
  requestId?: string,
): MessagesError {
  return {
    type: 'error',
    error: {
      type: errorType(status),
      message,
      code,
      param,
      ...detailsOf(code),
    },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}
