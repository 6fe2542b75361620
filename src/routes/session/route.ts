/**
 * `/v1/session` and `/v1/admin/session`: the inspector's sign-ins. One that begins takes the key of
 * the request; one that is renewed is what the browser has kept (`tenant/session.ts`).
 */
import { deleteCookie, setCookie } from 'hono/cookie';
import { parseObject } from '../../lib/json.ts';
import { urlOf } from '../../lib/request-url.ts';
import { DAY_MS, secondsOf } from '../../lib/utc-time.ts';
import { readBody } from '../../request/body.ts';
import { invalid } from '../../request/errors.ts';
import { tenantsOf } from '../../tenant/identity.ts';
import { type Session, sealSession } from '../../tenant/session.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { stored } from '../stored.ts';
import { ended, SESSION_COOKIE, SESSION_PATHS } from './sign-in.ts';

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
