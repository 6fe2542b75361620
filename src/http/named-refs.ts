/** What a body names is in use, whoever has put it there: an array that came back from `/v1/compact` holds markers that no plan makes again. */
import { Buffer } from 'node:buffer';
import { refsIn } from '../memory/placeholder.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { type RequestScope, refWriterOf } from './make-view.ts';
import type { Place } from './place.ts';

/** Notes it. Never throws. @param body what goes upstream, or back to the caller */
export async function noteNamed(
  body: Uint8Array,
  request: ModelRequest,
  place: Place,
  scope: RequestScope,
): Promise<void> {
  const { tenant } = scope.caller;
  if (!tenant || !Buffer.from(body.buffer, body.byteOffset, body.length).includes('ref_')) return;
  // The answer goes first: what follows takes time.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const refs = refsIn(new TextDecoder().decode(body)).filter((ref) => tenant.refs.owns(ref));
  await refWriterOf(tenant, { scope, place, request }).use([...new Set(refs)]);
}
