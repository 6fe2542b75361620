/** The ref writer of a request. */
import { RefStore } from '../storage/refs/store.ts';
import { RefUses } from '../storage/refs/uses.ts';
import { RefWriter } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import { type ArrayOfCall, groupNameOf } from './conversation.ts';
import type { RequestScope } from './scope.ts';

const writers = new WeakMap<RequestScope, RefWriter>();

/**
 * The one writer of a request, so that its record of written refs and its limit of parallel writes
 * hold for the whole request.
 */
export function refWriterOf(tenant: Tenant, call: ArrayOfCall): RefWriter {
  const known = writers.get(call.scope) ?? createWriter(tenant, call);
  writers.set(call.scope, known);
  return known;
}

function createWriter(tenant: Tenant, writing: ArrayOfCall): RefWriter {
  const { services, waitUntil, upkeep } = writing.scope;
  const name = groupNameOf(tenant, writing);
  return new RefWriter({
    store: new RefStore(services.bucket, tenant),
    tenant: tenant.id,
    known: services.memory.of('refs'),
    waitUntil,
    upkeep: upkeep.of(name ?? ''),
    uses:
      name === undefined
        ? undefined
        : new RefUses(name, services.tenant(tenant.id), services.memory.of('uses')),
    retention: services.retention,
    log: services.log,
    written: () => services.metrics.count('precis_refs_written_total', {}),
  });
}
