/** Who may ask the operator's routes. */
import type { Handler } from 'hono';
import { isBearer } from '../../request/callers/caller.ts';
import { ApiError } from '../../request/errors.ts';
import { type AppEnv, servicesOf } from '../../request/services.ts';

/** The secrets that open routes for operators, and where they are in the configuration. */
const TOKENS = { METRICS_TOKEN: 'metricsToken', ADMIN_TOKEN: 'adminToken' } as const;

export type OperatorToken = keyof typeof TOKENS;

/**
 * The handler for requests that bring a token. All others get `invalid_api_key`, and a 404 in a
 * deployment without that token. The comparison takes the same time for all.
 */
export function openedBy(name: OperatorToken, handler: Handler<AppEnv>): Handler<AppEnv> {
  return (c, next) => {
    const services = servicesOf(c.env);
    c.set('services', services);
    const token = services.config[TOKENS[name]];
    if (token === undefined) return c.notFound();
    if (isBearer(c.req.raw.headers, token)) return handler(c, next);
    throw new ApiError('invalid_api_key', `This needs the ${name}, as Authorization: Bearer.`);
  };
}
