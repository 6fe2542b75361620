/**
 * Notes that the refs in a body are in use, even if this request's plan did not make them: an array
 * from `/v1/compact` holds markers that no plan makes again.
 */

import { bufferOf } from '../lib/bytes.ts';
import { Latest } from '../lib/latest.ts';
import { pause } from '../lib/time-limit.ts';
import { REF_LENGTH, REF_PATTERN, REF_START } from '../memory/edits/placeholder.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { refWriterOf } from './ref-writer.ts';

/**
 * At most so many refs per body are checked. Each costs a few HMACs, and no real conversation has
 * more.
 */
const MOST_NAMED = 10_000;

/** The refs in bodies. */
const named = new Latest<Uint8Array, readonly string[]>();

/** Notes the refs. Never throws. @param body as it goes upstream, or back to the caller */
export async function noteNamed(
  body: Uint8Array,
  call: Pick<Call, 'request' | 'owner' | 'scope'>,
): Promise<void> {
  const { scope } = call;
  const { tenant } = scope.caller;
  if (!tenant || !bufferOf(body).includes(REF_START)) return;
  // Yield, so that the answer goes out first.
  await pause(0);
  const refs = named.of(body, [tenant], () => namedBy(body, tenant));
  // A dry run under an invented key may name refs too.
  if (refs.length === 0 || !(await scope.mayStore(tenant))) return;
  await refWriterOf(tenant, call).use(refs);
}

/** A tenant's refs in a body, without duplicates. A ref is ASCII, so the body is not decoded. */
export function namedBy(body: Uint8Array, tenant: Pick<Tenant, 'refs'>): string[] {
  const bytes = bufferOf(body);
  const found = new Set<string>();
  let at = bytes.indexOf(REF_START);
  while (at >= 0 && found.size < MOST_NAMED) {
    const ref = bytes.toString('latin1', at, at + REF_LENGTH);
    const isRef = REF_PATTERN.test(ref);
    if (isRef) found.add(ref);
    at = bytes.indexOf(REF_START, at + (isRef ? REF_LENGTH : REF_START.length));
  }
  return [...found].filter((ref) => tenant.refs.owns(ref));
}
