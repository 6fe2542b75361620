/** `/v1/memory`: all of a tenant's data (docs/design.md#5-routes). */
import type { Services } from '../request/services.ts';
import type { TenantMemoryStub } from '../storage/objects.ts';
import { tenantsOf } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { deleted, stored } from './stored.ts';

/**
 * `DELETE /v1/memory`: deletes everything stored under the caller's key. What takes longer is
 * deleted in the background (202, `deleted: false`).
 */
export async function deleteTenantData(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const ids = tenantsOf(await verifiedTenant(c, 'change')).map(({ id }) => id);
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
