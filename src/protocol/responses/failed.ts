/**
 * `response.failed`: an error as the end of a response
 * (https://platform.openai.com/docs/api-reference/responses-streaming/response/failed). Clients
 * decide by its code whether they shorten the conversation, try again, or show the message.
 */
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { StreamFault } from '../answers/answer-format.ts';
import { Frame } from '../answers/sse.ts';
import { FAILED_CODES, type FailedCode } from './failed-codes.ts';

export const FAILED = 'response.failed';

/** Types of errors that are the same however often a request is sent. */
const LASTING: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
]);

/** The code by which a client knows what to do. */
function codeOf({ code, type, status }: StreamFault): FailedCode {
  if (isKnown(code)) return code;
  // A shorter conversation is what helps against a body that is too large.
  if (status === 413) return 'context_length_exceeded';
  if (status === 429 || type === 'rate_limit_error') return 'rate_limit_exceeded';
  return LASTING.has(type) ? 'invalid_prompt' : 'server_error';
}

function isKnown(code: unknown): code is FailedCode {
  return typeof code === 'string' && Object.hasOwn(FAILED_CODES, code);
}

/** The members of `error`. `reason` is the error's own code, if clients know another one. */
function errorOf(fault: StreamFault): JsonObject {
  const { message, type, param, code: reason, status } = fault;
  const code = codeOf(fault);
  return {
    code,
    message,
    type,
    param,
    ...(reason === null || reason === code ? {} : { reason }),
    ...(status === undefined ? {} : { status }),
  };
}

/** A response of which nothing is known. Its answer was an error, so the API has stored none. */
const UNKNOWN: JsonObject = {
  id: 'resp_memory',
  object: 'response',
  created_at: 0,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: null,
  output: [],
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  usage: null,
};

/**
 * The events that end a stream with an error.
 *
 * @param opened the response as the caller has seen it begin; undefined if it has not, and then it
 *   begins here, since clients refuse a stream that begins otherwise
 * @param number of the first event
 */
export function failedFrames(fault: StreamFault, opened: unknown, number: number): Frame[] {
  const begun = opened === undefined ? UNKNOWN : asObject(opened);
  const response = { ...begun, status: 'failed', error: errorOf(fault) };
  const created: [type: string, response: JsonObject][] =
    opened === undefined ? [['response.created', begun]] : [];
  return [...created, [FAILED, response] as const].map(([type, of], index) =>
    Frame.of(JSON.stringify({ type, sequence_number: number + index, response: of }), type),
  );
}
