/** Compaction items of ours are opened before anything else is read: from there on they are messages like any other (design §8). */
import { MOST_MESSAGES } from '../protocol/model-body.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { openedBody, type Sealed, sealedIn } from '../protocol/sealed.ts';
import { openCompaction, SEALED_PREFIX } from '../storage/compaction-item.ts';
import type { Tenant } from '../storage/tenant.ts';
import { ApiError } from './errors.ts';

/** The body with what its compaction items hold; undefined where it has none. @throws ApiError `invalid_encrypted_content` for one that can't be opened */
export async function openSealed(
  { bytes, conversationField }: ModelRequest,
  tenant: Tenant | undefined,
): Promise<Uint8Array | undefined> {
  const sealed = sealedIn(bytes, conversationField, SEALED_PREFIX, MOST_MESSAGES);
  if (sealed.length === 0) return undefined;
  return openedBody(bytes, sealed, await Promise.all(sealed.map((item) => opened(item, tenant))));
}

async function opened({ text, param }: Sealed, tenant: Tenant | undefined): Promise<string> {
  const held = tenant && (await openCompaction(tenant, text));
  if (held !== undefined) return held;
  throw new ApiError(
    'invalid_encrypted_content',
    `The compaction item in ${param} can't be opened: it must be sent back as it came, with the API key under which it was made.`,
    param,
  );
}
