/**
 * Opens a tenant's refs for retrieval. Reading a ref counts as a use, which renews its retention.
 */
import { logCaught } from '../log.ts';
import type { Shelf } from '../retrieval/shelf.ts';
import { RefStore } from '../storage/refs/store.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import { readFromEither, type Tenant } from '../tenant/identity.ts';
import type { Services } from './services.ts';

export function shelfOf(tenant: Tenant, services: Services, waitUntil: WaitUntil): Shelf {
  const getFrom = async (tenant: Tenant, ref: string) => {
    const store = new RefStore(services.bucket, tenant);
    const fetched = await store.get(ref);
    if (fetched && services.retention.isOn)
      waitUntil(noteRead(ref, fetched.uploaded, store, tenant, services));
    return fetched;
  };
  const count = (outcome: 'found' | 'missing' | 'failed'): void => {
    services.metrics.count('precis_retrievals_total', { outcome });
    services.metrics.sendLater(waitUntil);
  };
  return {
    owns: (ref) => tenant.refs.owns(ref),
    failed: (error) => {
      logCaught(services.log, 'warn', 'a content could not be fetched for a model', error);
    },
    unknown: () => count('missing'),
    get: async (ref) => {
      try {
        const fetched = await readFromEither(tenant, (tenant) => getFrom(tenant, ref));
        count(fetched ? 'found' : 'missing');
        return fetched;
      } catch (error) {
        count('failed');
        throw error;
      }
    },
  };
}

/** Notes a use of a ref. A failure is only logged; the next read tries again. */
async function noteRead(
  ref: string,
  uploaded: number,
  store: RefStore,
  tenant: Tenant,
  { retention, memory, tenant: openTenant, log }: Services,
): Promise<void> {
  const uses = memory.of('uses');
  const reads = `${tenant.id}:read`;
  const renewed = retention.isDue(uploaded)
    ? store.renew(ref, (age) => retention.isDue(age))
    : Promise.resolve(uploaded);
  const noted = uses.get(reads, ref)
    ? Promise.resolve()
    : openTenant(tenant.id)((stub) => stub.conversations.noteRead(ref));
  const settled = await Promise.allSettled([renewed, noted]);
  for (const work of settled)
    if (work.status === 'rejected') logCaught(log, 'warn', 'a use of a ref could not be noted', work.reason);
  const [, note] = settled;
  if (note.status === 'fulfilled') uses.set(reads, ref, true);
}
