/** The app: all routes, and the errors they answer with. */
import { type Context, Hono } from 'hono';
import { accessKeysIn } from './access-keys.ts';
import type { Env } from './config.ts';
import { ConfigError } from './config-error.ts';
import { urlOf } from './lib/request-url.ts';
import { accessKeyIn, callerOf, checkCaller } from './request/callers/caller.ts';
import { checkLocal } from './request/callers/local-requests.ts';
import { refuseOperatorTokens } from './request/callers/operator-secrets.ts';
import { knownAgent } from './request/choose-strategy.ts';
import { ApiError } from './request/errors.ts';
import { reportedRefusal } from './request/refusal.ts';
import { type AppEnv, servicesOf } from './request/services.ts';
import { openedBy } from './routes/admin/operator.ts';
import { logMisconfigured } from './routes/health.ts';
import { passthrough } from './routes/passthrough.ts';
import { RouteRouter } from './routes/router.ts';
import { mayBeSignedIn, openSignIn } from './routes/session/route.ts';
import { handlersOf, isForOperator, isOwn, isRoute, methodsOf, ROUTES, routeOf } from './routes/table.ts';
import { checkSecrets } from './tenant/published-secrets.ts';
import { apiOf } from './upstream/api.ts';

export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({
    getPath: (request) => routeOf(urlOf(request).pathname).path,
    router: new RouteRouter(ROUTES.map(({ path }) => path).filter((path) => !path.includes(':'))),
  });

  app.use('/v1/*', async (c, next) => {
    const { method, path } = c.req;
    const forPages = c.env.ACCESS_KEYS !== undefined && !BELOW_ADMIN.test(path);
    if (forPages && method === 'OPTIONS') return preflight(c.req.raw.headers);
    const isOwnRoute = isOwn(method, path);
    if (!forPages && !isOwnRoute) return next();
    await next();
    const { headers } = c.res;
    if (forPages) for (const [name, value] of Object.entries(FOR_PAGES)) headers.set(name, value);
    // Of a caller's data nobody on the way keeps a copy, and no browser does.
    if (isOwnRoute && !headers.has('cache-control')) headers.set('cache-control', 'private, no-store');
  });

  app.use('/v1/*', async (c, next) => {
    const { path } = c.req;
    c.set('api', apiOf(path, c.req.raw.headers, isRoute));
    if (c.req.header('upgrade')?.toLowerCase() === 'websocket')
      return c.text('WebSockets are not served here.', 426, { upgrade: 'HTTP/2.0' });
    const services = servicesOf(c.env);
    c.set('services', services);
    const forOperator = isForOperator(path);
    if (mayBeSignedIn(c.req.raw.headers, path)) {
      const takes = forOperator ? 'operator' : isOwn(c.req.method, path) ? 'caller' : undefined;
      c.set('session', await openSignIn(c, services, takes));
      c.set('api', apiOf(path, c.req.raw.headers, isRoute));
    }
    // Callers without a valid access key get no other information about the deployment.
    if (!forOperator) {
      await checkCaller(c.req.raw.headers, services, c.get('api'), (work) => c.executionCtx.waitUntil(work));
      if (!BELOW_ADMIN.test(path)) refuseOperatorTokens(c.req.raw, services.config);
    }
    const url = urlOf(c.req.raw);
    const { localTenant } = services.config;
    if (localTenant) checkLocal(c.req.raw.headers, url, localTenant.hosts);
    checkSecrets(services.config, url.hostname);
    const { agent } = routeOf(url.pathname);
    if (agent !== undefined && !forOperator)
      c.set('agent', knownAgent(agent, null, callerOf(c.req.raw.headers, services, c.get('api')), services));
    return next();
  });

  addRoutes(app);
  app.all('/v1/*', passthrough);

  app.notFound((c) => {
    // As it was asked for: a route may be one only without the slash at its end.
    const { pathname } = urlOf(c.req.raw);
    const error = new ApiError('not_forwarded', `There is no route ${c.req.method} ${pathname}.`);
    return error.toResponse({}, c.get('api'));
  });
  app.onError((error, c) => {
    const api = c.get('api');
    if (error instanceof ConfigError)
      return misconfigured(error, c.req.raw.headers, c.env).toResponse({}, api);
    const waitUntil = (work: Promise<unknown>): void => c.executionCtx.waitUntil(work);
    return reportedRefusal(error, c.get('services'), waitUntil).toResponse({}, api);
  });

  return app;
}

/** Never forwarded, whatever is there. */
const BELOW_ADMIN = /^\/v1\/admin(?:\/|$)/;

/**
 * What browsers want of an answer before they show it to a page of another origin. Keys are in
 * headers, so any page may ask (https://fetch.spec.whatwg.org/#http-cors-protocol).
 */
const FOR_PAGES = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };

/** The answer to a browser's question before a request, which has no key. */
function preflight(asked: Headers): Response {
  const headers = {
    ...FOR_PAGES,
    'access-control-allow-methods': '*',
    'access-control-allow-headers': asked.get('access-control-request-headers') ?? '*',
    'access-control-max-age': '7200',
  };
  return new Response(null, { status: 204, headers });
}

/** The routes of the table, their 405s, and a 404 for any other path below one of Precis's. */
function addRoutes(app: Hono<AppEnv>): void {
  for (const route of ROUTES) {
    const { token } = route;
    for (const [method, handler] of handlersOf(route))
      app.on(method, route.path, token ? openedBy(token, handler) : handler);
    if (!route.shared) app.all(route.path, notAllowed(methodsOf(route)));
  }
  for (const { path, shared } of ROUTES)
    if (!shared && path.startsWith('/v1/')) app.all(`${path}/*`, (c) => c.notFound());
  // Names of the operator's routes, also of versions other than this one.
  app.all('/v1/admin/*', (c) => c.notFound());
}

/**
 * The answer to a request while the configuration is invalid. The message never holds a value.
 * Where callers bring their own keys, anyone gets it; where they have access keys, only callers
 * with a valid one do.
 */
function misconfigured(error: ConfigError, headers: Headers, env: Env): ApiError {
  logMisconfigured(error, env);
  try {
    const keys = accessKeysIn(env);
    if (keys) accessKeyIn(headers, keys);
    return new ApiError('misconfigured', error.message);
  } catch (refusal) {
    if (refusal instanceof ApiError) return refusal;
    throw refusal;
  }
}

function notAllowed(methods: string): (c: Context<AppEnv>) => Response {
  return (c) =>
    new ApiError('method_not_allowed', `This route takes ${methods}.`).toResponse(
      { allow: methods },
      c.get('api'),
    );
}
