import type { Context } from 'hono';
import { baseUrlOf } from '../config.ts';
import { urlOf } from '../lib/request-url.ts';
import { startTrace } from '../listeners/trace.ts';
import { readBody } from '../request/body.ts';
import { tenantOf } from '../request/callers/caller.ts';
import { ApiError } from '../request/errors.ts';
import { growthFault } from '../request/known-key.ts';
import { type RequestScope, scopeFor } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import type { Tenant } from '../tenant/identity.ts';
import { withoutKeys } from '../upstream/credentials.ts';
import { keyPathOf, verdictOn } from '../upstream/key-verdict.ts';

/** What a handler takes. */
export type RouteContext = Context<AppEnv>;

/** The context of a handler's request. @throws ApiError `invalid_api_key` */
export function scopeOf(
  c: RouteContext,
  { trace, named }: Pick<RequestScope, 'trace' | 'named'> = {},
): RequestScope {
  return scopeFor({
    services: c.get('services'),
    incoming: c.req.raw,
    api: c.get('api'),
    agent: c.get('agent'),
    trace,
    ...(named && { named }),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
  });
}

/** The body of a request, before it is known what it means. @throws ApiError as `readBody` */
export function bodyOf(c: RouteContext, param: string): Promise<Uint8Array> {
  return readBody(c.req.raw, param, undefined, () => growthFault(scopeOf(c)));
}

/** The context of a request to a model, which is traced if the deployment has a collector. */
export function tracedScope(c: RouteContext): RequestScope {
  return scopeOf(c, { trace: startTrace(c.req.raw, c.req.path, c.get('services')) });
}

/**
 * The tenant of a request for stored data, once the upstream has accepted its key.
 *
 * @param use without a verdict, reads depend on `UNVERIFIED_READS`, and changes are refused
 * @throws ApiError `invalid_api_key`, or `key_not_checked` if the upstream can't be asked
 */
export async function verifiedTenant(c: RouteContext, use: 'read' | 'change'): Promise<Tenant> {
  const services = c.get('services');
  const { headers } = c.req.raw;
  const api = c.get('api');
  const tenant = tenantOf(headers, services, api);
  // What else the query says is for this route.
  const search = withoutKeys(urlOf(c.req.raw).search);
  const verdict = await verdictOn(tenant, { headers, search }, api, services);
  if (verdict === 'accepted') return tenant;
  if (verdict === 'refused')
    throw new ApiError('invalid_api_key', 'The upstream does not accept this API key.');
  if (use === 'read' && services.config.unverifiedReads) return tenant;
  throw new ApiError(
    'key_not_checked',
    `The upstream has not said whether it accepts this API key (GET ${keyPathOf(baseUrlOf(api, services.config))}); try again. If it never says, the deployment can accept all keys with VERIFY_KEYS=false.`,
  );
}
