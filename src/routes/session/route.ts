/**
 * `/v1/session` and `/v1/admin/session`: the inspector's sign-ins. One that begins takes the key of
 * the request; one that is renewed is what the browser has kept (`tenant/session.ts`).
 */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { parseObject } from '../../lib/json.ts';
import { urlOf } from '../../lib/request-url.ts';
import { DAY_MS, secondsOf } from '../../lib/utc-time.ts';
import { readBody } from '../../request/body.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import { tenantsOf } from '../../tenant/identity.ts';
import { openSession, SESSION_PREFIX, type Session, sealSession } from '../../tenant/session.ts';
import { bearerToken } from '../../upstream/api.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { stored } from '../stored.ts';

/** How long a sign-in lasts, by where it is kept, in milliseconds. */
const LASTS = { tab: DAY_MS / 2, browser: 7 * DAY_MS } as const;

/** How long the page's text lasts before it is renewed, in milliseconds. */
const PAGE_MS = 5 * 60_000;

/** In bytes. */
const LARGEST_BODY = 1_024;

/** The owner of the operator's sign-ins in the register. No tenant has the id. */
const OPERATOR = 'operator';

/** `POST`: begins a sign-in, or renews the kept one. */
export async function postSession(c: RouteContext): Promise<Response> {
  const { of, owners } = await signingIn(c);
  const kept = c.get('session');
  const services = c.get('services');
  const now = Date.now();
  if (kept) {
    const endedAt = await stored(c, () => services.register((stub) => stub.signOuts.latest(owners)));
    if (kept.started <= endedAt) throw ended();
    return c.json(await pageSession(c, kept, now));
  }
  const keep = await keepIn(c.req.raw);
  const { headers } = c.req.raw;
  const header = headers.has('x-api-key') ? 'x-api-key' : 'authorization';
  const until = now + LASTS[keep];
  const csrf = keep === 'browser' ? { csrf: crypto.randomUUID() } : {};
  const session = {
    of,
    header,
    value: headers.get(header) ?? '',
    started: now,
    ends: until,
    ...csrf,
  } as const;
  const sealed = await sealSession(services.tenants, 'kept', session);
  if (keep === 'browser')
    setCookie(c, SESSION_COOKIE, sealed, { ...cookieOf(c, of), maxAge: LASTS.browser / 1_000 });
  const page = await pageSession(c, session, now);
  return c.json({ ...page, ...csrf, ...(keep === 'tab' ? { kept: sealed } : {}) });
}

/** `DELETE`: ends the sign-in of this browser; with `everywhere=true` all that began before. */
export async function deleteSession(c: RouteContext): Promise<Response> {
  const { of, owners } = await signingIn(c);
  const everywhere = c.req.query('everywhere') ?? 'false';
  if (everywhere !== 'true' && everywhere !== 'false')
    throw invalid('everywhere', "'everywhere' must be true or false.");
  if (everywhere === 'true')
    await stored(c, () => c.get('services').register((stub) => stub.signOuts.note(owners, Date.now())));
  deleteCookie(c, SESSION_COOKIE, cookieOf(c, of));
  return c.json({ object: 'memory.session.deleted', everywhere: everywhere === 'true', deleted: true });
}

/**
 * Whose sign-in it is, and the names by which the register knows that.
 *
 * @throws ApiError for a key that the upstream does not accept, as for stored data
 */
async function signingIn(
  c: RouteContext,
): Promise<{ readonly of: Session['of']; readonly owners: readonly string[] }> {
  if (c.req.path === SESSION_PATHS.operator) return { of: 'operator', owners: [OPERATOR] };
  const tenant = await verifiedTenant(c, 'change');
  return { of: 'caller', owners: tenantsOf(tenant).map(({ id }) => id) };
}

async function pageSession(c: RouteContext, kept: Session, now: number): Promise<object> {
  const ends = Math.min(now + PAGE_MS, kept.ends);
  const { csrf, ...session } = kept;
  const token = await sealSession(c.get('services').tenants, 'page', { ...session, ends });
  const lasts = { ends_at: secondsOf(ends), expires_in: secondsOf(ends - now) };
  return { object: 'memory.session', token, ...lasts, kept_until: secondsOf(kept.ends) };
}

async function keepIn(request: Request): Promise<keyof typeof LASTS> {
  const body = parseObject(new TextDecoder().decode(await readBody(request, null, LARGEST_BODY)));
  const keep = body?.keep;
  if (keep === 'tab' || keep === 'browser') return keep;
  throw invalid('keep', '\'keep\' must be "tab" or "browser".');
}

function cookieOf(c: RouteContext, of: Session['of']) {
  const secure = urlOf(c.req.raw).protocol === 'https:';
  return { path: SESSION_PATHS[of], httpOnly: true, sameSite: 'Strict', secure } as const;
}

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
  return new ApiError('session_ended', 'This sign-in has ended, or opens no such route; sign in again.');
}
