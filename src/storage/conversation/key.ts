/** Which Durable Object holds what, and how it is called. */

import { createHash } from 'node:crypto';
import type { Env } from '../../config.ts';
import type { Remote } from '../remote.ts';
import type { TenantApi, UserApi } from '../tenant/remote.ts';
import type { ConversationApi } from './remote.ts';

/** A conversation's id: the caller's own, or made by code from a hash of its first messages. */
export type Session = { readonly id: string } | { readonly hash: string };

/** @param Material what the background work is given, see `ConversationApi` */
export type ConversationMemoryStub<Material = unknown> = Remote<ConversationApi<Material>>;
export type UserMemoryStub = Remote<UserApi>;
export type TenantMemoryStub = Remote<TenantApi>;

/**
 * An object knows its own name up to 1024 bytes
 * (https://developers.cloudflare.com/durable-objects/api/id/). In characters.
 */
const LONGEST_PART = 256;

/** `{tenant}:{user}:{session}`; the user is empty when there is none. */
export function conversationName(tenantId: string, user: string | undefined, session: Session): string {
  // An encoded id holds no `#`: no caller can name a session that code has made.
  const name = 'id' in session ? partOf(session.id) : `#${partOf(session.hash)}`;
  return `${userName(tenantId, user ?? '')}:${name}`;
}

/** `{tenant}:{user}` */
export function userName(tenantId: string, user: string): string {
  return `${partOf(tenantId)}:${partOf(user)}`;
}

/** The id of the tenant whose conversation it is. @param name from `conversationName` */
export function tenantIn(name: string): string {
  return name.slice(0, name.indexOf(':'));
}

/**
 * The session as it stands in the name: the conversation's key among those of its user.
 *
 * @param name from `conversationName`
 */
export function sessionIn(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

/**
 * The hash that a session was made of; undefined where a caller has named it.
 *
 * @param name from `conversationName`
 */
export function openingIn(name: string): string | undefined {
  return /^#([^#].*)$/.exec(sessionIn(name))?.[1];
}

/**
 * The name of the user whose conversation it is; undefined when it is nobody's.
 *
 * @param name from `conversationName`
 */
export function userNameIn(name: string): string | undefined {
  const user = name.slice(0, name.lastIndexOf(':'));
  return user.endsWith(':') ? undefined : user;
}

/** @param name from `conversationName` */
export function conversationMemory<Material>(env: Env, name: string): ConversationMemoryStub<Material> {
  return stubOf(env.CONVERSATION_MEMORY, name) as unknown as ConversationMemoryStub<Material>;
}

/** @param id a tenant's */
export function tenantMemory(env: Env, id: string): TenantMemoryStub {
  return stubOf(env.TENANT_MEMORY, id) as unknown as TenantMemoryStub;
}

/** @param name from `userName` */
export function userMemory(env: Env, name: string): UserMemoryStub {
  return stubOf(env.USER_MEMORY, name) as unknown as UserMemoryStub;
}

/**
 * Calls an object, and once more when the platform says that this may help. An overloaded object is
 * left alone: a second call would make it worse
 * (https://developers.cloudflare.com/durable-objects/best-practices/error-handling/).
 *
 * @param open gets the stub: one that has thrown may be broken, so the second call takes a new one
 */
export async function callObject<Stub, Result>(
  open: () => Stub,
  call: (stub: Stub) => Promise<Result>,
): Promise<Result> {
  try {
    return await call(open());
  } catch (error) {
    if (!isWorthRetrying(error)) throw error;
    return call(open());
  }
}

function isWorthRetrying(error: unknown): boolean {
  const { retryable, overloaded } = Object(error) as { retryable?: unknown; overloaded?: unknown };
  return retryable === true && overloaded !== true;
}

function stubOf(namespace: DurableObjectNamespace, name: string): DurableObjectStub {
  return namespace.get(namespace.idFromName(name));
}

/** A part of a name. A long one is named by its digest, which begins as no other part does. */
function partOf(text: string): string {
  const encoded = encode(text);
  if (encoded.length <= LONGEST_PART) return encoded;
  return `##${createHash('sha256').update(encoded).digest('hex')}`;
}

/**
 * As a URL component. JSON may hold half of a surrogate pair, which `encodeURIComponent` refuses:
 * it becomes `%uD83D`.
 */
function encode(part: string): string {
  return part.replace(/[\s\S]/gu, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
