/**
 * Opaque compaction items: what stands for a conversation's past, in the caller's hands, and readable here alone.
 *
 *     precis1_ base64url( envelope )
 *
 * The envelope is that of stored objects, under a key of its own purpose. It is bound to the tenant: nobody else can open it, or make one.
 */
import { Buffer } from 'node:buffer';
import { openBytes, sealBytes } from './envelope.ts';
import type { Tenant } from './tenant.ts';

/** By this an item of ours is known; the upstream's own begin otherwise. */
export const SEALED_PREFIX = 'precis1_';

/** The additional data of stored objects names them; an item has no name. */
const NAME = 'item';

/**
 * The opaque text of an item.
 *
 * @param held the messages or items that stand in its place when it is opened: JSON, separated by commas
 */
export async function sealCompaction(tenant: Tenant, held: string): Promise<string> {
  const envelope = await sealBytes(tenant, 'compaction', NAME, new Uint8Array(Buffer.from(held)));
  return `${SEALED_PREFIX}${Buffer.from(envelope).toString('base64url')}`;
}

/** What a text holds; undefined when it is damaged, or another tenant's. @param sealed with its prefix */
export async function openCompaction(tenant: Tenant, sealed: string): Promise<string | undefined> {
  try {
    const envelope = new Uint8Array(Buffer.from(sealed.slice(SEALED_PREFIX.length), 'base64url'));
    return new TextDecoder().decode(await openBytes(tenant, 'compaction', NAME, envelope.buffer));
  } catch {
    return undefined;
  }
}
