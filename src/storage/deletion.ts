/** Deleting what is kept: of one conversation, and of a whole tenant. In steps, each of which can be made again when it has failed. */
import type { Env } from '../config.ts';
import {
  type ConversationMemoryStub,
  callObject,
  conversationMemory,
  userMemory,
  userNameIn,
} from './conversation-key.ts';
import type { TenantBucket } from './tenant-bucket.ts';
import type { TenantRows } from './tenant-rows.ts';

/** An invocation may make 50 subrequests (https://developers.cloudflare.com/workers/platform/limits/); a step makes fewer. */
const CONVERSATIONS_A_STEP = 8;
const PAGES_A_STEP = 5;
const PAGE = 1000;

/** Where a step works. */
export interface Ground {
  readonly env: Env;
  readonly bucket: TenantBucket;
  readonly rows: TenantRows;
}

/** What is left of a conversation: nothing, now or before; its settings; or all, since it is in use. */
export type Left = { readonly of: 'nothing' | 'settings' } | { readonly of: 'all'; readonly usedAt: number };

/**
 * Deletes a conversation's archive and what its object holds. What the object knows of goes first: a call that fails half-way can then be
 * made again.
 *
 * @param unusedSince where given, only a conversation that was not used since then is deleted, and its settings stay; in milliseconds
 * @returns what is left; undefined when there was nothing
 * @throws when R2 or the object fails
 */
export async function clearConversation(
  bucket: TenantBucket,
  open: () => ConversationMemoryStub,
  unusedSince?: number,
): Promise<Left | undefined> {
  const { exists, packs, usedAt } = await callObject(open, (stub) => stub.contents());
  if (!exists) return undefined;
  if (unusedSince !== undefined && usedAt >= unusedSince) return { of: 'all', usedAt };
  await bucket.delete(packs);
  const cleared = await callObject(open, (stub) => (unusedSince === undefined ? stub.clear() : stub.strip()));
  // Whoever was at work meanwhile may have written more.
  const known = new Set(packs);
  await bucket.delete(cleared.packs.filter((pack) => !known.has(pack)));
  return { of: cleared.settings ? 'settings' : 'nothing' };
}

/**
 * Deletes the archives, the summaries and what is told to the user of some conversations that were not used since a time; to their refs
 * they refer no more.
 *
 * @param unusedSince in milliseconds
 * @returns whether there are no more of them
 * @throws when R2 or an object fails
 */
export async function expireStep({ env, bucket, rows }: Ground, unusedSince: number): Promise<boolean> {
  const names = rows.unused(unusedSince, CONVERSATIONS_A_STEP);
  for (const name of names) {
    const left = await clearConversation(bucket, () => conversationMemory(env, name), unusedSince);
    if (left?.of === 'all') rows.note(name, [], left.usedAt);
    else if (left?.of === 'settings') rows.retire(name);
    else rows.release(name);
  }
  for (const user of usersOf(names))
    await callObject(
      () => userMemory(env, user),
      (stub) => stub.forgetBefore(unusedSince),
    );
  return names.length < CONVERSATIONS_A_STEP;
}

/**
 * Deletes some of what a tenant had when its erasure began: first conversations, then what is in R2.
 *
 * @returns whether that was the last of it
 * @throws when R2 or an object fails
 */
export async function eraseStep({ env, bucket, rows }: Ground): Promise<boolean> {
  const erasure = rows.erasure();
  if (!erasure) return true;
  const names = rows.toErase(CONVERSATIONS_A_STEP);
  for (const user of usersOf(names))
    await callObject(
      () => userMemory(env, user),
      (stub) => stub.clear(),
    );
  for (const name of names) {
    await callObject(
      () => conversationMemory(env, name),
      (stub) => stub.clear(),
    );
    rows.release(name);
  }
  if (names.length === CONVERSATIONS_A_STEP) return false;
  let { after } = erasure;
  for (let page = 0; page < PAGES_A_STEP; page++) {
    const { objects, more } = await bucket.list('', PAGE, after || undefined);
    const due = objects.filter(({ uploaded }) => uploaded.getTime() <= erasure.before);
    await bucket.delete(due.map(({ name }) => name));
    if (!more) {
      rows.endErasure();
      return true;
    }
    after = objects.at(-1)?.name ?? after;
    rows.erasedUpTo(after);
  }
  return false;
}

function usersOf(conversations: readonly string[]): Set<string> {
  return new Set(conversations.flatMap((name) => userNameIn(name) ?? []));
}
