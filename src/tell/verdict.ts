/**
 * Learns from an answer whether the upstream accepts the key. A revoked key loses access here too.
 */
import type { RequestScope } from '../request/scope.ts';
import { hasOtherKey } from '../upstream/api.ts';
import type { AskedModel, CallFeature } from './listener.ts';

export const verdict: CallFeature = ({ scope }) =>
  scope.caller.tenant && { settled: ({ asked }) => asked && noteVerdict(asked.answer, scope) };

export function noteVerdict(
  { ok, status }: AskedModel['answer'],
  { services, caller, api, headers }: Pick<RequestScope, 'services' | 'caller' | 'api' | 'headers'>,
): void {
  if (!caller.tenant) return;
  // Another key beside it may be the one that the upstream has accepted.
  if (ok && !hasOtherKey(headers, api)) services.accepted.accept(caller.tenant.id, api.name);
  if (status === 401) services.accepted.doubt(caller.tenant.id, api.name);
}
