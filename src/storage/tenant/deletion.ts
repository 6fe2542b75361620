/**
 * Deleting what is kept: of one conversation, and of a whole tenant. In steps, each of which can be
 * made again when it has failed.
 */
import type { Env } from '../../config.ts';
import {
  type ConversationMemoryStub,
  callObject,
  conversationMemory,
  sessionIn,
  userMemory,
  userNameIn,
} from '../conversation/key.ts';
import type { Left } from '../conversation/remote.ts';
import { deleteManifests } from '../refs/store.ts';
import type { TenantBucket } from './bucket.ts';
import type { Erasure, NotedConversation, TenantRows } from './rows.ts';

/**
 * An invocation may make 50 subrequests
 * (https://developers.cloudflare.com/workers/platform/limits/). One conversation takes four at the
 * most to expire or to be erased; a page of objects two, and the manifests two more for each
 * thousand.
 */
const CONVERSATIONS_A_STEP = 8;
const CALLS_A_STEP = 40;
const CALLS_A_CONVERSATION = 4;
const CALLS_A_PAGE = 6;
const PAGE = 1000;

/** Where a step works. */
export interface Ground {
  readonly env: Env;
  readonly bucket: TenantBucket;
  readonly rows: TenantRows;
}

/**
 * Deletes what a conversation's object holds, and its archive.
 *
 * @param unusedSince see `ConversationApi.leave`
 * @throws when R2 or the object fails; it can then be called again
 */
export async function clearConversation(
  bucket: TenantBucket,
  open: () => ConversationMemoryStub,
  unusedSince?: number,
): Promise<Left> {
  const left = await callObject(open, (stub) => stub.leave(unusedSince));
  if (left.of === 'all' || left.packs.length === 0) return left;
  await bucket.delete(left.packs);
  await callObject(open, (stub) => stub.forgetPacks(left.packs));
  return left;
}

/**
 * Deletes the archives, the summaries and what is told to the user of some conversations that were
 * not used since a time; to their refs they refer no more.
 *
 * @param unusedSince in milliseconds
 * @returns whether there are no more of them
 * @throws when R2 or an object fails
 */
export async function expireStep({ env, bucket, rows }: Ground, unusedSince: number): Promise<boolean> {
  const unused = rows.unused(unusedSince, CONVERSATIONS_A_STEP);
  for (const conversation of unused) {
    const { name } = conversation;
    const left = await clearConversation(bucket, () => conversationMemory(env, name), unusedSince);
    if (left.of === 'all') {
      rows.note(name, [], left.usedAt);
      continue;
    }
    await forgetPublished(env, name);
    if (left.of === 'settings') rows.retire(conversation);
    else rows.release(conversation);
  }
  return unused.length < CONVERSATIONS_A_STEP;
}

/** Takes a conversation out of what its user's other conversations are told. */
async function forgetPublished(env: Env, conversation: string): Promise<void> {
  const user = userNameIn(conversation);
  if (user === undefined) return;
  await callObject(
    () => userMemory(env, user),
    (stub) => stub.forget(sessionIn(conversation)),
  );
}

/**
 * Deletes some of what a tenant had when its erasure began: first conversations, then what is in
 * R2.
 *
 * @returns whether that was the last of it
 * @throws when R2 or an object fails
 */
export async function eraseStep(ground: Ground): Promise<boolean> {
  const { rows } = ground;
  for (let calls = 0; calls + CALLS_A_PAGE <= CALLS_A_STEP; ) {
    const erasure = rows.erasure();
    if (!erasure) return true;
    const conversation = rows.toErase();
    if (conversation) {
      await eraseConversation(ground, conversation);
      calls += CALLS_A_CONVERSATION;
    } else {
      await erasePage(ground, erasure);
      calls += CALLS_A_PAGE;
    }
  }
  return rows.erasure() === undefined;
}

async function eraseConversation(
  { env, bucket, rows }: Ground,
  conversation: NotedConversation,
): Promise<void> {
  const { name } = conversation;
  await clearConversation(bucket, () => conversationMemory(env, name));
  // Last: by now the writers of summaries have lost their leases and publish nothing more.
  const user = userNameIn(name);
  if (user !== undefined)
    await callObject(
      () => userMemory(env, user),
      (stub) => stub.clear(),
    );
  rows.release(conversation);
}

async function erasePage({ bucket, rows }: Ground, erasure: Erasure): Promise<void> {
  const { objects, more } = await bucket.list('', PAGE, erasure.after || undefined);
  const due = objects.filter(({ uploaded }) => uploaded.getTime() <= erasure.before);
  await bucket.delete(due.map(({ name }) => name));
  const last = objects.at(-1)?.name;
  if (more && last !== undefined) return rows.erasedUpTo(last, erasure);
  // A request that has still seen what is deleted may have vouched for it.
  await deleteManifests(bucket);
  rows.endErasure(erasure);
}
