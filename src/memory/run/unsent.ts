/** Whether a request that has failed was sent to the upstream. */
import type { RunEvent } from './event.ts';

/** What Precis answers when it has asked the upstream, or may have. */
const AFTER_SENDING: readonly string[] = [
  'upstream_unreachable',
  'upstream_timeout',
  'answer_too_large',
  'internal_error',
];

/**
 * Whether Precis has refused a request before anything was sent. The error of one that was only
 * observed is about its plan.
 */
export function isUnsent({
  status,
  error,
  observed,
}: Pick<RunEvent, 'status' | 'error' | 'observed'>): boolean {
  return !observed && status >= 400 && error !== null && !AFTER_SENDING.includes(error);
}
