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
    when: 'The body is not a JSON object, or not one that can be read.',
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
    when: 'A message thread where a strategy edits views, or where callers share an account; clients then send the whole conversation.',
  },
  body_too_large: { status: 413, type: 'invalid_request_error', when: 'The body is over its limit.' },
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
    when: 'A record of a backup was changed, is out of its place, or is of another secret or a later version.',
  },
  ref_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'Nothing is stored under this ref and this key.',
  },
  unknown_agent: { status: 404, type: 'invalid_request_error', when: 'There is no agent of this name.' },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    when: 'No key, or one that is not accepted or too short for the request.',
  },
  forbidden_origin: {
    status: 403,
    type: 'permission_error',
    when: 'With `LOCAL_TENANT`: a request to a host that is not local, or of a page of another origin.',
  },
  memory_budget_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    when: 'With `overflow_policy: "error"`: memory and verbatim messages exceed their budget.',
  },
  invalid_encrypted_content: {
    status: 400,
    type: 'invalid_request_error',
    when: "A compaction item is damaged, another caller's, or was made by the other API.",
  },
  conversation_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: "Nothing is stored of this conversation, or in this user's memory.",
  },
  request_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'The event of this request is not kept.',
  },
  block_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'There is no memory block of this label, or not in this version.',
  },
  // Not 409, which clients try again by themselves.
  block_changed: {
    status: 412,
    type: 'invalid_request_error',
    when: 'The memory block has another version than the change expects.',
  },
  too_many_blocks: {
    status: 400,
    type: 'invalid_request_error',
    when: 'There are 100 memory blocks under this key.',
  },
  not_forwarded: {
    status: 404,
    type: 'invalid_request_error',
    when: 'No such route, or one that is closed in this deployment.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    when: 'The route takes other methods (`allow` names them).',
  },
  upstream_refused: {
    status: 403,
    type: 'permission_error',
    when: "With access keys: the upstream refuses the deployment's account.",
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    when: "With access keys: the account's rate limit is reached.",
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    when: "The caller's own limit by the minute is reached (`retry-after` says for how long).",
  },
  budget_exceeded: {
    status: 429,
    type: 'insufficient_quota',
    when: "The caller's budget for the day or the month is spent (`retry-after` says until when).",
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    when: "The caller's limits don't allow the model, or it has a budget in dollars and the model no known price.",
  },
  caller_disabled: {
    status: 403,
    type: 'permission_error',
    when: 'The operator has disabled the caller.',
  },
  caller_not_found: {
    status: 404,
    type: 'invalid_request_error',
    when: 'For the operator: there is no caller of this name.',
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
    when: "An answer that must be read, since it may call Precis' tools, is over 16 MiB.",
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    when: 'Too many large bodies are being read at once (`retry-after` says when to try again).',
  },
  store_failed: {
    status: 503,
    type: 'server_error',
    when: 'Storage did not answer in time. The request can be sent again.',
  },
  key_not_checked: {
    status: 503,
    type: 'server_error',
    when: 'Whether the key is accepted could not be checked. The request can be sent again.',
  },
  misconfigured: {
    status: 500,
    type: 'server_error',
    when: 'A variable of the deployment is missing or invalid.',
  },
  internal_error: { status: 500, type: 'server_error', when: 'A bug in Precis.' },
} as const satisfies Readonly<Record<string, ErrorFacts>>;

export type ErrorCode = keyof typeof ERRORS;
