/**
 * The codes of Precis's own errors. The file imports nothing, since the reference shares it with
 * requests.
 */

interface ErrorFacts {
  /** Of HTTP. */
  readonly status: number;
  /** OpenAI's (https://platform.openai.com/docs/guides/error-codes). */
  readonly type: string;
  readonly when: string;
}

const error = (status: number, type: string, when: string): ErrorFacts => ({ status, type, when });
const invalid = (status: number, when: string) => error(status, 'invalid_request_error', when);
const failed = (status: number, when: string) => error(status, 'server_error', when);

export const ERRORS = {
  invalid_json: invalid(
    400,
    'The body is not a JSON object, breaks off, has a duplicate top-level field, one that is nested over 500 levels deep, or over 300,000 values; in mode `none` only where Precis must read it.',
  ),
  invalid_value: invalid(400, 'A field, parameter or header of Precis has the wrong form.'),
  invalid_memory_strategy: invalid(
    400,
    'A strategy, `memory_injection`, `memory_blocks`, `memory_summary` or `memory_report` is not valid.',
  ),
  invalid_messages: invalid(400, '`messages` or `input` is missing or empty, where the mode is not `none`.'),
  // Anthropic's, by which its clients know what to do.
  thread_unsupported_request: invalid(
    400,
    'A [message thread](messages-api.md#message-threads) where the strategy edits views, or where callers share an account; clients then send the whole conversation.',
  ),
  body_too_large: invalid(
    413,
    'The body is over its [limit](operating.md#limits). The message says how to make it smaller.',
  ),
  unsupported_media_type: invalid(415, "The body's charset is not UTF-8, or its encoding is not supported."),
  invalid_ref: invalid(400, 'The ref has the wrong form.'),
  invalid_backup: invalid(
    400,
    'A record of a [backup](operating.md#backup-and-restore) was changed, is out of order, or comes from another secret or a later version.',
  ),
  ref_not_found: invalid(404, 'Nothing is stored under this ref and this key.'),
  unknown_agent: invalid(404, 'No agent has this name.'),
  invalid_api_key: error(
    401,
    'authentication_error',
    "There is no key, or it is not one of the deployment's, the upstream refuses it, or it is too short for the request.",
  ),
  session_ended: error(
    401,
    'authentication_error',
    'A [sign-in](inspector.md#signing-in) of the inspector is over, or opens no such route.',
  ),
  forbidden_origin: error(
    403,
    'permission_error',
    'In a deployment with `LOCAL_TENANT`: a request under a host name that is not local, or from a page of another origin. A [sign-in](inspector.md#signing-in) that such a page asks for.',
  ),
  memory_budget_exceeded: invalid(
    400,
    'With `overflow_policy: "error"`: memory and verbatim messages exceed their budget. The message says whether a memory that lets the request pass is being made.',
  ),
  invalid_encrypted_content: invalid(
    400,
    'A compaction item is damaged, belongs to another caller, or was made by the other API.',
  ),
  conversation_not_found: invalid(404, "Nothing is stored for this conversation, or in this user's memory."),
  request_not_found: invalid(404, 'The conversation has no event of this request, or no longer keeps it.'),
  block_not_found: invalid(404, 'There is no memory block with this label, or not in this version.'),
  // Not 409, which clients try again by themselves.
  block_changed: invalid(412, 'The memory block has a different version than the change expects.'),
  too_many_blocks: invalid(400, 'This key already has 100 memory blocks.'),
  not_forwarded: invalid(
    404,
    'No such route. With `ACCESS_KEYS`: a route, or (as a 400) a field, that could reach data stored in the shared account.',
  ),
  method_not_allowed: invalid(405, 'The route takes other methods (`allow` names them).'),
  upstream_refused: error(
    403,
    'permission_error',
    "With `ACCESS_KEYS`: the upstream refuses the deployment's account, by this status, 401 or 402.",
  ),
  rate_limit_exceeded: error(
    429,
    'rate_limit_error',
    "With `ACCESS_KEYS`: the account's rate limit is reached; `retry-after` says when to try again.",
  ),
  rate_limited: error(
    429,
    'rate_limit_error',
    "The caller's own [limit per minute](operating.md#budgets-and-limits) is reached; `retry-after` says for how long.",
  ),
  budget_exceeded: error(
    429,
    'insufficient_quota',
    "The caller's [budget](operating.md#budgets-and-limits) for the day or the month is spent; `retry-after` says until when.",
  ),
  model_not_allowed: error(
    403,
    'permission_error',
    "The caller's [limits](operating.md#budgets-and-limits) do not allow the model, or the caller has a budget in dollars and the model no known price.",
  ),
  caller_disabled: error(403, 'permission_error', "The deployment's operator has disabled this key."),
  caller_not_found: invalid(404, 'For the operator: no [caller](operating.md#callers) has this name.'),
  upstream_unreachable: failed(
    502,
    "The upstream can't be reached, its connection broke, or it answered with a redirect, which is not followed.",
  ),
  upstream_timeout: failed(504, 'The upstream did not answer in time.'),
  answer_too_large: failed(
    502,
    "An answer over 16 MiB that must be read completely, since it may call Precis's tools.",
  ),
  overloaded: failed(
    503,
    'Too many large bodies are being read at once; `retry-after` says when to try again.',
  ),
  store_failed: failed(503, 'Storage did not answer within ten seconds. The request can be sent again.'),
  key_not_checked: failed(
    503,
    'Whether the key is accepted is not known, since the upstream or the register of callers has not said. The request can be sent again.',
  ),
  misconfigured: failed(
    500,
    'A variable of the deployment is missing or invalid; the message names it, without its value.',
  ),
  internal_error: failed(500, 'A bug in Precis; the log says where.'),
} as const satisfies Readonly<Record<string, ErrorFacts>>;

export type ErrorCode = keyof typeof ERRORS;
