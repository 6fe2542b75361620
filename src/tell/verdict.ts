/**
 * Learns from an answer whether the upstream accepts the key. A revoked key loses access here too.
 */
import type { RequestScope } from '../request/scope.ts';
import type { AskedModel, CallFeature } from './listener.ts';

export const verdict: CallFeature = ({ scope }) =>
  scope.caller.tenant && { settled: ({ asked }) => asked && noteVerdict(asked.answer, scope) };

export function noteVerdict(
  { ok, status }: AskedModel['answer'],
  { services, caller }: Pick<RequestScope, 'services' | 'caller'>,
): void {
  if (!caller.tenant) return;
  if (ok) services.accepted.accept(caller.tenant.id);
  if (status === 401) services.accepted.doubt(caller.tenant.id);
}
