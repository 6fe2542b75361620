/** What the commands share. */

/** Says what is wrong, and ends. Never says a value of the environment. */
export function fail(message) {
  console.error(message);
  process.exit(2);
}

/** A deployment's address without `/v1`, as `baseURL` has it. */
export function addressOf(url) {
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * Whether an answer without a token is that of an operator's route. An older Precis, or another
 * server, might pass the token on.
 */
export function asksForToken(status, json) {
  const { code, message } = json?.error ?? {};
  return status === 401 && code === 'invalid_api_key' && /\bADMIN_TOKEN\b/.test(message);
}
