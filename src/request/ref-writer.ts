/** The ref writer of a request. */
import { conversationName } from '../storage/conversation/names.ts';
import { RefStore } from '../storage/refs/store.ts';
import { RefUses } from '../storage/refs/uses.ts';
import { RefWriter } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { groupOf } from './conversation.ts';
import type { RequestScope } from './scope.ts';

/** What the writer needs to know of a call. */
export interface Writing extends Pick<Call, 'owner' | 'scope'> {
  readonly request: Pick<Call['request'], 'messages' | 'bytes'>;
}

const writers = new WeakMap<RequestScope, RefWriter>();

/**
 * The one writer of a request, so that its record of written refs and its limit of parallel writes
 * hold for the whole request.
 */
export function refWriterOf(tenant: Tenant, call: Writing): RefWriter {
  const known = writers.get(call.scope) ?? createWriter(tenant, call);
  writers.set(call.scope, known);
  return known;
}

/** The name under which a call's refs are noted; undefined before there is an answer. */
function groupNameOf(tenant: Tenant, { request, owner, scope }: Writing): string | undefined {
  const group = groupOf(request.messages, owner, scope);
  return group && conversationName(tenant.id, owner.user, group);
}

/**
 * Whether a call came before its conversation, or all data of its caller, was deleted, as far as
 * this isolate knows. Nothing of it is stored from then on.
 */
export function isOvertaken(call: Writing): boolean {
  const { caller, services, timings } = call.scope;
  const { tenant } = caller;
  if (!tenant) return false;
  return services.memory.isDeletedSince(() => groupNameOf(tenant, call) ?? tenant.id, timings.startedAt);
}

function createWriter(tenant: Tenant, writing: Writing): RefWriter {
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
