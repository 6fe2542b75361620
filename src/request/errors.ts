/**
 * Errors made by Precis, in the format of the API that the caller speaks, so that clients' error
 * handling works (docs/answers-and-errors.md#errors).
 */
import type { AnswerFault } from '../protocol/answers/answer-format.ts';
import { messagesError } from '../protocol/messages/errors.ts';
import { OPENAI } from '../upstream/api.ts';
import { LONGEST_ANSWER } from '../upstream/body.ts';
import type { UpstreamFault } from '../upstream/fetch.ts';
import { ERRORS, type ErrorCode } from './error-codes.ts';

export type { ErrorCode } from './error-codes.ts';

/** An error that answers a request. Callers see the message, so it never holds a secret. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly param: string | null;
  /** Of HTTP. */
  readonly status: number;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  private id: string | undefined;

  /** @param param the field, header or query parameter at fault; null if there is none */
  constructor(
    code: ErrorCode,
    message: string,
    param: string | null = null,
    status: number = ERRORS[code].status,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.code = code;
    this.param = param;
    this.status = status;
    this.headers = headers;
  }

  /** Names the answer for its caller, and its line in the log. */
  get requestId(): string {
    this.id ??= `req_${crypto.randomUUID().replaceAll('-', '')}`;
    return this.id;
  }

  /** As in a response's body, or in an event of a stream. */
  toBody(): { readonly error: AnswerFault } {
    const { message, param, code } = this;
    return { error: { message, type: ERRORS[code].type, param, code } };
  }

  /**
   * @param api the one that the caller speaks
   * @param requestId the upstream's, if it has answered
   */
  toResponse(more: Record<string, string> = {}, api = OPENAI, requestId = this.requestId): Response {
    const { status } = this;
    const isOpenAi = api.name === 'openai';
    const id = { [isOpenAi ? 'x-request-id' : 'request-id']: requestId };
    const body = isOpenAi ? this.toBody() : messagesError(this.toBody().error, status, requestId);
    return Response.json(body, { status, headers: { ...id, ...this.headers, ...more } });
  }
}

/** The caller's error for a value that can't be. @param param see `ApiError` */
export function invalid(param: string | null | undefined, message: string): ApiError {
  return new ApiError('invalid_value', message, param ?? null);
}

/** The caller's error for a bug in our code. Log the bug where it is caught. */
export function internalError(): ApiError {
  return new ApiError('internal_error', 'Precis failed on this request.');
}

/** An answer that must be read, since it may call our tools, is too long. */
export function answerTooLarge(): ApiError {
  return new ApiError('answer_too_large', `The upstream's answer has more than ${LONGEST_ANSWER} bytes.`);
}

/**
 * An upstream that has not answered.
 *
 * @param host of the upstream, unless callers must not know it
 * @param why of `unreachedBy`
 */
export function upstreamError(fault: UpstreamFault, host: string | undefined, why: string): ApiError {
  const upstream = host === undefined ? 'The upstream' : `The upstream ${host}`;
  return fault === 'upstream_timeout'
    ? new ApiError(fault, `${upstream} did not answer in time.`)
    : new ApiError(fault, `${upstream} could not be reached: ${why}.`);
}

/** An answer that ended before all of it had come. */
export function brokenAnswer(fault: UpstreamFault): ApiError {
  return fault === 'upstream_timeout'
    ? new ApiError(fault, 'The upstream stopped in the middle of its answer.')
    : new ApiError(fault, 'The connection to the upstream broke off in the middle of its answer.');
}

/** Codes and types with which upstreams limit or refuse an account. */
const LIMITS = /rate.?limit|quota|billing|insufficient|usage.?limit|too.?many.?requests|credit/i;
const REFUSALS = /authenti|authori[sz]|api.?key|permission|account|organi[sz]ation|forbidden/i;

/** An account's id or key. */
const ACCOUNT = /\b(?:org|proj|user)[-_]\w{4}|\bsk-\w/;

/** Like `accountError`, for an error inside an answer, which may hold its status as a field. */
export function accountErrorIn(error: Readonly<Record<string, unknown>>): ApiError | undefined {
  const { code, type, status } = error;
  const message = `${error.message ?? ''}`;
  const words = `${code} ${type} ${ACCOUNT.test(message) ? message : ''}`;
  if (LIMITS.test(words)) return accountError(429);
  if (REFUSALS.test(words) || ACCOUNT.test(message)) return accountError(403);
  return accountError(Number([status, code].find((value) => typeof value === 'number')));
}

/**
 * The error for callers of a shared account when the upstream refuses that account; undefined for
 * any other status.
 */
export function accountError(status: number): ApiError | undefined {
  if (status === 429)
    return new ApiError(
      'rate_limit_exceeded',
      'The upstream accepts no more requests from this deployment for now; try again later.',
    );
  if (status !== 401 && status !== 402 && status !== 403) return undefined;
  return new ApiError(
    'upstream_refused',
    "The upstream refused this request to this deployment's account. The caller's key is not the cause.",
    null,
    status,
  );
}
