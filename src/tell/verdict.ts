import type { RequestScope } from '../request/scope.ts';

/**
 * Learns from the answer whether the upstream accepts the key. A revoked key loses access here too.
 */
export function noteVerdict({ ok, status }: Response, { services, caller }: RequestScope): void {
  if (!caller.tenant) return;
  if (ok) services.accepted.accept(caller.tenant.id);
  if (status === 401) services.accepted.doubt(caller.tenant.id);
}
