/** An error instead of an answer, as Anthropic's API has it in a stream. */
import { asObject } from '../../lib/json.ts';
import type { AnswerFault, StreamFault } from '../answers/answer-format.ts';
import { eventFrame } from '../answers/sse.ts';
import { detailsOf, errorType } from './errors.ts';

/** Types of errors that the two APIs name differently. Upstreams' own stay as they are. */
const TYPES: ReadonlyMap<string, string> = new Map([['server_error', 'api_error']]);

/** The codes of a time limit. */
const TIMEOUT = 'upstream_timeout';

/** The error with the type that clients of Messages know. All else stays. */
export function asMessagesFault({ status, ...fault }: StreamFault): AnswerFault {
  return { ...fault, type: typeOf(fault, status) };
}

function typeOf({ type, code }: AnswerFault, status: number | undefined): string {
  if (status !== undefined) return errorType(status);
  return code === TIMEOUT ? errorType(504) : (TYPES.get(type) ?? type);
}

/** The event that ends a stream with an error. The headers of the stream have the request's id. */
export function failedEvent(fault: StreamFault): Uint8Array {
  const error = { ...asMessagesFault(fault), ...detailsOf(fault.code) };
  return eventFrame('error', JSON.stringify({ type: 'error', error }));
}

/** The error that an event reports; undefined for any other event. Some gateways name no type. */
export function errorIn(event: unknown): unknown {
  const { type, error } = asObject(event);
  return type === 'error' || type === undefined ? (error ?? undefined) : undefined;
}
