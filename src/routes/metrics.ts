/** `GET /metrics`: the deployment's metrics, for its operator (docs/operating.md#metrics). */
import { exposition } from '../storage/metrics/families.ts';
import type { RouteContext } from './context.ts';
import { stored } from './stored.ts';

export async function getMetrics(c: RouteContext): Promise<Response> {
  const { metrics, metricsObject } = c.get('services');
  const counts = await stored(c, async () => {
    await metrics.send();
    return metricsObject((stub) => stub.read());
  });
  return new Response(exposition(counts), {
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
  });
}
