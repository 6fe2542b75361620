/** `/v1/memory`: all of a tenant's data (docs/operating.md#what-is-kept-and-how-long). */
import { invalid } from '../request/errors.ts';
import type { Services } from '../request/services.ts';
import type { TenantMemoryStub } from '../storage/objects.ts';
import { tenantsOf } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { deleted, stored } from './stored.ts';

/** Headers that name a user or a conversation. */
const NAMING = ['x-memory-user', 'x-conversation-id'] as const;

/**
 * `DELETE /v1/memory`: deletes everything stored under the caller's key, unless the request names a
 * user or a conversation: of `/v1/conversations/../memory?user=ann` every client makes this path. A
 * query is refused like any that the route does not take. What takes longer is deleted in the
 * background (202, `deleted: false`).
 */
export async function deleteTenantData(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const ids = tenantsOf(await verifiedTenant(c, 'change')).map(({ id }) => id);
  const param = NAMING.find((name) => c.req.header(name));
  if (param !== undefined)
    throw invalid(
      param,
      `This path deletes everything under the key, and ${param} names less: leave it out, or name the path of the one conversation or user.`,
    );
  const limitMs = TIME_LIMITS.routeStorageMs + 2 * TIME_LIMITS.keptEventsMs;
  const isGone = await stored(c, () => eraseAll(ids, services, (stub) => stub.erase()), limitMs);
  return deleted(c, { object: 'memory.deleted' }, isGone);
}

/**
 * Deletes all data of tenants. Their objects answer in time even if that takes longer.
 *
 * @returns whether all is gone
 */
export async function eraseAll(
  ids: readonly string[],
  services: Services,
  erase: (stub: TenantMemoryStub) => Promise<boolean>,
): Promise<boolean> {
  const began = Date.now();
  const dropEvents = () => Promise.all(ids.map((id) => services.runOutboxes.drop(id, began)));
  await dropEvents();
  const gone = await Promise.all(ids.map((id) => services.tenant(id)(erase)));
  await dropEvents();
  for (const id of ids) services.memory.deleted(id, began);
  return !gone.includes(false);
}
