/**
 * Streams whose servers state no type for them, as frameworks let them. Clients that have asked for
 * a stream read the body as one all the same, so it is recognized by its beginning.
 */
import { beginsAsEvents } from '../protocol/answers/sse.ts';
import type { RequestScope } from '../request/scope.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { openStream } from '../upstream/opening.ts';
import { isDecoded } from '../upstream/request.ts';
import type { CountedAnswer } from './ask-upstream.ts';

/** What frameworks state for a body to which nobody has given a type. */
const UNTYPED = /^(?:text\/plain|application\/octet-stream|) *(?:;|$)/i;

/** In characters: the name of a field has at most five. */
const ENOUGH = 8;

/** An answer to a request for a stream, with the type of one if it is one. */
export async function withStreamType(
  answer: CountedAnswer,
  { services: { config } }: Pick<RequestScope, 'services'>,
): Promise<CountedAnswer> {
  const { ok, body, status, headers: stated } = answer.response;
  const type = stated.get('content-type')?.trim() ?? '';
  if (!ok || !body || !UNTYPED.test(type) || !isDecoded(stated)) return answer;
  const decoder = new TextDecoder();
  let beginning = '';
  const push = (chunk: Uint8Array): boolean => {
    beginning += decoder.decode(chunk, { stream: true });
    return beginning.trim().length >= ENOUGH;
  };
  const limitMs = Math.min(TIME_LIMITS.streamBeginningMs, config.idleTimeoutMs);
  const opened = await openStream(answer, { push, end: () => undefined }, limitMs);
  if (!beginsAsEvents(beginning)) return { ...answer, ...opened };
  const headers = new Headers(stated);
  headers.set('content-type', 'text/event-stream; charset=utf-8');
  // Its chunks are read in place of its body.
  const response = new Response(new ReadableStream(), { status, headers });
  return { ...answer, ...opened, response };
}
