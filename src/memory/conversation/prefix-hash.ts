/**
 * The hash chain of a conversation: each message's hash holds the one before it, so a hash names
 * exactly the messages up to it. A summary is kept under such a hash, and so can't be applied to an
 * array that was edited or forked before that place (docs/design.md#7-storage).
 *
 * The preamble is left out: a date in it must not break the chain.
 */

import type { Digest } from '../edits/placeholder.ts';
import type { Message } from './message.ts';

/** What of a message is in its hash. */
export type Hashed = Pick<Message, 'role' | 'identity'>;

/** `hashes[i]` names the messages before `i`; the first one is empty. */
export function prefixHashes(messages: readonly Hashed[], digest: Digest): readonly string[] {
  const hashes = [''];
  for (const message of messages) hashes.push(nextHash(hashes.at(-1) ?? '', message, digest));
  return hashes;
}

function nextHash(before: string, message: Hashed, digest: Digest): string {
  return message.role === 'preamble' ? before : chained(before, message.identity, digest);
}

/** The hash behind one more message. @param identity of that message (see `Message.identity`) */
export function chained(before: string, identity: string, digest: Digest): string {
  return digest(`${before} ${identity}`);
}
