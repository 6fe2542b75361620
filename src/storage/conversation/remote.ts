/** What other isolates can call of a conversation's object: its parts, and methods of its own. */
import type { ArchiveRow, ArchiveRows, NotedPacks } from '../archive/rows.ts';
import type { ArchiveSearch } from '../archive/search.ts';
import type { BackupApi } from '../object-backup.ts';
import type { Part } from '../remote.ts';
import type { MemoryChain } from './chain.ts';
import type { WaitingRequest } from './cold-returns.ts';
import type { FrozenBlocks } from './frozen-blocks.ts';
import type { KeptAnswerRows } from './kept-answers.ts';
import type { KeptRoundsRows } from './kept-rounds.ts';
import type {
  ConversationNumbers,
  Memory,
  Overview,
  SavedMemory,
  Settings,
  TextAnswer,
  TextRequest,
} from './memories.ts';
import type { DigestAnswer, DigestOrder, OutputDigests } from './output-digests.ts';
import type { RunEvents } from './run-events.ts';
import type { ConversationState } from './state.ts';

/** What remains of a conversation: nothing, its settings, or everything because it is in use. */
export type Left =
  | {
      readonly of: 'nothing' | 'settings';
      /** Whether there was anything. */
      readonly existed: boolean;
      /** Names of packs to delete from R2. */
      readonly packs: readonly string[];
    }
  | {
      readonly of: 'all';
      /** In milliseconds. */
      readonly usedAt: number;
    };

/**
 * @param Material the input of a text. It holds the caller's key, so it stays in memory and is
 *   neither stored nor logged
 */
export interface ConversationApi<Material> extends BackupApi {
  readonly versions: Part<MemoryChain, 'find' | 'pinDigest' | 'overview'> & {
    /** Null for a request that came before a deletion. */
    keepDigest(...order: Parameters<MemoryChain['keepDigest']>): Promise<Memory | null>;
  };
  readonly state: Part<ConversationState, 'configure' | 'injection' | 'freezeInjection'> & {
    /** @param isUse false: this does not count as a use (see `RETENTION_DAYS`) */
    settings(isUse?: boolean): Settings;
  };
  readonly frozenBlocks: Part<FrozenBlocks, 'at' | 'freeze'>;
  readonly outputDigests: Part<OutputDigests<Material>, 'find'> & {
    /** @param since when the request came: makes nothing if it was before a deletion */
    make(orders: readonly DigestOrder<Material>[], waitMs: number, since: number): Promise<DigestAnswer[]>;
  };
  readonly keptRounds: Part<KeptRoundsRows, 'find' | 'add'>;
  readonly keptAnswers: Part<KeptAnswerRows, 'find' | 'read' | 'add' | 'forget'>;
  readonly coldReturns: {
    /**
     * The prefix hashes of the arrays of cold returns, the waiting request's too, if it is one. It
     * is noted if its view is sent, unless it came before a deletion.
     */
    find(waiting: WaitingRequest | null): Promise<readonly string[]>;
  };
  readonly events: Part<RunEvents, 'add' | 'askedAt' | 'answered' | 'lines'> & {
    /** Null if nothing is stored of the conversation. */
    page(...query: Parameters<RunEvents['page']>): ReturnType<RunEvents['page']> | null;
    /** Null if nothing is stored of the conversation. */
    find(n: number): ReturnType<RunEvents['find']> | null;
  };
  readonly archive: Part<ArchiveRows, 'lacking' | 'archivedAt' | 'count' | 'texts' | 'packsAfter' | 'page'> &
    Part<ArchiveSearch, 'search' | 'hits'> & {
      /** See `ArchiveRows`. @param since when the request came */
      notePacks(after: string | null, packs: readonly string[], since: number): Promise<NotedPacks | null>;
      /** See `ArchiveRows`. Has vectors made of the messages. */
      add(generation: string, rows: readonly ArchiveRow[]): boolean;
    };

  /** Whether parts of a backup are put aside. */
  hasAside(backup: string): boolean;
  /**
   * A version of a summary: the one that there is, or the one that the object makes. It makes each
   * one once, and goes on without those who wait.
   *
   * @param material what it is made of. Null: it is not made, but an answer `wanted` says that it
   *   would be
   * @param waitMs how long to wait for one in the making. 0: the answer comes at once
   */
  text(request: TextRequest, material: Material | null, waitMs: number): Promise<TextAnswer>;
  /** Reports to the tenant's object the sums that it does not know yet. */
  standing(): Promise<ConversationNumbers>;
  /**
   * Has one version and settings replace versions, rounds, health and settings in one transaction,
   * and answers what is kept then. The conversation and its transcripts are reported to the
   * tenant's object before. What is in the making is dropped.
   *
   * @throws RangeError if a text or a setting is too long
   */
  restore(saved: SavedMemory): Promise<Overview>;

  /**
   * Resolves when no text is being made, or after `ms` milliseconds.
   *
   * @returns whether none is being made
   */
  idle(ms: number): Promise<boolean>;

  /**
   * Deletes everything but the names of the packs. The caller deletes those from R2, then calls
   * `forgetPacks`. If a call in between fails, it can be repeated. What is in the making is
   * dropped.
   *
   * @param unusedSince if given, the conversation is only deleted if it was not used since, and its
   *   settings stay; in milliseconds
   */
  leave(unusedSince?: number): Promise<Left>;
  /**
   * Call this when the packs of `leave` are deleted. Deletes everything if nothing else is stored.
   */
  forgetPacks(packs: readonly string[]): Promise<void>;
  /** Deletes everything except packs in R2. What is in the making is dropped. */
  clear(): Promise<void>;
}
