import { startTrace } from '../listeners/trace.ts';
import { type RequestScope, scopeFor } from '../request/scope.ts';
import type { RouteContext } from './context.ts';

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

/** The context of a request to a model, which is traced if the deployment has a collector. */
export function tracedScope(c: RouteContext): RequestScope {
  return scopeOf(c, { trace: startTrace(c.req.raw, c.req.path, c.get('services')) });
}
