/** `GET /v1/admin/callers`: who uses the deployment, and how much. Never what for. */
import type { Context } from 'hono';
import type { AppEnv } from '../../request/services.ts';
import { type PageSizes, pageSize } from '../page-size.ts';
import { stored } from '../stored.ts';
import { KnownCallers } from './known-callers.ts';
import { servicesForOperator } from './operator.ts';

/**
 * Each caller takes a call of its object, two while a secret is rotated, and an invocation may make
 * 50 (https://developers.cloudflare.com/workers/platform/limits/).
 */
const PAGE: PageSizes = { usual: 20, largest: 20 };

/** A page of all callers. A 404 in deployments without `ADMIN_TOKEN`. */
export async function listCallers(c: Context<AppEnv>): Promise<Response> {
  const services = servicesForOperator(c, 'ADMIN_TOKEN');
  if (!services) return c.notFound();
  const size = pageSize(c.req.query('limit'), PAGE);
  const callers = new KnownCallers(services);
  const { data, cursor } = await stored(c, async () => {
    const page = await callers.page(c.req.query('cursor'), size);
    return { data: await Promise.all(page.callers.map((one) => callers.shown(one))), cursor: page.cursor };
  });
  const answer = { object: 'list', data, has_more: cursor !== undefined, cursor: cursor ?? null };
  return c.json(answer);
}
