/**
 * Deletes the data of a conversation or a tenant, in steps that can be repeated after a failure.
 *
 * A conversation goes by `DELETE`, if nobody uses it (`sweep.ts`), or with its whole tenant
 * (`object.ts`, which goes on by an alarm). A deletion does not forget a conversation that was
 * noted again since it was found. The rows of a deleted conversation are deleted first; its object
 * remembers the packs until they are deleted from R2.
 */
import type { Env } from '../../config.ts';
import type { Log } from '../../log.ts';
import type { TenantBucket } from '../bucket.ts';
import { type ConversationName, sessionIn, userNameIn } from '../conversation/names.ts';
import type { Left } from '../conversation/remote.ts';
import { OBJECT_KINDS, objectsOf } from '../conversation/sealed-objects.ts';
import {
  type ConversationMemoryStub,
  conversationMemory,
  type ObjectCaller,
  type UserMemoryStub,
  userMemory,
} from '../objects.ts';
import { deleteManifests } from '../refs/store.ts';
import type { Erasure, NotedConversation, TenantRows } from './rows.ts';

/**
 * An invocation may make 50 subrequests
 * (https://developers.cloudflare.com/workers/platform/limits/). Expiring or erasing a conversation
 * takes at most four, five more for captures of earlier versions, which are as many as its events,
 * and two for its kept rounds; a page of objects takes two, and manifests two more per thousand.
 */
const CONVERSATIONS_A_STEP = 4;
const CALLS_A_STEP = 40;
const CALLS_A_CONVERSATION = 11;
const CALLS_A_PAGE = 6;
const PAGE = 1000;

/** The data that a step works on. */
export interface Ground {
  readonly env: Env;
  readonly bucket: TenantBucket;
  readonly rows: TenantRows;
  readonly log: Log;
}

const conversationIn = ({ env, log }: Ground, name: string) => conversationMemory(env, name, log);

/** Calls the object of a conversation's user, if it has one. */
async function atUser(
  { env, log }: Ground,
  conversation: string,
  call: (stub: UserMemoryStub) => Promise<void>,
): Promise<void> {
  const user = userNameIn(conversation);
  if (user !== undefined) await userMemory(env, user, log)(call);
}

/**
 * Deletes the data in a conversation's object, its archive, and its other objects in R2.
 *
 * @param unusedSince see `ConversationApi.leave`
 * @throws if R2 or the object fails; the call can be repeated
 */
export async function clearConversation(
  bucket: TenantBucket,
  name: ConversationName,
  call: ObjectCaller<ConversationMemoryStub>,
  unusedSince?: number,
): Promise<Left> {
  const left = await call((stub) => stub.leave(unusedSince));
  if (left.of === 'all') return left;
  // Not only where the object knows of some: a row may be lost, and its objects not.
  for (const kind of OBJECT_KINDS) await bucket.deleteAll(objectsOf(kind, name));
  if (left.packs.length === 0) return left;
  await bucket.delete(left.packs);
  await call((stub) => stub.forgetPacks(left.packs));
  return left;
}

/**
 * Expires some conversations that were not used since a time: deletes their archives, their
 * summaries and their entries in the user's memory, and drops their references.
 *
 * @param unusedSince in milliseconds
 * @returns whether all of them are done
 * @throws if R2 or an object fails
 */
export async function expireStep(ground: Ground, unusedSince: number): Promise<boolean> {
  const { rows } = ground;
  const unused = rows.unused(unusedSince, CONVERSATIONS_A_STEP);
  for (const conversation of unused) {
    const { name } = conversation;
    const left = await clearConversation(ground.bucket, name, conversationIn(ground, name), unusedSince);
    if (left.of === 'all') {
      rows.note(name, [], left.usedAt);
      continue;
    }
    await atUser(ground, name, async (stub) => void (await stub.forget(sessionIn(name))));
    if (left.of === 'settings') rows.retire(conversation);
    else rows.release(conversation);
  }
  return unused.length < CONVERSATIONS_A_STEP;
}

/**
 * Deletes a part of a tenant's data: first conversations, then objects in R2. Data written after
 * the erasure began stays.
 *
 * @returns whether everything is deleted
 * @throws if R2 or an object fails
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

async function eraseConversation(ground: Ground, conversation: NotedConversation): Promise<void> {
  const { name } = conversation;
  await clearConversation(ground.bucket, name, conversationIn(ground, name));
  // Last: by now no summary is still in the making, and none is published.
  await atUser(ground, name, (stub) => stub.clear());
  ground.rows.release(conversation);
}

async function erasePage({ bucket, rows }: Ground, erasure: Erasure): Promise<void> {
  const { objects, more } = await bucket.list('', PAGE, erasure.after);
  const due = objects.filter(({ uploaded }) => uploaded.getTime() <= erasure.before);
  await bucket.delete(due.map(({ name }) => name));
  const last = objects.at(-1)?.name;
  if (more && last !== undefined) return rows.erasedUpTo(last, erasure);
  // A request that saw a deleted ref may have written a manifest for it.
  await deleteManifests(bucket);
  rows.endErasure(erasure);
}
