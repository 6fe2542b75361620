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
