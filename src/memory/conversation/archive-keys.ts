/**
 * Keys of a conversation's messages in its archive. A message's key is the hash of the prefix that
 * it ends, so an edited or forked message is archived beside the original. The preamble is part of
 * no prefix hash; each of its messages has its own key, made from the key before it.
 */
import { elementAt } from '../../lib/elements.ts';
import { type Hashed, prefixHashes } from './prefix-hash.ts';
import type { Digest } from './refs.ts';

export interface ArchiveKey {
  readonly key: string;
  /** Whether the key implies the keys of all messages before it, other than the preamble. */
  readonly chained: boolean;
}

/** The keys of all messages of an array. Linear in their number. */
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
