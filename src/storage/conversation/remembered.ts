/**
 * What an isolate remembers of the objects of conversations, so that it does not ask again. A
 * completed version, a frozen block and the verdict on a digest never change, and a round keeps the
 * memory that its first request was given. Only a deletion or a restored memory takes them away
 * (see `Beliefs`).
 *
 * Each fact has the moment at which the object was asked, so that an answer from before a deletion
 * counts for nothing after it. Settings can change, so they are asked for each time; a request with
 * its own strategy is planned meanwhile. `test/worker/requests/storage-calls.test.ts` counts the
 * calls of every kind of request.
 */
import type { OwnBeliefs } from '../../lib/isolate-memory.ts';
import type { MemoryBlock } from '../../memory/strategy/memory-blocks.ts';
import type { StoredAnswer } from './kept-answers.ts';
import type { StoredRounds } from './kept-rounds.ts';
import type { Found, FrozenBlock, Memory, Settings } from './memories.ts';

/** The verdict on a digest, as this conversation has seen it. */
export interface SeenDigest {
  /** Null: the preview is shown. */
  readonly text: string | null;
  /** Whether the object has it. Otherwise it still has to be stored there. */
  readonly isStored: boolean;
}

/** The rounds of one answer, as storage has them. */
export interface SeenRounds {
  readonly stored: StoredRounds;
  /** Their messages: JSON, separated by commas. Undefined before they are read. */
  readonly json: string | undefined;
  /** Whether a view that lacks them, since they are kept no more, has been reported. */
  readonly isReported?: boolean;
}

/** What an isolate remembers of one conversation, by kind. */
export interface RememberedKinds {
  /** By `hashesKey` of strategy and prefix. */
  readonly versions: Memory;
  /** By `hashesKey` of strategy and round. */
  readonly rounds: Found;
  /** Under an empty key. */
  readonly injections: FrozenBlock;
  /** By `hashesKey` of label and point. */
  readonly blocks: MemoryBlock;
  /** By the key of their answer. */
  readonly keptRounds: SeenRounds | null;
  /** By the key of their answer; null: none is kept. */
  readonly keptAnswers: StoredAnswer | null;
  /** Their outputs, by the same key. */
  readonly answerOutputs: string;
  readonly outputDigests: SeenDigest;
  /** By key: the digest of a message that was made from an answer, else an empty text. */
  readonly archived: string;
  /** Of the conversation without a user, under an empty key. */
  readonly userlessSettings: Settings;
}

/** No kind is made before its first use. */
export interface RememberedConversation {
  of<Kind extends keyof RememberedKinds>(kind: Kind): OwnBeliefs<RememberedKinds[Kind]>;
  /** Call this when what it remembers turns out to be deleted. */
  forget(kind: keyof RememberedKinds): void;
}

/** @param kind a strategy's hash, or a label */
export function hashesKey(kind: string, hash: string): string {
  return `${kind} ${hash}`;
}
