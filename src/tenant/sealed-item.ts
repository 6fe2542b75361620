/**
 * Opaque compaction items. The caller holds one in place of a conversation's past; only Precis can
 * read it.
 *
 *     precis1_ base64url( envelope )
 *
 * The envelope is the same as for stored objects, with its own key. It is bound to the tenant, and
 * to the user and conversation that the sealing request names; nobody else can open or make one.
 */
import { Buffer } from 'node:buffer';
import { isAnyEnvelope, openText, sealText } from './envelope.ts';
import type { Tenant } from './identity.ts';

/** The prefix of Precis's items. Items of upstreams begin differently. */
export const SEALED_PREFIX = 'precis1_';

/** The user and conversation of an item, if its request names them. */
export interface ItemOwner {
  readonly user: string | undefined;
  readonly conversation: string | undefined;
}

/**
 * Seals a compaction item.
 *
 * @param content the messages or items that it replaces: JSON, separated by commas
 * @returns the item's opaque text
 */
export async function sealCompaction(tenant: Tenant, owner: ItemOwner, content: string): Promise<string> {
  return `${SEALED_PREFIX}${await sealText(tenant, 'compaction', itemName(owner), content)}`;
}

/**
 * Opens a compaction item. One that names no user or no conversation opens for any of them, since
 * many clients compact by a call that can't name them.
 *
 * @param sealed with its prefix
 * @returns the content; undefined if the item is damaged or belongs to another owner
 */
export function openCompaction(
  tenant: Tenant,
  owner: ItemOwner,
  sealed: string,
): Promise<string | undefined> {
  return openText(tenant, 'compaction', namesFor(owner), sealed.slice(SEALED_PREFIX.length));
}

/**
 * Whether a text has the form of an item of Precis, of any owner, of this version or of one
 * before. It need not open.
 *
 * @param sealed with its prefix
 */
export function isSealed(sealed: string): boolean {
  if (!sealed.startsWith(SEALED_PREFIX)) return false;
  const text = sealed.slice(SEALED_PREFIX.length);
  const envelope = Buffer.from(text, 'base64url');
  return isAnyEnvelope(envelope) && envelope.toString('base64url') === text;
}

/** JSON, so that no two owners share a name. */
function itemName({ user, conversation }: ItemOwner): string {
  return `item:${JSON.stringify([user ?? null, conversation ?? null])}`;
}

/** The names under which an owner's item may be sealed, the likeliest first. */
function namesFor({ user, conversation }: ItemOwner): string[] {
  const owners: ItemOwner[] = [
    { user, conversation },
    { user, conversation: undefined },
    { user: undefined, conversation },
    { user: undefined, conversation: undefined },
  ];
  return [...new Set(owners.map(itemName))];
}
