/** `GET /metrics`: the deployment's metrics, for its operator (docs/design.md#11-observability). */
import type { Context } from 'hono';
import type { AppEnv } from '../request/services.ts';
import { exposition } from '../storage/metrics/families.ts';
import { servicesForOperator } from './admin/operator.ts';
import { stored } from './stored.ts';

/** A 404 in deployments without `METRICS_TOKEN`. */
export async function getMetrics(c: Context<AppEnv>): Promise<Response> {
  const services = servicesForOperator(c, 'METRICS_TOKEN');
  if (!services) return c.notFound();
  const { metrics, metricsObject } = services;
  const counts = await stored(c, async () => {
    await metrics.send();
    return metricsObject((stub) => stub.read());
  });
  return new Response(exposition(counts), {
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
  });
}
