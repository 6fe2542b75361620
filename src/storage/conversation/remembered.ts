/**
 * What an isolate remembers of the objects of conversations, so that it does not ask again. A
 * completed version, a frozen block and the verdict on a digest never change, and a round keeps the
 * memory that its first request was given. Only a deletion or a restored memory takes them away
 * (see `TrustedLru`).
 *
 * Each fact has the moment at which the object was asked, so that an answer from before a deletion
 * counts for nothing after it. Settings can change, so they are asked for each time; a request with
 * its own strategy is planned meanwhile. `test/worker/requests/storage-calls.test.ts` counts the
 * calls of every kind of request.
 */
import { textBytes } from '../../lib/copy.ts';
import type { Bound } from '../../lib/lru.ts';
import type { MemoryBlock } from '../../memory/strategy/block-text.ts';
import { type Seen, TrustedLru } from '../trusted.ts';
import type { StoredRounds } from './kept-rounds.ts';
import type { Found, FrozenBlock, Memory } from './memories.ts';

/** Bytes of a version beside its text, and of an answer beside its version. */
const VERSION_BYTES = 1_024;

const sizeOfVersion = ({ memory_text, signed }: Memory): number =>
  VERSION_BYTES + textBytes(memory_text ?? '') + textBytes(signed ?? '');
const sizeOfFound = ({ memory }: Found): number => VERSION_BYTES + (memory ? sizeOfVersion(memory) : 0);

/** A summary has a few thousand tokens, an injected block 800 at most. */
const VERSIONS: Bound<Memory> = { bytes: 4 * 1024 * 1024, sizeOf: sizeOfVersion };
const ROUNDS: Bound<Found> = { bytes: 4 * 1024 * 1024, sizeOf: sizeOfFound };
/** About 8 000 messages. */
const ARCHIVED: Bound<string> = { bytes: 2 * 1024 * 1024, sizeOf: textBytes };
/** About 400 blocks of the largest size. */
const BLOCKS: Bound<MemoryBlock> = {
  bytes: 4 * 1024 * 1024,
  sizeOf: ({ text }) => VERSION_BYTES + textBytes(text),
};
const INJECTIONS: Bound<FrozenBlock> = {
  bytes: 1024 * 1024,
  sizeOf: ({ text }) => VERSION_BYTES + textBytes(text),
};

/** The verdict on a digest, as this conversation has seen it. */
interface SeenDigest {
  /** Null: the preview stands. */
  readonly text: string | null;
  /** Whether the object has it. Otherwise it still has to be stored there. */
  readonly isStored: boolean;
}

/** A digest has a few hundred tokens. */
const DIGESTS: Bound<SeenDigest> = {
  bytes: 4 * 1024 * 1024,
  sizeOf: ({ text }) => (text === null ? 0 : textBytes(text)),
};

/** The rounds of one answer, as storage has them. */
export interface SeenRounds {
  readonly stored: StoredRounds;
  /** Their messages: JSON, separated by commas. Undefined before they are read. */
  readonly json: string | undefined;
  /** Whether a view that lacks them, since they are kept no more, has been reported. */
  readonly isTold?: boolean;
}

/** As many as two conversations may keep. Null: there are none of the answer. */
const KEPT_ROUNDS: Bound<SeenRounds | null> = {
  bytes: 16 * 1024 * 1024,
  sizeOf: (seen) => (seen ? VERSION_BYTES + textBytes(seen.json ?? '') : 0),
};

/** Values of one kind in one conversation. */
interface Remembered<Value> {
  get(key: string): Seen<Value> | undefined;
  /** The last value that was seen, also if it can't be relied on any more. */
  last(key: string): Seen<Value> | undefined;
  /** @param at when the object was asked, in milliseconds since the epoch */
  keep(key: string, value: Value, at: number): void;
  drop(key: string): void;
}

/** The memory of one conversation. */
export interface RememberedConversation {
  /**
   * Completed versions, by `hashesKey` of strategy and prefix. `covers_end` counts the messages of
   * the array that a version was found for.
   */
  readonly versions: Remembered<Memory>;
  /** Answers to the first request of a round, by `hashesKey` of strategy and round. */
  readonly rounds: Remembered<Found>;
  /** The frozen block, under an empty key. It may be empty itself. */
  readonly injection: Remembered<FrozenBlock>;
  /** Frozen memory blocks, by `hashesKey` of label and point. */
  readonly blocks: Remembered<MemoryBlock>;
  /** Rounds of ours that led to an answer, by its key. */
  readonly keptRounds: Remembered<SeenRounds | null>;
  /** Verdicts on the digests of offloaded outputs, by key. */
  readonly digests: Remembered<SeenDigest>;
  /**
   * Messages in the archive's index, by key: the digest of one that was made from an answer, else
   * an empty text.
   */
  readonly archived: Remembered<string>;
  /** Call this when the archive turns out to be deleted. */
  forgetArchive(): void;
  /** Call this before and after the memory is deleted or replaced. */
  forget(): void;
}

/** @param kind a strategy's hash, or a label */
export function hashesKey(kind: string, hash: string): string {
  return `${kind} ${hash}`;
}

/** The memories of all conversations. One per isolate. */
export class RememberedConversations {
  private readonly versions: TrustedLru<Memory>;
  private readonly rounds: TrustedLru<Found>;
  private readonly injections: TrustedLru<FrozenBlock>;
  private readonly blocks: TrustedLru<MemoryBlock>;
  private readonly archived: TrustedLru<string>;
  private readonly digests: TrustedLru<SeenDigest>;
  private readonly keptRounds: TrustedLru<SeenRounds | null>;

  constructor(now: () => number = Date.now) {
    this.versions = new TrustedLru(VERSIONS, now);
    this.rounds = new TrustedLru(ROUNDS, now);
    this.injections = new TrustedLru(INJECTIONS, now);
    this.blocks = new TrustedLru(BLOCKS, now);
    this.archived = new TrustedLru(ARCHIVED, now);
    this.digests = new TrustedLru(DIGESTS, now);
    this.keptRounds = new TrustedLru(KEPT_ROUNDS, now);
  }

  /** @param name see `conversationName` */
  of(name: string): RememberedConversation {
    return {
      versions: ofConversation(this.versions, name),
      rounds: ofConversation(this.rounds, name),
      injection: ofConversation(this.injections, name),
      blocks: ofConversation(this.blocks, name),
      archived: ofConversation(this.archived, name),
      digests: ofConversation(this.digests, name),
      keptRounds: ofConversation(this.keptRounds, name),
      forgetArchive: () => this.archived.forget(name),
      forget: () => this.forget(name),
    };
  }

  /** Forgets a conversation, or all of a tenant. @param owner its name, or the tenant's id */
  forget(owner: string): void {
    const { versions, rounds, injections, blocks, archived, digests, keptRounds } = this;
    const all = [versions, rounds, injections, blocks, archived, digests, keptRounds];
    for (const values of all) values.forget(owner);
  }
}

function ofConversation<Value>(values: TrustedLru<Value>, name: string): Remembered<Value> {
  return {
    get: (key) => values.get(name, key),
    last: (key) => values.last(name, key),
    keep: (key, value, at) => values.set(name, key, value, at),
    drop: (key) => values.delete(name, key),
  };
}
