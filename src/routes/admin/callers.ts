/** `GET /v1/admin/callers`: who uses the deployment, and how much. Never what for. */

import type { RouteContext } from '../context.ts';
import { countIn, type PageSizes } from '../page-size.ts';
import { stored } from '../stored.ts';
import { KnownCallers } from './known-callers.ts';

/**
 * Each caller takes a call of its object, two while a secret is rotated, and an invocation may make
 * 50 (https://developers.cloudflare.com/workers/platform/limits/).
 */
const PAGE: PageSizes = { usual: 20, largest: 20 };

/** A page of all callers. */
export async function listCallers(c: RouteContext): Promise<Response> {
  const size = countIn(c, 'limit', PAGE);
  const callers = new KnownCallers(c.get('services'));
  const { data, cursor } = await stored(c, async () => {
    const page = await callers.page(c.req.query('cursor'), size);
    return { data: await Promise.all(page.callers.map((one) => callers.shown(one))), cursor: page.cursor };
  });
  const answer = { object: 'list', data, has_more: cursor !== undefined, cursor: cursor ?? null };
  return c.json(answer);
}
