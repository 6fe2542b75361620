/** Requests that end with an error of Precis: each is reported to the log and the metrics. */
import { errorFields } from '../log.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import { ApiError, internalError } from './errors.ts';
import type { Services } from './services.ts';

/**
 * The error for the caller of a request that has failed.
 *
 * @param services undefined if the request failed before they were there
 */
export function reportedRefusal(
  error: unknown,
  services: Pick<Services, 'log' | 'metrics'> | undefined,
  waitUntil: WaitUntil,
): ApiError {
  if (!(error instanceof ApiError)) {
    const failure = internalError();
    const { code, requestId } = failure;
    const fields = { code, request_id: requestId, ...errorFields(error) };
    services?.log('error', 'a request has failed', fields);
    return failure;
  }
  const { code, status, requestId, cause } = error;
  const caught = cause === undefined ? {} : errorFields(cause, error);
  services?.log('info', 'a request was refused', { code, status, request_id: requestId, ...caught });
  services?.metrics.count('precis_refusals_total', { code });
  services?.metrics.sendLater(waitUntil);
  return error;
}
