/** Upstream bodies that are passed on unread. */

import { errorFields } from '../../log.ts';
import type { AnswerEnd } from '../../memory/run/event.ts';
import { brokenAnswer } from '../../request/errors.ts';
import type { RequestScope } from '../../request/scope.ts';
import type { Services } from '../../request/services.ts';
import { type BodyRelay, relayBody, relayEarly } from '../../upstream/body.ts';
import type { UpstreamAnswer } from '../../upstream/fetch.ts';
import { isDecoded, isEventStream, responseWith } from '../../upstream/request.ts';

/** The time limits of a body. One that breaks off is logged. @param ended see `BodyRelay` */
export function bodyRelay(
  { config, log }: Pick<Services, 'config' | 'log'>,
  ended?: (how: AnswerEnd) => void,
): BodyRelay {
  return {
    ...(ended ? { ended } : {}),
    idleMs: config.idleTimeoutMs,
    broken: (code) => log('warn', 'an answer has broken off', { code }),
    died: (error) => {
      const fields = { code: 'upstream_unreachable', ...errorFields(error) };
      log('warn', 'the connection to the upstream broke off', fields);
    },
  };
}

/**
 * The body of an answer, byte for byte. An event stream is passed on at once, since its first event
 * may take long; for any other body this waits for the first byte.
 *
 * @param ended called when a stream that this returns has ended
 * @throws ApiError if no byte comes: `upstream_timeout` or `upstream_unreachable`
 */
export async function unreadBody(
  answer: UpstreamAnswer,
  services: Pick<Services, 'config' | 'log'>,
  ended?: (how: AnswerEnd) => void,
): Promise<ReadableStream<Uint8Array> | Uint8Array | null> {
  const relay = bodyRelay(services, ended);
  if (isEventStream(answer.response)) return relayEarly(answer, relay);
  const length = lengthIn(answer.response.headers);
  const body = await relayBody(answer, relay, length);
  if (typeof body === 'string') throw brokenAnswer(body);
  return body instanceof ReadableStream && length !== undefined ? withLength(body, length) : body;
}

/** The length of a body, if the upstream states it and the runtime does not decode the body. */
function lengthIn(headers: Headers): number | undefined {
  const length = headers.get('content-length');
  if (length === null || (headers.has('content-encoding') && isDecoded(headers))) return undefined;
  return Number(length);
}

/** The runtime sends `content-length` only with a stream of known length. */
function withLength(body: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(length);
  // Errors propagate to `readable`, and are logged by the relay.
  body.pipeTo(writable).catch(() => undefined);
  return readable;
}

/**
 * Passes on an answer that Precis does not look into.
 *
 * @throws ApiError as `unreadBody`
 */
export async function unread(
  answer: UpstreamAnswer,
  { services, caller, spending }: RequestScope,
): Promise<Response> {
  const body = await unreadBody(answer, services);
  const response = responseWith(body, answer.response, caller.account);
  spending?.setHeaders(response.headers);
  return response;
}
