/** What the commands share. */
import { readFileSync } from 'node:fs';

/** The version of this package. */
export function version() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

/** Says what is wrong, and ends. Never says a value of the environment. */
export function fail(message) {
  console.error(message);
  process.exit(2);
}

/**
 * A deployment's address without `/v1`, as `baseURL` has it. Without a scheme it is http on this
 * machine, and https elsewhere.
 */
export function addressOf(url) {
  const scheme = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i.test(url) ? 'http' : 'https';
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `${scheme}://${url}`;
  if (!/^https?:/i.test(whole) || !URL.canParse(whole))
    fail(`${url} is no address of a deployment: it is like https://precis.example.com.`);
  return whole.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * Whether an answer without a token is that of an operator's route. An older Precis, or another
 * server, might pass the token on.
 */
export function asksForToken(status, json) {
  const { code, message } = json?.error ?? {};
  return status === 401 && code === 'invalid_api_key' && /\bADMIN_TOKEN\b/.test(message);
}
