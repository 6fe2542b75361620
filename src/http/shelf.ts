/** What a retriever reads from: the refs of one tenant. */
import type { Shelf } from '../retrieval/retriever.ts';
import { RefStore } from '../storage/refs.ts';
import type { Tenant } from '../storage/tenant.ts';
import type { Services } from './services.ts';

export function shelfOf(tenant: Tenant, { bucket }: Pick<Services, 'bucket'>): Shelf {
  const store = new RefStore(bucket, tenant);
  return { owns: (ref) => tenant.refs.owns(ref), get: (ref) => store.get(ref) };
}
