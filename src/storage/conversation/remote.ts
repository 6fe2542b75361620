/** Methods of a conversation's object that other isolates can call. */
import type { MemoryBlock } from '../../memory/strategy/block-text.ts';
import type { MadeNear } from '../archive/near.ts';
import type {
  ArchivedText,
  ArchivePage,
  ArchiveRow,
  Lacking,
  NotedPacks,
  PageLimits,
} from '../archive/rows.ts';
import type { ArchiveHits, SearchPage, SearchPlace } from '../archive/search.ts';
import type { BackupApi } from '../object-backup.ts';
import type { NewRounds, RoundsVerdict, StoredRounds } from './kept-rounds.ts';
import type {
  FindRequest,
  Found,
  FrozenBlock,
  Memory,
  Overview,
  SavedMemory,
  Settings,
  Standing,
  TextAnswer,
  TextRequest,
  Written,
} from './memories.ts';
import type { DigestAnswer, DigestOrder, DigestVerdict } from './output-digests.ts';
import type { FoundRun, RunBatch, RunPage } from './run-batch.ts';

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
  /** See `MemoryChain` and `ConversationState`. Null for a request that came before a deletion. */
  keepDigest(
    request: TextRequest,
    baseMemoryId: number | null,
    digest: Omit<Written, 'model'>,
  ): Promise<Memory | null>;
  find(request: FindRequest): Found;
  pinDigest(round: string, strategyHash: string, hash: string): void;
  overview(): Overview;
  /** Reports to the tenant's object the sums that it does not know yet. */
  standing(): Promise<Standing>;
  /** @param isUse false: the conversation does not count as used by this (see `RETENTION_DAYS`) */
  settings(isUse?: boolean): Settings;
  configure(changes: Partial<Settings>): Promise<void>;
  /**
   * Has one version and settings replace versions, rounds, health and settings in one transaction,
   * and answers what is kept then. The conversation and its transcripts are reported to the
   * tenant's object before. What is in the making is dropped.
   *
   * @throws RangeError if a text or a setting is too long
   */
  restore(saved: SavedMemory): Promise<Overview>;
  injection(): FrozenBlock | null;
  freezeInjection(block: FrozenBlock, replaced: string | null): Promise<FrozenBlock>;

  /** See `FrozenBlocks`. */
  frozenBlocks(point: string, labels: readonly string[]): readonly MemoryBlock[];
  freezeBlocks(
    point: string,
    blocks: readonly MemoryBlock[],
    replaces: boolean,
  ): Promise<readonly MemoryBlock[]>;

  /** See `OutputDigests`. */
  findDigests(keys: readonly string[]): (DigestVerdict | null)[];
  makeDigests(
    orders: readonly DigestOrder<Material>[],
    waitMs: number,
    since: number,
  ): Promise<DigestAnswer[]>;

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

  /** See `KeptRoundsRows`. */
  keptRounds(keys: readonly string[]): (StoredRounds | null)[];
  keepRounds(rounds: NewRounds): Promise<RoundsVerdict>;

  /** See `RunEvents`. */
  keepRuns(batch: RunBatch): Promise<void>;
  /** A page of events; null if nothing is stored of the conversation. */
  listRuns(before: number | null, most: number): RunPage | null;
  /** Null if nothing is stored of the conversation. */
  findRun(n: number): FoundRun | null;
  answered(arrays: readonly string[]): number | null;
  askedAt(arrays: readonly string[]): (number | null)[];

  /** See `ArchiveRows`. */
  unarchived(keys: readonly string[]): readonly Lacking[];
  archivedAt(keys: readonly string[]): readonly (number | null)[];
  archivedCount(): number;
  archivedTexts(most: number): readonly ArchivedText[];
  packsAfter(pack: string, most: number): readonly string[];
  notePacks(after: string | null, packs: readonly string[], since: number): Promise<NotedPacks | null>;
  addToArchive(generation: string, rows: readonly ArchiveRow[]): boolean;
  /** A page of the archive; null if nothing is stored of the conversation. */
  archived(after: number, limits: PageLimits): ArchivePage<number> | null;
  /** A page of search results; null if nothing is stored of the conversation. */
  searchArchive(words: string, place: SearchPlace | null, limits: PageLimits): Promise<SearchPage | null>;
  /**
   * The best search results; null if nothing is stored of the conversation.
   *
   * @param made see `ArchiveEmbedding`; with it those with the words come first (`mergeArchives`)
   */
  archiveHits(
    words: string,
    limit: number,
    keys: readonly string[] | null,
    made?: MadeNear | null,
  ): Promise<ArchiveHits | null>;
}
