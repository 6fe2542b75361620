/** Rewords the upstream's errors in the events of a stream. */

import { asObject } from '../../lib/json.ts';
import type { Reword } from './answer-format.ts';
import type { Frame } from './sse.ts';

/** Data that matches is parsed to make sure. */
const ERROR = /"error"\s*:\s*["{]|"type"\s*:\s*"error"/;

/** The data of an event with its error reworded; undefined if the event stays as it is. */
export function reworded(frame: Frame, reword: Reword | undefined): string | undefined {
  if (!reword || !ERROR.test(frame.data ?? '')) return undefined;
  const event = asObject(frame.json);
  const response = asObject(event.response);
  const within = event.error ?? response.error;
  const isFlat = within === undefined || within === null;
  if (isFlat && event.type !== 'error') return undefined;
  const fault = reword(isFlat ? event : typeof within === 'string' ? { message: within } : asObject(within));
  if (!fault) return undefined;
  const { code, message, param } = fault;
  if (isFlat) return JSON.stringify({ ...event, code, message, param });
  if (event.error) return JSON.stringify({ ...event, error: fault });
  return JSON.stringify({ ...event, response: { ...response, error: { code, message } } });
}
