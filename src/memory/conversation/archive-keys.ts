/**
 * The names under which a conversation's archive knows its messages: a message has the hash of the
 * prefix that it ends, so what is edited or forked is archived beside what was there before. The
 * preamble is in no prefix hash; each message of it has a key of its own, made of the key before
 * it.
 */
import type { Digest } from '../edits/placeholder.ts';
import { type Hashed, prefixHashes } from './prefix-hash.ts';

export interface ArchiveKey {
  readonly key: string;
  /**
   * Whether whoever knows this key knows those of all messages before it, the preamble left out.
   */
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
      key: chained ? (hashes[index + 1] ?? '') : digest(`preamble ${before} ${identity}`),
    });
  }
  return keys;
}
