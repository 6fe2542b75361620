/** Which Durable Object holds what, and how it is called. */
import type { DurableObject } from 'cloudflare:workers';
import type { Env } from '../config.ts';
import type { ConversationMemoryObject } from './conversation-memory.ts';
import type { UserMemoryObject } from './user-memory.ts';

/** A conversation's id: the caller's own, or made by code from a hash of its first messages. */
export type Session = { readonly id: string } | { readonly hash: string };

/** The methods of an object as another isolate sees them. Arguments and results are copied, so they are plain data. */
export type Remote<Target> = {
  [Name in keyof Target as Name extends keyof DurableObject
    ? never
    : Target[Name] extends (...values: never) => unknown
      ? Name
      : never]: Target[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Awaited<Result>>
    : never;
};

/** @param Material what the background work is given, see `conversation-memory.ts` */
export type ConversationMemoryStub<Material = unknown> = Remote<ConversationMemoryObject<Material>>;
export type UserMemoryStub = Remote<UserMemoryObject>;

/** `{tenant}:{user}:{session}`; the user is empty when there is none. */
export function conversationName(tenantId: string, user: string | undefined, session: Session): string {
  // An encoded id holds no `#`: no caller can name a session that code has made.
  const name = 'id' in session ? encode(session.id) : `#${encode(session.hash)}`;
  return `${encode(tenantId)}:${encode(user ?? '')}:${name}`;
}

/** `{tenant}:{user}` */
export function userName(tenantId: string, user: string): string {
  return `${encode(tenantId)}:${encode(user)}`;
}

/** @param name from `conversationName` */
export function conversationMemory<Material>(env: Env, name: string): ConversationMemoryStub<Material> {
  return stubOf(env.CONVERSATION_MEMORY, name) as unknown as ConversationMemoryStub<Material>;
}

/** @param name from `userName` */
export function userMemory(env: Env, name: string): UserMemoryStub {
  return stubOf(env.USER_MEMORY, name) as unknown as UserMemoryStub;
}

/**
 * Calls an object, and once more when the platform says that this may help. An overloaded object is left alone: a second call
 * would make it worse (https://developers.cloudflare.com/durable-objects/best-practices/error-handling/).
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

/** As a URL component. JSON may hold half of a surrogate pair, which `encodeURIComponent` refuses: it becomes `%uD83D`. */
function encode(part: string): string {
  return part.replace(/[\s\S]/gu, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
