/** Methods of a conversation's object that other isolates can call. */
import type { TokenUsage } from '../../memory/plan/report.ts';
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
import type { BackupApi } from '../backup/object-backup.ts';
import type { NewRounds, RoundsVerdict, StoredRounds } from './kept-rounds.ts';
import type {
  Chunk,
  Claim,
  Claimed,
  ClaimRequest,
  Failure,
  FindRequest,
  Found,
  FrozenBlock,
  Memory,
  OrderState,
  Overview,
  SavedMemory,
  Settings,
  Standing,
  Written,
} from './memories.ts';
import type { DigestClaim, DigestsRequest, DigestVerdict } from './output-digests.ts';
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

/** The part of `MemoryChain` that a summary's writer uses. See there. */
export interface SummaryChain {
  retrying(memoryId: number, lease: string, error: string): boolean;
  renew(memoryId: number, lease: string): boolean;
  advance(memoryId: number, lease: string, chunk: Chunk): Memory | null;
  complete(memoryId: number, lease: string, written: Written): Memory | null;
  fail(memoryId: number, lease: string, failure: Failure): Memory | null;
  /** Remembers a summary's cost for the request that waits for it. */
  spend(memoryId: number, usage: TokenUsage): void;
}

/**
 * @param Material the input of a summary. It holds the caller's key, so it stays in memory and is
 *   neither stored nor logged
 */
export interface ConversationApi<Material> extends SummaryChain, BackupApi {
  /** Whether parts of a backup are put aside. */
  hasAside(backup: string): boolean;
  /** See `MemoryChain` and `ConversationState`. */
  claim(request: ClaimRequest): Promise<Claim>;
  keepDigest(
    request: ClaimRequest,
    baseMemoryId: number | null,
    digest: Omit<Written, 'model'>,
  ): Promise<Memory>;
  find(request: FindRequest): Found;
  pinDigest(round: string, strategyHash: string, hash: string): void;
  overview(): Overview;
  /** Tells the tenant's object the sums that it does not know yet. */
  standing(): Promise<Standing>;
  /** @param isUse false: the conversation does not count as used by this (see `RETENTION_DAYS`) */
  settings(isUse?: boolean): Settings;
  configure(changes: Partial<Settings>): Promise<void>;
  /**
   * Replaces versions, rounds, health and settings in one transaction, and answers what is kept
   * then. The conversation and its transcripts are reported to the tenant's object before. Active
   * writers lose their leases.
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
  claimDigests(request: DigestsRequest): Promise<DigestClaim[]>;
  findDigests(keys: readonly string[]): (DigestVerdict | null)[];
  settleDigests(verdicts: readonly DigestVerdict[], restMs: number): DigestVerdict[];

  /**
   * Claims, and on success makes the summary in the background; if another one is in the making,
   * after that one. Returns at once.
   */
  roll(request: ClaimRequest, material: Material): Promise<OrderState>;
  /**
   * Makes a claimed summary in the background, since it may take longer than the caller lives.
   * Returns at once.
   */
  takeOver(claim: Claimed, request: ClaimRequest, material: Material): void;
  /** Undoes a claim. Deletes everything if nothing else is stored. */
  abandon(memoryId: number, lease: string): Promise<void>;
  /**
   * Resolves when nobody writes a text any more, or after `ms` milliseconds. Never throws.
   *
   * @param text the id of a version, or the key of a digest
   * @returns the cost of its background work, while the object remembers it
   */
  settled(text: number | string, ms: number): Promise<TokenUsage | null>;

  /**
   * Resolves when no version is being made, or after `ms` milliseconds.
   *
   * @returns whether none is being made
   */
  idle(ms: number): Promise<boolean>;

  /**
   * Deletes everything but the names of the packs. The caller deletes those from R2, then calls
   * `forgetPacks`. If a call in between fails, it can be repeated. Active writers lose their
   * leases.
   *
   * @param unusedSince if given, the conversation is only deleted if it was not used since, and its
   *   settings stay; in milliseconds
   */
  leave(unusedSince?: number): Promise<Left>;
  /**
   * Call this when the packs of `leave` are deleted. Deletes everything if nothing else is stored.
   */
  forgetPacks(packs: readonly string[]): Promise<void>;
  /** Deletes everything except packs in R2. Active writers lose their leases. */
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
  askedAt(arrays: readonly string[]): (number | null)[];

  /** See `ArchiveRows`. */
  unarchived(keys: readonly string[]): readonly Lacking[];
  archivedAt(keys: readonly string[]): readonly (number | null)[];
  archivedCount(): number;
  archivedTexts(most: number): readonly ArchivedText[];
  packsAfter(pack: string, most: number): readonly string[];
  notePacks(after: string | null, packs: readonly string[]): Promise<NotedPacks | null>;
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
