/**
 * Tokens of the operator in a caller's request: in whichever header, parameter or form they came,
 * they would be sent upstream with it.
 */
import type { Config } from '../../config.ts';
import { urlOf } from '../../lib/request-url.ts';
import { secretSearch } from '../../lib/secret-search.ts';
import { ApiError } from '../errors.ts';

const searches = new Map<string, ReturnType<typeof secretSearch>>();

/** @throws ApiError `invalid_api_key`, which does not say where the token is */
export function refuseOperatorTokens(
  request: Request,
  { adminToken, metricsToken }: Pick<Config, 'adminToken' | 'metricsToken'>,
): void {
  const tokens = [adminToken, metricsToken].filter((token) => token !== undefined);
  if (tokens.length === 0) return;
  const text = textOf(request);
  if (!tokens.some((token) => searchFor(token)(text))) return;
  throw new ApiError(
    'invalid_api_key',
    "Incorrect API key provided: it is a token of this deployment's operator, and no caller's key.",
  );
}

/** A deployment has two tokens. */
function searchFor(token: string) {
  const search = searches.get(token) ?? secretSearch(token);
  searches.set(token, search);
  return search;
}

/** All of a request that is sent upstream beside its body, unchanged and decoded. */
function textOf(request: Request): string {
  const { pathname, search } = urlOf(request);
  const values = [...request.headers].map(([, value]) => value);
  const came = [pathname, search, ...values].join('\n');
  return [came, decoded(came), ...values.map(basicIn)].join('\n');
}

function decoded(text: string): string {
  if (!text.includes('%')) return '';
  return text.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

/** The user and the password of `Basic` (RFC 7617). */
function basicIn(value: string): string {
  const [, credentials] = /^basic +([\w+/=-]+) *$/i.exec(value) ?? [];
  return credentials === undefined ? '' : Buffer.from(credentials, 'base64').toString();
}
