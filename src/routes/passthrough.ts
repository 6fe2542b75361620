/**
 * Any other `/v1/*`: forwarded untouched, with request and response streamed
 * (docs/deploying.md#routes).
 */
import { askUpstream } from '../answer/ask-upstream.ts';
import { unread } from '../answer/unread/unread-body.ts';
import { checkCharset, checkUnencoded, readBody } from '../request/body.ts';
import { ApiError } from '../request/errors.ts';
import { eachOnce } from './any-protocol.ts';
import { type RouteContext, scopeOf } from './context.ts';
import { climbs } from './routing.ts';

/**
 * Paths that callers with access keys can reach. Others would open the shared account's files and
 * stored responses.
 */
const SHARED = /^\/v1\/(chat\/completions|embeddings|models(\/[^/]+)?)$/;

export async function passthrough(c: RouteContext): Promise<Response> {
  const scope = scopeOf(c);
  const { path } = c.req;
  const closed = scope.services.config.access !== undefined && !isShared(c.req.method, path);
  if (closed || climbs(path) || path === '/v1')
    throw new ApiError('not_forwarded', `${c.req.method} ${path} is not forwarded by this deployment.`);
  const coming = bodyOf(c.req.raw);
  if (scope.services.config.access && coming) {
    checkCharset(c.req.raw.headers);
    checkUnencoded(c.req.raw.headers);
  }
  const body = coming && scope.spending ? eachOnce(await readBody(c.req.raw, null)) : coming;
  return unread(await askUpstream(scope, path.slice('/v1'.length), body), scope);
}

/**
 * `fetch` allows no body with GET and HEAD, and it has no meaning there (RFC 9110, section 9.3.1).
 */
function bodyOf({ method, body }: Request): ReadableStream | null {
  return method === 'GET' || method === 'HEAD' ? null : body;
}

/** `GET` on chat completions is closed, since it lists those stored in the account. */
function isShared(method: string, path: string): boolean {
  if (!SHARED.test(path)) return false;
  return path.startsWith('/v1/models') ? method === 'GET' || method === 'HEAD' : method === 'POST';
}
