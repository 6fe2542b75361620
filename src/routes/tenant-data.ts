/** `/v1/memory`: all that is kept of a tenant (docs/design.md#5-routes). */
import type { Context } from 'hono';
import { verifiedTenant } from '../request/known-key.ts';
import type { AppEnv } from '../request/services.ts';
import { callObject } from '../storage/conversation/key.ts';
import { selvesOf, type Tenant } from '../tenant/identity.ts';
import { deleted, stored } from './stored.ts';

/**
 * `DELETE /v1/memory`: everything that is kept under the caller's key. Of a tenant that has much,
 * the rest goes in the background (202, `deleted: false`).
 */
export async function deleteTenantData(c: Context<AppEnv>): Promise<Response> {
  const services = c.get('services');
  const selves = selvesOf(await verifiedTenant(c, 'change'));
  const erase = ({ id }: Tenant) =>
    callObject(
      () => services.tenant(id),
      (stub) => stub.erase(),
    );
  // The object answers in time, also where what it deletes does not.
  const gone = await stored(c, () => Promise.all(selves.map(erase)));
  for (const { id } of selves) {
    services.known.forget(id);
    services.told.forget(id);
  }
  return deleted(c, { object: 'memory.deleted' }, !gone.includes(false));
}
