/**
 * Errors that come instead of an answer, or in the middle of one. OpenRouter puts a provider's
 * error beside `choices`, with the finish reason `error`; others send it alone.
 *
 * https://openrouter.ai/docs/api-reference/errors#mid-stream-error-handling
 */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject, asObjects, isObject } from '../../lib/json.ts';

const SIGN = '"error"';

/** Whether an answer may report an error: if not, its text and calls need not be read. */
export function mayHoldError(answer: string | Uint8Array): boolean {
  return typeof answer === 'string' ? answer.includes(SIGN) : bufferOf(answer).includes(SIGN);
}

export function holdsError(answer: unknown): boolean {
  const { error, object, type, choices } = asObject(answer);
  if (isError(error) || object === 'error' || type === 'error') return true;
  return asObjects(choices).some(
    ({ error: ofChoice, finish_reason }) => finish_reason === 'error' || isError(ofChoice),
  );
}

/** Some upstreams have an empty member in each answer. */
function isError(error: unknown): boolean {
  if (typeof error === 'string') return error !== '';
  return isObject(error) && Object.keys(error).length > 0;
}
