/** Sign-ins of the inspector in requests: the secret in one replaces it. */
import { getCookie } from 'hono/cookie';
import { ApiError } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import { openSession, SESSION_PREFIX, type Session } from '../../tenant/session.ts';
import { bearerToken } from '../../upstream/api.ts';
import type { RouteContext } from '../context.ts';

/** The routes that begin, renew and end a sign-in, by whose it is. */
export const SESSION_PATHS = { caller: '/v1/session', operator: '/v1/admin/session' } as const;

/** The cookie of a sign-in that this browser keeps. It is sent to its own route alone. */
export const SESSION_COOKIE = 'precis-session';

/** The header of a sign-in that a tab keeps. */
export const KEPT_HEADER = 'x-precis-session';

/** The header with the word that a request with the cookie must know. */
export const CSRF_HEADER = 'x-precis-csrf';

/** Whose route a path is; undefined for all other routes. */
function signInOf(path: string): Session['of'] | undefined {
  if (path === SESSION_PATHS.caller) return 'caller';
  return path === SESSION_PATHS.operator ? 'operator' : undefined;
}

/** Whether a request must be looked at by `openSignIn`. No other request pays for sign-ins. */
export function mayBeSignedIn(headers: Headers, path: string): boolean {
  return headers.get('authorization')?.includes(SESSION_PREFIX) || signInOf(path) !== undefined;
}

/**
 * Puts the secret of a sign-in into the request's headers, as if it had been sent. A page's sign-in
 * opens Precis's own routes, a kept one its own route alone.
 *
 * @param takes whose sign-ins open the route; undefined: none, since its requests are forwarded
 * @returns the kept sign-in of a request that renews one
 * @throws ApiError `session_ended`, `forbidden_origin`
 */
export async function openSignIn(
  c: RouteContext,
  services: Services,
  takes: Session['of'] | undefined,
): Promise<Session | undefined> {
  const { headers } = c.req.raw;
  const ofRoute = signInOf(c.req.path);
  if (ofRoute) checkSamePage(headers);
  const token = bearerToken(headers);
  const now = Date.now();
  if (token?.startsWith(SESSION_PREFIX)) {
    const session = await openSession(services.tenants, 'page', token, now);
    if (session?.of !== takes || !session) throw ended();
    become(c, session);
    return undefined;
  }
  const isKeyed = token !== undefined || headers.has('x-api-key');
  if (!ofRoute || isKeyed || c.req.method !== 'POST') return undefined;
  const inTab = headers.get(KEPT_HEADER);
  const kept = inTab ?? getCookie(c, SESSION_COOKIE);
  if (kept === undefined) return undefined;
  const session = await openSession(services.tenants, 'kept', kept, now);
  if (session?.of !== ofRoute || !session) throw ended();
  const isFromCookie = inTab === null;
  if (isFromCookie !== (session.csrf !== undefined)) throw ended();
  if (isFromCookie && headers.get(CSRF_HEADER) !== session.csrf)
    throw new ApiError('forbidden_origin', `This needs the word of the sign-in, as ${CSRF_HEADER}.`);
  become(c, session);
  return session;
}

/** Browsers say where a request comes from (https://www.w3.org/TR/fetch-metadata/). */
function checkSamePage(headers: Headers): void {
  const site = headers.get('sec-fetch-site') ?? 'same-origin';
  if (site !== 'same-origin' && site !== 'none')
    throw new ApiError('forbidden_origin', "A page of another origin can't sign in here.");
}

function become(c: RouteContext, { header, value }: Session): void {
  const headers = new Headers(c.req.raw.headers);
  for (const name of ['authorization', 'x-api-key', 'cookie', KEPT_HEADER]) headers.delete(name);
  headers.set(header, value);
  c.req.raw = new Request(c.req.raw, { headers });
}

/** The answer to a sign-in that is over, or was never made here. */
export function ended(): ApiError {
  return new ApiError('session_ended', 'This sign-in has ended; sign in again.');
}
