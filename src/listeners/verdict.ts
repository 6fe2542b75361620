/**
 * Learns from an answer whether the upstream accepts the key. A revoked key loses access here too.
 */
import { baseUrlOf } from '../config.ts';
import { callersSearch, type RequestScope } from '../request/scope.ts';
import { isLookedAt } from '../upstream/api.ts';
import { otherKeys, withoutKeys } from '../upstream/credentials.ts';
import { requestHeaders } from '../upstream/request.ts';
import type { AskedModel, CallFeature } from './listener.ts';

export const verdict: CallFeature = ({ scope }) =>
  scope.caller.tenant && { settled: ({ asked }) => asked && noteVerdict(asked.answer, scope) };

export function noteVerdict(
  { ok, status }: AskedModel['answer'],
  scope: Pick<
    RequestScope,
    'services' | 'caller' | 'api' | 'incoming' | 'named' | 'isAccepted' | 'waitUntil'
  >,
): void {
  const { services, caller, api, incoming, waitUntil } = scope;
  const { tenant } = caller;
  if (!tenant) return;
  if (status === 401) services.accepted.doubt(tenant.id, api.name);
  if (!ok) return;
  const isProof = isLookedAt(incoming.headers, api, baseUrlOf(api, services.config));
  if (isProof && !hasOtherKey(scope)) services.accepted.accept(tenant.id, api.name);
  // Another key may be the one that the upstream has accepted, or none.
  else if (services.accepted.isDue(tenant.id)) waitUntil(scope.isAccepted(tenant));
}

function hasOtherKey(scope: Pick<RequestScope, 'caller' | 'api' | 'incoming' | 'named'>): boolean {
  const { caller, api, incoming } = scope;
  const search = callersSearch(scope);
  if (withoutKeys(search) !== search) return true;
  const { headers } = incoming;
  // All that was sent had come, and most requests have no other key in all of it.
  if (otherKeys(headers, api).length === 0) return false;
  return otherKeys(requestHeaders(headers, caller.account), api).length > 0;
}
