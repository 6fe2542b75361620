/** `GET /metrics`: the deployment's metrics, for its operator (docs/design.md#11-observability). */
import type { Context } from 'hono';
import { isBearer } from '../request/caller.ts';
import { ApiError } from '../request/errors.ts';
import { type AppEnv, servicesOf } from '../request/services.ts';
import { exposition } from '../storage/metrics/families.ts';
import { stored } from './stored.ts';

/** A 404 in deployments without `METRICS_TOKEN`. */
export async function getMetrics(c: Context<AppEnv>): Promise<Response> {
  const services = servicesOf(c.env);
  c.set('services', services);
  const { config, metrics, metricsObject } = services;
  if (config.metricsToken === undefined) return c.notFound();
  if (!isBearer(c.req.raw.headers, config.metricsToken))
    throw new ApiError('invalid_api_key', 'This needs the METRICS_TOKEN, as Authorization: Bearer.');
  const counts = await stored(c, async () => {
    await metrics.send();
    return metricsObject((stub) => stub.read());
  });
  return new Response(exposition(counts), {
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
  });
}
