import type { Context } from 'hono';
import { type RequestScope, scopeFor } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';

/** The context of a handler's request. @throws ApiError `invalid_api_key` */
export function scopeOf(c: Context<AppEnv>): RequestScope {
  return scopeFor({
    services: c.get('services'),
    incoming: c.req.raw,
    agent: c.get('agent'),
    trace: c.get('trace'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
  });
}
