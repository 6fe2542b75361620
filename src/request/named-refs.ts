/**
 * What a body names is in use, whoever has put it there: an array that came back from `/v1/compact`
 * holds markers that no plan makes again.
 */

import { Buffer } from 'node:buffer';
import { refsIn } from '../memory/edits/placeholder.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { refWriterOf } from './ref-writer.ts';

/**
 * Of a body, so many names are looked at: each costs a few HMACs to check, and more of them are no
 * conversation's.
 */
const MOST_NAMED = 10_000;

/** Notes it. Never throws. @param body what goes upstream, or back to the caller */
export async function noteNamed(
  body: Uint8Array,
  call: Pick<Call, 'request' | 'owner' | 'scope'>,
): Promise<void> {
  const { scope } = call;
  const { tenant } = scope.caller;
  if (!tenant || !Buffer.from(body.buffer, body.byteOffset, body.length).includes('ref_')) return;
  // The answer goes first: what follows takes time.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const refs = namedBy(body, tenant);
  // Under an invented key a dry run names refs too.
  if (refs.length === 0 || !(await scope.mayStore(tenant))) return;
  await refWriterOf(tenant, call).use(refs);
}

/** The refs of a tenant that a body names, each once. */
export function namedBy(body: Uint8Array, tenant: Pick<Tenant, 'refs'>): string[] {
  return refsIn(new TextDecoder().decode(body), MOST_NAMED).filter((ref) => tenant.refs.owns(ref));
}
