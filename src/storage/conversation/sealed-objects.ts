/**
 * Objects of a conversation in R2, encrypted, under `{tenant}/{kind}_{conversation}_{key}`. The
 * conversation is in the name as a hash, so that a deletion finds all that were ever written for
 * it, also objects that no row names now.
 */
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { SealedBucket } from '../sealed-bucket.ts';
import type { ConversationName } from './names.ts';

/** Messages of kept rounds, each by an id; views that versions up to 0.9 have captured. */
export const OBJECT_KINDS = ['capture', 'rounds'] as const;

/** How the names of a conversation's objects begin. */
export function objectsOf(kind: (typeof OBJECT_KINDS)[number], conversation: ConversationName): string {
  return `${kind}_${sha256Hex(conversation)}_`;
}

/** A conversation's kept rounds. */
export function roundsIn(bucket: R2Bucket, tenant: Tenant, conversation: ConversationName): SealedBucket {
  return new SealedBucket(bucket, tenant, 'rounds', objectsOf('rounds', conversation));
}
