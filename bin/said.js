/** What the commands share. */
import { readFileSync } from 'node:fs';

/** The version of this package. */
export function version() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

/** There the programs of npm are scripts of a shell, which reads arguments as commands. */
export const NO_WINDOWS = 'This needs Linux or macOS; on Windows run it in WSL.';

/** Says what is wrong, and ends. Never says a value of the environment. */
export function fail(message) {
  console.error(message);
  process.exit(2);
}

/** Why `fetch` got no answer: a code such as ECONNREFUSED, or its words. */
export function causeOf({ cause, name }) {
  return cause?.code ?? cause?.message ?? name;
}

/**
 * A deployment's address without `/v1`, as `baseURL` has it. Without a scheme it is http on this
 * machine, and https elsewhere.
 */
export function addressOf(url) {
  const scheme = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i.test(url) ? 'http' : 'https';
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `${scheme}://${url}`;
  if (/^[^/]*\/\/[^/?#]*@/.test(whole))
    fail('The address of a deployment has no user and no password: leave them out of --url or PRECIS_URL.');
  if (!/^https?:/i.test(whole) || !URL.canParse(whole))
    fail(`${url} is not the address of a deployment, such as https://precis.example.com.`);
  return whole.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * What a server has said, as it may be printed: its text could move the cursor, color or hide what
 * is beside it, or look like lines of this program.
 */
export function printable(value) {
  if (typeof value === 'string') return value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  if (Array.isArray(value)) return value.map(printable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, printable(inner)]));
}

/**
 * Whether an answer without a key comes from a Precis, which asks for one or needs none. Another
 * server might keep the key.
 */
export function takesKeys(status, json) {
  const { code, message } = json?.error ?? {};
  if (status === 200) return json?.object === 'memory.deployment';
  return status === 401 && code === 'invalid_api_key' && PRECIS_ASKS.test(message);
}

/** Of callers with keys of their own, and of those with access keys. */
const PRECIS_ASKS = /^This needs the API key under which|: it is not one of this deployment\.$/;

/**
 * Whether an answer without a token comes from an operator's route. An older Precis, or another
 * server, might pass the token on.
 */
export function asksForToken(status, json) {
  const { code, message } = json?.error ?? {};
  return status === 401 && code === 'invalid_api_key' && /\bADMIN_TOKEN\b/.test(message);
}
