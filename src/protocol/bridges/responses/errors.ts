/** Errors of the Responses API in OpenAI's form, which is the form of chat. */
import { asObject, asString, type JsonObject } from '../../../lib/json.ts';
import type { AnswerFault } from '../../answers/answer-format.ts';
import { saidFault } from '../../answers/said-fault.ts';

/** Codes of a failed response by which the caller has to change its request. */
const LASTING = /^(?:invalid_|context_length_exceeded$|bio_policy$|cyber_policy$)|image/;

const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [429, 'rate_limit_error'],
]);

/**
 * The error of a response that has failed, or of an event, and the status of HTTP that it has in
 * chat.
 */
export function failure(said: JsonObject): { readonly fault: AnswerFault; readonly status: number } {
  const { type: event, sequence_number: _, ...fields } = said;
  const error = asObject(fields.error ?? (event === 'error' ? fields : {}));
  const code = asString(error.code);
  const isLimit = code === 'rate_limit_exceeded' || code === 'insufficient_quota';
  const status = isLimit ? 429 : LASTING.test(code) ? 400 : 500;
  const type = TYPES.get(status) ?? 'server_error';
  return { fault: saidFault({ error: { type, ...error } }), status };
}
