/** Names of the Durable Objects of conversations and users, and what they are made of. */

import { sha256Hex } from '../../tenant/identity.ts';

/**
 * The name of a conversation's object: `{tenant}:{user}:{session}`; the user is empty if there is
 * none.
 */
export type ConversationName = string;

/** A conversation's id: the caller's own, or a hash of its first messages. */
export type Session = { readonly id: string } | { readonly hash: string };

/**
 * The session of a user's passages. No caller can name a session that is made from a hash, and no
 * messages have this one.
 */
export const PASSAGES = { hash: sha256Hex('the passages of a user') } as const satisfies Session;

/**
 * In characters. Objects know their own names up to 1024 bytes
 * (https://developers.cloudflare.com/durable-objects/api/id/).
 */
const LONGEST_PART = 256;

export function conversationName(
  tenantId: string,
  user: string | undefined,
  session: Session,
): ConversationName {
  // Encoded ids have no `#`, so no caller can name a session made from a hash.
  const name = 'id' in session ? partOf(session.id) : `#${partOf(session.hash)}`;
  return `${userName(tenantId, user ?? '')}:${name}`;
}

/** `{tenant}:{user}` */
export function userName(tenantId: string, user: string): string {
  return `${partOf(tenantId)}:${partOf(user)}`;
}

/** Before a hash, which has only digits of hexadecimal. */
const ASKED = 'asked-';

/**
 * The session of a first answer until its conversation has a name.
 *
 * @param key the answer's
 */
export function askedSession(key: string): Session {
  return { hash: ASKED + key };
}

/** Whether a name is of something beside conversations. */
export function isBeside(name: ConversationName): boolean {
  return name.endsWith(`:#${PASSAGES.hash}`) || sessionIn(name).startsWith(`#${ASKED}`);
}

/** The id of the conversation's tenant. Also finds it in the name of a user. */
export function tenantIn(name: ConversationName): string {
  return name.slice(0, name.indexOf(':'));
}

/** The session part of the name, which identifies the conversation among its user's. */
export function sessionIn(name: ConversationName): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

/**
 * The id that a caller has given a session; its digest with a prefix if it is too long for a name.
 *
 * @param session from `sessionIn`
 */
export function idOfSession(session: string): string {
  return session.replace(/%u([0-9A-F]{4})|(?:%[0-9A-F]{2})+/g, (escapes, half?: string) =>
    half === undefined ? decodeURIComponent(escapes) : String.fromCharCode(Number.parseInt(half, 16)),
  );
}

/** The hash that the session is made of; undefined if a caller named it. */
export function openingIn(name: ConversationName): string | undefined {
  return /^#([^#].*)$/.exec(sessionIn(name))?.[1];
}

/** A conversation in the log: a digest, since its id is the caller's own words. */
export function logNameOf(name: ConversationName): string {
  return sha256Hex(`log:${name}`).slice(0, 16);
}

/** The name of the conversation's user; undefined without a user. */
export function userNameIn(name: ConversationName): string | undefined {
  const user = name.slice(0, name.lastIndexOf(':'));
  return user.endsWith(':') ? undefined : user;
}

/**
 * The ids that a caller has given to a conversation and its user. Undefined where there is none,
 * and where an id is so long that the name only holds its digest.
 */
export function idsIn(name: ConversationName): {
  user: string | undefined;
  conversation: string | undefined;
} {
  const [, user = '', session = ''] = name.split(':');
  return { user: user === '' ? undefined : idOf(user), conversation: idOf(session) };
}

function idOf(part: string): string | undefined {
  return part.startsWith('#') ? undefined : idOfSession(part);
}

/** A part of a name. A long one becomes its digest, with a prefix that no other part has. */
function partOf(text: string): string {
  const encoded = encode(text);
  if (encoded.length <= LONGEST_PART) return encoded;
  return `##${sha256Hex(encoded)}`;
}

/**
 * Encodes a URL component. JSON may hold half a surrogate pair, which `encodeURIComponent` refuses;
 * it becomes `%uD83D`.
 */
function encode(part: string): string {
  if (part.isWellFormed()) return encodeURIComponent(part);
  return part.replace(/[\s\S]/gu, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
