/**
 * The codes of `response.failed`: the API's (`ResponseError`), and the ones that Codex looks for
 * (codex-rs/codex-api/src/sse/responses.rs in openai/codex). It tries again after any other code.
 * The file imports nothing, since the reference shares it with requests.
 */

/** By code, what it is for. */
export const FAILED_CODES = {
  context_length_exceeded: "The conversation is too long, or the body exceeds Precis's limit.",
  rate_limit_exceeded: 'A rate limit, a budget or a limit per minute is reached.',
  insufficient_quota: "The upstream's, as in its 429.",
  invalid_prompt: 'Any other error that stays the same when the request is sent again.',
  usage_not_included: "The upstream's own.",
  bio_policy: "The upstream's own.",
  cyber_policy: "The upstream's own.",
  server_is_overloaded: "The upstream's own.",
  slow_down: "The upstream's own.",
  server_error: 'Everything else.',
} as const satisfies Readonly<Record<string, string>>;

export type FailedCode = keyof typeof FAILED_CODES;
