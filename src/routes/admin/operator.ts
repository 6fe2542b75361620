/** Who may ask the operator's routes. */
import type { Context } from 'hono';
import { isBearer } from '../../request/callers/caller.ts';
import { ApiError } from '../../request/errors.ts';
import { type AppEnv, type Services, servicesOf } from '../../request/services.ts';

/** The secrets that open routes for operators, and where they are in the configuration. */
const TOKENS = { METRICS_TOKEN: 'metricsToken', ADMIN_TOKEN: 'adminToken' } as const;

/**
 * The services, for a request that brings the token. The comparison takes the same time for all.
 *
 * @returns undefined in a deployment without that token, which has no such route
 * @throws ApiError `invalid_api_key`
 */
export function servicesForOperator(c: Context<AppEnv>, name: keyof typeof TOKENS): Services | undefined {
  const services = servicesOf(c.env);
  c.set('services', services);
  const token = services.config[TOKENS[name]];
  if (token === undefined) return undefined;
  if (!isBearer(c.req.raw.headers, token))
    throw new ApiError('invalid_api_key', `This needs the ${name}, as Authorization: Bearer.`);
  return services;
}
