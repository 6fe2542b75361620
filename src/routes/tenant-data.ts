/** `/v1/memory`: all of a tenant's data (docs/design.md#5-routes). */
import { type Tenant, tenantsOf } from '../tenant/identity.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { deleted, stored } from './stored.ts';

/**
 * `DELETE /v1/memory`: deletes everything stored under the caller's key. What takes longer is
 * deleted in the background (202, `deleted: false`).
 */
export async function deleteTenantData(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const tenants = tenantsOf(await verifiedTenant(c, 'change'));
  const erase = ({ id }: Tenant) => services.tenant(id)((stub) => stub.erase());
  const began = Date.now();
  const dropEvents = () => Promise.all(tenants.map(({ id }) => services.runOutboxes.drop(id, began)));
  await dropEvents();
  // The object answers in time even if its deletion takes longer.
  const gone = await stored(c, () => Promise.all(tenants.map(erase)));
  await dropEvents();
  for (const { id } of tenants) services.memory.forget(id);
  return deleted(c, { object: 'memory.deleted' }, !gone.includes(false));
}
