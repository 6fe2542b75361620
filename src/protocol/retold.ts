/** Errors in the events of a stream, in other words than the upstream's. */

import { asObject, parseJson } from '../lib/json.ts';
import type { Retell } from './answer-format.ts';

/** What only looks like an error is read. */
const ERROR = /"error"\s*:\s*["{]|"type"\s*:\s*"error"/;

/**
 * An event in whose error the upstream's words are replaced; undefined where it stays.
 *
 * @param data of the event
 */
export function retold(data: string, retell: Retell | undefined): string | undefined {
  if (!retell || !ERROR.test(data)) return undefined;
  const event = asObject(parseJson(data));
  const response = asObject(event.response);
  const within = event.error ?? response.error;
  const isFlat = within === undefined || within === null;
  if (isFlat && event.type !== 'error') return undefined;
  const fault = retell(isFlat ? event : typeof within === 'string' ? { message: within } : asObject(within));
  if (!fault) return undefined;
  const { code, message, param } = fault;
  if (isFlat) return JSON.stringify({ ...event, code, message, param });
  if (event.error) return JSON.stringify({ ...event, error: fault });
  return JSON.stringify({ ...event, response: { ...response, error: { code, message } } });
}
