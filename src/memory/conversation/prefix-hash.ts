/**
 * The hash chain of a conversation. Each message's hash includes the one before it, so a hash
 * identifies all messages up to it. Summaries are stored under such a hash, and so never apply to
 * an array that was edited or forked earlier (docs/design.md#7-storage).
 *
 * The preamble is left out: a date in it must not break the chain.
 *
 * Of an assistant message without calls only the text is hashed, so the hash of an answer is known
 * before its caller sends it back; of other messages, the JSON without white space.
 */

import { elementAt } from '../../lib/elements.ts';
import { Latest } from '../../lib/latest.ts';
import type { Message, MessageFacts } from './message.ts';
import type { Digest } from './refs.ts';

/** The parts of a message that are hashed. */
export interface Hashed extends Pick<Message, 'role' | 'identity'> {
  /** Absent for a message that no isolate keeps. */
  readonly facts?: Pick<MessageFacts, 'prefixHash'>;
}

/** Several parts of a request need the hashes of its messages. */
const latest = new Latest<readonly Hashed[], readonly string[]>();

/** `hashes[i]` is the hash of the messages before `i`; the first is empty. */
export function prefixHashes(messages: readonly Hashed[], digest: Digest): readonly string[] {
  return latest.of(messages, [digest], () => {
    const hashes = [''];
    for (const message of messages) hashes.push(nextHash(hashes.at(-1) ?? '', message, digest));
    return hashes;
  });
}

/** In characters. */
const NAME_LENGTH = 16;

/** A short name of the messages with this hash, among the arrays of one conversation. */
export function arrayName(hash: string): string {
  return hash.slice(0, NAME_LENGTH);
}

function nextHash(before: string, message: Hashed, digest: Digest): string {
  if (message.role === 'preamble') return before;
  const { facts = {} } = message;
  facts.prefixHash ??= chained(before, message.identity, digest);
  return facts.prefixHash;
}

/** The hash after one more message. @param identity of that message (see `Message.identity`) */
export function chained(before: string, identity: string, digest: Digest): string {
  return digest(`${before} ${identity}`);
}

export interface ArchiveKey {
  readonly key: string;
  /** Whether the key implies the keys of all messages before it, other than the preamble. */
  readonly chained: boolean;
}

/**
 * The keys of all messages of an array in the conversation's archive. Linear in their number.
 *
 * A message's key is the hash of the prefix that it ends, so an edited or forked message is
 * archived beside the original. The preamble is part of no prefix hash; each of its messages has
 * its own key, made from the key before it.
 */
export function archiveKeys(messages: readonly Hashed[], digest: Digest): readonly ArchiveKey[] {
  const hashes = prefixHashes(messages, digest);
  const keys: ArchiveKey[] = [];
  for (const [index, { role, identity }] of messages.entries()) {
    const chained = role !== 'preamble';
    const before = keys.at(-1)?.key ?? '';
    keys.push({
      chained,
      key: chained ? elementAt(hashes, index + 1) : digest(`preamble ${before} ${identity}`),
    });
  }
  return keys;
}
