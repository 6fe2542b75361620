/**
 * The codes of Precis's own errors. The file imports nothing, since the reference shares it with
 * requests.
 */

interface ErrorFacts {
  /** Of HTTP. */
  readonly status: number;
  /** OpenAI's (https://platform.openai.com/docs/guides/error-codes). */
  readonly type: string;
  /** When it is answered. */
  readonly when: string;
}

export const ERRORS = {
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    when: 'The body is not a JSON object, has a duplicate top-level field, over 500 levels or over 300,000 values; in mode `none` only where Precis must read it.',
  },
  invalid_value: {
    status: 400,
    type: 'invalid_request_error',
    when: 'A field, parameter or header of Precis has the wrong form.',
  },
  invalid_memory_strategy: {
    status: 400,
    type: 'invalid_request_error',
    when: 'A strategy, `memory_injection`, `memory_blocks`, `memory_summary` or `memory_report` is not valid.',
  },
  invalid_messages: {
    status: 400,
    type: 'invalid_request_error',
    when: '`messages` or `input` is missing or empty.',
  },
  // Anthropic's, by which its clients know what to do.
  thread_unsupported_request: {
    status: 400,
    type: 'invalid_request_error',
    when: 'A [message thread](messages-api.md#message-threads) where the strategy edits views, or where callers share an account; clients then send the whole conversation.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    when: 'The body is over its [limit](operating.md#limits). The message says how to make it smaller.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    when: "The body's charset is not UTF-8, or its encoding is not supported.",
  },
  invalid_ref: {
    status: 400,
    type: 'invalid_request_error',
    when: 'The ref has the wrong form.',
  },
  invalid_backup: {
    status: 400,
    type: 'invalid_request_error',
    when: 'A record of a [backup](operating.md#backup-and-restore) was changed, is out of order, or comes from another secret or a later version.',
  },
  ref_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'Nothing is stored under this ref and this key.',
  },
  unknown_agent: { status: 404, type: 'invalid_request_error', when: 'No agent has this name.' },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    when: "There is no key, or it is not one of the deployment's, the upstream refuses it, or it is too short for the request.",
  },
  forbidden_origin: {
    status: 403,
    type: 'permission_error',
    when: 'In a deployment with `LOCAL_TENANT`: a request under a host name that is not local, or from a page of another origin.',
  },
  memory_budget_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    when: 'With `overflow_policy: "error"`: memory and verbatim messages exceed their budget. The message says whether a memory that lets the request pass is being made.',
  },
  invalid_encrypted_content: {
    status: 400,
    type: 'invalid_request_error',
    when: 'A compaction item is damaged, belongs to another caller, or was made by the other API.',
  },
  conversation_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: "Nothing is stored for this conversation, or in this user's memory.",
  },
  request_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'The conversation has no event of this request, or no longer.',
  },
  block_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'There is no memory block with this label, or not in this version.',
  },
  // Not 409, which clients try again by themselves.
  block_changed: {
    status: 412,
    type: 'invalid_request_error',
    when: 'The memory block has a different version than the change expects.',
  },
  too_many_blocks: {
    status: 400,
    type: 'invalid_request_error',
    when: 'This key already has 100 memory blocks.',
  },
  not_forwarded: {
    status: 404,
    type: 'invalid_request_error',
    when: 'No such route. With `ACCESS_KEYS`: a route, or (as a 400) a field, that could reach data stored in the shared account.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    when: 'The route takes other methods (`allow` names them).',
  },
  upstream_refused: {
    status: 403,
    type: 'permission_error',
    when: "With `ACCESS_KEYS`: the upstream refuses the deployment's account, by this status, 401 or 402.",
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    when: "With `ACCESS_KEYS`: the account's rate limit is reached; `retry-after` says when to try again.",
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    when: "The caller's own [limit per minute](operating.md#budgets-and-limits) is reached; `retry-after` says for how long.",
  },
  budget_exceeded: {
    status: 429,
    type: 'insufficient_quota',
    when: "The caller's [budget](operating.md#budgets-and-limits) for the day or the month is spent; `retry-after` says until when.",
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    when: "The caller's [limits](operating.md#budgets-and-limits) do not allow the model, or the caller has a budget in dollars and the model no known price.",
  },
  caller_disabled: {
    status: 403,
    type: 'permission_error',
    when: "The deployment's operator has disabled this key.",
  },
  caller_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'For the operator: no [caller](operating.md#callers) has this name.',
  },
  upstream_unreachable: {
    status: 502,
    type: 'server_error',
    when: "The upstream can't be reached, or the connection broke.",
  },
  upstream_timeout: { status: 504, type: 'server_error', when: 'The upstream did not answer in time.' },
  answer_too_large: {
    status: 502,
    type: 'server_error',
    when: "An answer over 16 MiB that must be read completely, since it may call Precis's tools.",
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    when: 'Too many large bodies are being read at once; `retry-after` says when to try again.',
  },
  store_failed: {
    status: 503,
    type: 'server_error',
    when: 'Storage did not answer within ten seconds. The request can be sent again.',
  },
  key_not_checked: {
    status: 503,
    type: 'server_error',
    when: 'Whether the key is accepted could not be checked, since the upstream or the register of callers did not answer. The request can be sent again.',
  },
  misconfigured: {
    status: 500,
    type: 'server_error',
    when: 'A variable of the deployment is missing or invalid; the message names it, without its value.',
  },
  internal_error: { status: 500, type: 'server_error', when: 'A bug in Precis; the log says where.' },
} as const satisfies Readonly<Record<string, ErrorFacts>>;

export type ErrorCode = keyof typeof ERRORS;
