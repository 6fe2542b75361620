/**
 * Which headers and parameters of a request may say who asks, beside the key by which Precis knows
 * its caller. No list of all gateways can be complete, so names are judged by their words, and a
 * harmless one that is taken for a key costs a question to the upstream.
 */
import { partOfSearch } from '../lib/request-url.ts';
import type { UpstreamApi } from './api.ts';

/** Words for keys, and the headers of gateways that hold or choose one without saying so. */
const KEY =
  /auth|token|secret|cookie|credential|jwt|pass|pwd|cert|sign|assertion|identity|login|licen[cs]e|ticket|macaroon|dpop|(?:^|[-_])vk$|^x-portkey-(?:config|virtual)|(?<!^idempotency-|cache-)key/;

/** Words for accounts and for versions, and all headers of the APIs and gateways that have them. */
const ACCOUNT =
  /account|tenant|org|project|workspace|version|beta|^(?:openai|anthropic|helicone|x-portkey|cf-aig|x-goog|x-amz)-/;

/** A key that says how it is to be read. */
const WITH_SCHEME = /^(?:bearer|basic|token) +\S/i;

/** Parameters that choose among versions of an API. */
const HARMLESS_PARAMETERS = ['api-version', 'beta'];

/** Whether a header may hold a key, or choose an account or a version. */
export function identifies(name: string): boolean {
  return KEY.test(name) || ACCOUNT.test(name);
}

/**
 * The headers of a request, as they are sent upstream, that may hold a key beside the one of
 * `keyIn`.
 */
export function otherKeys(headers: Headers, api: UpstreamApi): string[] {
  const key = api.keyIn(headers);
  const isOther = (name: string, value: string): boolean => {
    if (value.trim() === '' || value.trim() === key) return false;
    if (api.accountHeaders.includes(name)) return name === 'x-api-key';
    return KEY.test(name) || WITH_SCHEME.test(value);
  };
  return [...headers].filter(([name, value]) => isOther(name, value)).map(([name]) => name);
}

/** Whether a client may add a parameter to all its requests, for an upstream or a gateway. */
export function isForEach(parameter: string): boolean {
  return HARMLESS_PARAMETERS.includes(parameter) || KEY.test(parameter);
}

/** A query without what may hold a key. @param search with its `?`, or empty */
export function withoutKeys(search: string): string {
  return partOfSearch(search, (name) => HARMLESS_PARAMETERS.includes(name));
}
