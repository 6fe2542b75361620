/** When to try again, in words that clients read: Codex takes the time from the message alone. */
import type { StreamFault } from '../protocol/answers/answer-format.ts';

/** As Codex looks for it (codex-rs/codex-api/src/sse/responses.rs in openai/codex). */
const READABLE = /try again in\s*\d+(?:\.\d+)?\s*(?:s|ms|seconds?)/i;

/** An error that says when to try again, if its answer's headers do. */
export function withRetryText(fault: StreamFault, headers: Headers): StreamFault {
  const seconds = READABLE.test(fault.message) ? undefined : secondsIn(headers);
  if (seconds === undefined) return fault;
  return { ...fault, message: `${fault.message} Please try again in ${seconds}s.` };
}

/** Seconds until the next try; undefined without a valid header. */
function secondsIn(headers: Headers): number | undefined {
  const ms = headers.get('retry-after-ms');
  const after = headers.get('retry-after');
  if (isNumber(ms)) return Number(ms) / 1000;
  if (after === null) return undefined;
  if (isNumber(after)) return Number(after);
  // A date (RFC 9110, section 10.2.3).
  const until = Date.parse(after) - Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil(until / 1000));
}

function isNumber(value: string | null): value is string {
  return /^\d+(?:\.\d+)?$/.test(value?.trim() ?? '');
}
