/** What other isolates can call on the object of a conversation. */
import type { TokenUsage } from '../../memory/plan/report.ts';
import type {
  ArchiveHit,
  ArchivePage,
  ArchiveRow,
  Lacking,
  NotedPacks,
  PageLimits,
  SearchPlace,
} from '../archive/rows.ts';
import type {
  Chunk,
  Claim,
  Claimed,
  ClaimRequest,
  Failure,
  FindRequest,
  Found,
  Memory,
  Overview,
  Settings,
  Written,
} from './memories.ts';

/**
 * What is left of a conversation: nothing, now or before; its settings; or all, since it is in use.
 */
export type Left =
  | {
      readonly of: 'nothing' | 'settings';
      /** Whether there was anything. */
      readonly existed: boolean;
      /** The names of packs that are to be deleted from R2. */
      readonly packs: readonly string[];
    }
  | {
      readonly of: 'all';
      /** In milliseconds. */
      readonly usedAt: number;
    };

/**
 * The chain of summaries, as its writer uses it. See `MemoryChain` for what these do and throw.
 */
export interface SummaryChain {
  retrying(memoryId: number, lease: string, error: string): boolean;
  renew(memoryId: number, lease: string): boolean;
  advance(memoryId: number, lease: string, chunk: Chunk): Memory | null;
  complete(memoryId: number, lease: string, written: Written): Memory | null;
  fail(memoryId: number, lease: string, failure: Failure): Memory | null;
  /** Remembers the cost of a summary, for the request that waits for it. */
  spend(memoryId: number, usage: TokenUsage): void;
}

/**
 * @param Material what a summary is made from. It holds the caller's key: it stays in memory, and
 *   is neither stored nor logged
 */
export interface ConversationApi<Material> extends SummaryChain {
  /** See `MemoryChain` and `ConversationState` for what these do and throw. */
  claim(request: ClaimRequest): Promise<Claim>;
  keepDigest(
    request: ClaimRequest,
    baseMemoryId: number | null,
    digest: Omit<Written, 'model'>,
  ): Promise<Memory>;
  find(request: FindRequest): Found;
  pinDigest(round: string, strategyHash: string, hash: string): void;
  overview(): Overview;
  settings(): Settings;
  configure(settings: Settings): Promise<void>;
  injection(): string | null;
  freezeInjection(text: string): Promise<string>;

  /** Claims, and when that succeeds makes the summary in the background. Returns at once. */
  roll(request: ClaimRequest, material: Material): Promise<Claim['state']>;
  /**
   * Writes in the background what the caller has claimed: it may take longer than the caller lives.
   * Returns at once.
   */
  takeOver(claim: Claimed, request: ClaimRequest, material: Material): void;
  /** Takes a claim back, and leaves nothing where there is nothing else. */
  abandon(memoryId: number, lease: string): Promise<void>;
  /**
   * Resolves when a row is no longer processing, or after `ms` milliseconds. Never throws.
   *
   * @returns what was spent on it in the background, as long as the object remembers
   */
  settled(memoryId: number, ms: number): Promise<TokenUsage | null>;

  /**
   * Deletes everything but the names of the packs. The caller deletes these from R2, then calls
   * `forgetPacks`. A failed call in between can be repeated. Active writers lose their leases.
   *
   * @param unusedSince where given, only a conversation that was not used since then is deleted,
   *   and its settings stay; in milliseconds
   */
  leave(unusedSince?: number): Promise<Left>;
  /**
   * To be called when the packs of `leave` are gone. Leaves nothing where there is nothing else.
   */
  forgetPacks(packs: readonly string[]): Promise<void>;
  /** Deletes everything, but no packs from R2. Active writers lose their leases. */
  clear(): Promise<void>;

  /** See `ArchiveRows` for what these do. */
  unarchived(keys: readonly string[]): readonly Lacking[];
  notePacks(after: string | null, packs: readonly string[]): Promise<NotedPacks | null>;
  addToArchive(generation: string, rows: readonly ArchiveRow[]): boolean;
  /** A page of the archive; null when nothing is kept of the conversation. */
  archived(after: number, limits: PageLimits): ArchivePage<number> | null;
  /**
   * A page of what a search of the archive finds; null when nothing is kept of the conversation.
   */
  searchArchive(
    match: string,
    place: SearchPlace | null,
    limits: PageLimits,
  ): ArchivePage<SearchPlace> | null;
  /**
   * The best of what a search of the archive finds; null when nothing is kept of the conversation.
   */
  archiveHits(match: string, limit: number, keys: readonly string[] | null): readonly ArchiveHit[] | null;
}
