/**
 * How streams treat their caller (docs/answers-and-errors.md#errors-in-streams): whether errors are
 * reported in them, and what keeps them alive.
 */
import { passesThrough } from '../memory/modes/strategy.ts';
import { quote } from '../memory/strategy/hint.ts';
import type { StreamForm } from '../protocol/answers/answer-format.ts';
import type { Protocol } from '../protocol/protocol.ts';
import type { Call } from './call.ts';
import { ApiError } from './errors.ts';

type ErrorPlace = 'events' | 'http';

const STREAM_ERRORS = 'x-memory-stream-errors';

/**
 * Where the header wants errors; undefined without it.
 *
 * @throws ApiError `invalid_memory_strategy` for any other word
 */
export function errorPlaceIn(headers: Headers): ErrorPlace | undefined {
  const value = headers.get(STREAM_ERRORS)?.trim().toLowerCase() ?? '';
  // A client that sends a variable which is not set sends an empty header.
  if (value === '') return undefined;
  if (value === 'events' || value === 'http') return value;
  throw new ApiError(
    'invalid_memory_strategy',
    `The header ${STREAM_ERRORS} must be events or http; this one is ${quote(value)}.`,
    STREAM_ERRORS,
  );
}

/** Whether errors are reported in streams. @throws ApiError for an invalid header */
export function findsErrorsInStreams(headers: Headers, protocol: Protocol): boolean {
  const asked = errorPlaceIn(headers);
  return asked === undefined ? protocol === 'responses' && isCodex(headers) : asked === 'events';
}

/** @throws ApiError for an invalid header */
export function streamFormOf({ chosen, scope: { headers } }: Call, protocol: Protocol): StreamForm {
  if (protocol !== 'responses' || passesThrough(chosen.strategy)) return {};
  return {
    failsAsAnswer: findsErrorsInStreams(headers, protocol),
    livesBy: isCodex(headers) ? 'events' : 'events_before_content',
  };
}

/**
 * Codex names itself in both headers, by the program that runs it: `codex_cli_rs`, `codex-tui`,
 * `codex_exec`, `codex_vscode`, `codex_sdk_ts`, `Codex Desktop`. In the user agent, a slash and the
 * version follow (codex-rs/login/src/auth/default_client.rs in openai/codex).
 */
const CODEX = /^codex(?:[ _-]|\/|$)/i;

function isCodex(headers: Headers): boolean {
  return ['originator', 'user-agent'].some((name) => CODEX.test(headers.get(name) ?? ''));
}
