/**
 * Opaque compaction items: what stands for a conversation's past, in the caller's hands, and
 * readable here alone.
 *
 * precis1_ base64url( envelope )
 *
 * The envelope is that of stored objects, under a key of its own purpose. It is bound to the
 * tenant, and to the user and the conversation that the sealing request names: nobody else can open
 * it, or make one.
 */
import { Buffer } from 'node:buffer';
import { isFault } from '../log.ts';
import { isEnvelope, openBytes, sealBytes } from './envelope.ts';
import type { Tenant } from './identity.ts';

/** By this an item of ours is known; the upstream's own begin otherwise. */
export const SEALED_PREFIX = 'precis1_';

/** Whose an item is, as far as its request has said so. */
export interface ItemOwner {
  readonly user: string | undefined;
  readonly conversation: string | undefined;
}

/**
 * The additional data of stored objects names them; items up to 0.5.0 had this name, whose ever
 * they were.
 */
const FIRST_NAME = 'item';

/**
 * The opaque text of an item.
 *
 * @param held the messages or items that stand in its place when it is opened: JSON, separated by
 *   commas
 */
export async function sealCompaction(tenant: Tenant, owner: ItemOwner, held: string): Promise<string> {
  const plain = new Uint8Array(Buffer.from(held));
  const envelope = await sealBytes(tenant, 'compaction', nameOf(owner), plain);
  return `${SEALED_PREFIX}${Buffer.from(envelope).toString('base64url')}`;
}

/**
 * What a text holds; undefined when it is damaged, or somebody else's. An item that names no user
 * or no conversation opens for any of them: many clients compact by a call that can't name them.
 *
 * @param sealed with its prefix
 */
export async function openCompaction(
  tenant: Tenant,
  owner: ItemOwner,
  sealed: string,
): Promise<string | undefined> {
  const envelope = envelopeOf(sealed);
  if (!isEnvelope(envelope)) return undefined;
  for (const name of namesFor(owner)) {
    const held = await openAs(tenant, name, envelope);
    if (held !== undefined) return held;
  }
  return tenant.previous && openCompaction(tenant.previous, owner, sealed);
}

/**
 * Whether a text has the form of an item, whose ever it is and whether or not it opens.
 *
 * @param sealed with its prefix
 */
export function isSealed(sealed: string): boolean {
  if (!sealed.startsWith(SEALED_PREFIX)) return false;
  const envelope = envelopeOf(sealed);
  return isEnvelope(envelope) && `${SEALED_PREFIX}${Buffer.from(envelope).toString('base64url')}` === sealed;
}

async function openAs(
  tenant: Tenant,
  name: string,
  envelope: Uint8Array<ArrayBuffer>,
): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await openBytes(tenant, 'compaction', name, envelope.buffer));
  } catch (error) {
    // It is damaged, or another's.
    if (isFault(error)) throw error;
    return undefined;
  }
}

function envelopeOf(sealed: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(sealed.slice(SEALED_PREFIX.length), 'base64url'));
}

/** JSON, so that no two owners have one name. */
function nameOf({ user, conversation }: ItemOwner): string {
  return `${FIRST_NAME}:${JSON.stringify([user ?? null, conversation ?? null])}`;
}

/** The names under which an item may open for somebody, the likeliest first. */
function namesFor({ user, conversation }: ItemOwner): string[] {
  const owners: ItemOwner[] = [
    { user, conversation },
    { user, conversation: undefined },
    { user: undefined, conversation },
    { user: undefined, conversation: undefined },
  ];
  return [...new Set(owners.map(nameOf)), FIRST_NAME];
}
