/**
 * The version chain of summaries as plain data, and how healthy a conversation is, which needs no
 * table.
 */
import { Buffer } from 'node:buffer';
import type { z } from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import type { Result } from '../../lib/result.ts';
import type { Boundary } from '../../memory/conversation/passage.ts';
import type { BillSums } from '../../memory/money/bill-schema.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { healthSchema, overviewSchema, roundSchema, versionSchema } from './memory-schema.ts';

/** The `model` of rows made by code. They are served, but never built on. */
export const DIGEST_MODEL = 'digest';

/** A version as the overview lists it. Times are in milliseconds. */
export type ListedMemory = Immutable<Omit<z.output<typeof versionSchema>, 'completed_at_ms'>>;

/** A version in the making, or one that is used. */
export interface Memory extends Omit<ListedMemory, 'completed_at'> {
  /**
   * The same summary as an upstream has signed it, with what it is bound to. It goes back to that
   * upstream alone, and is not listed. Null without one.
   */
  readonly signed: string | null;
}

export type MemoryStatus = Memory['status'];

export type RoundMemory = Immutable<z.output<typeof roundSchema>>;

/** A transcript's ref, and where it starts. */
export type Transcript = Pick<Memory, 'ref' | 'transcript_from' | 'transcript_earlier'>;

/** One round of a conversation. All its requests must see the same memory. */
export interface RoundHashes {
  readonly hash: string;
  /** The hash of the round before; null for the first one. */
  readonly previous: string | null;
}

/** A version that is wanted. Requests of prefixes, windows and sessions differ in this alone. */
export interface TextRequest {
  /** A new name: the answers to it say what the version has cost that was made for it. */
  readonly order: string;
  /** When the request came that needs it, in milliseconds (see `ConversationTables.isLate`). */
  readonly since: number;
  /** The conversation's label for logs. */
  readonly conversation: string;
  readonly strategyHash: string;
  /** The boundary of the wanted summary. */
  readonly boundary: Boundary;
  /** Earlier boundaries whose summaries may be the base, in any order; empty: start over. */
  readonly bases: readonly Boundary[];
  readonly startSequence: number;
  readonly windowSize: number | null;
  /** How long a degraded conversation first rests. */
  readonly retryIntervalMs: number;
  /**
   * Which versions in the making this one waits for. `boundary`: versions of the same boundary.
   * `conversation`: any of the same strategy.
   */
  readonly exclusive: 'boundary' | 'conversation';
  /**
   * Index of the first message in the material. Without a base that reaches it, nothing is made.
   */
  readonly from: number;
  /**
   * The round that asks, if it has called `find` before. `find` pins nothing while there are no
   * rows, so the order pins the round to no memory. Otherwise its later requests would see the one
   * that is being made now.
   */
  readonly round?: RoundHashes;
}

/** A version that this object makes, which has a row already. */
export interface Claimed {
  readonly state: 'claimed';
  readonly memoryId: number;
  readonly base: Memory | null;
  /** See `Lineages`. */
  readonly lineage: string;
  /** When it began, in milliseconds. */
  readonly began: number;
  readonly request: TextRequest;
}

/** Degraded: no attempt before `retryAt`. */
interface Resting {
  readonly state: 'resting';
  readonly base: Memory | null;
  readonly retryAt: number;
  /** Whether that is since the requests never continue each other. */
  readonly unlinked?: true;
}

export type Claim =
  | { readonly state: 'ready'; readonly memory: Memory }
  | Claimed
  /** Nobody makes it, and nothing was begun. */
  | { readonly state: 'wanted'; readonly base: Memory | null; readonly health: HealthState }
  /** This row is in the making: the wanted boundary's, or another one that comes first. */
  | { readonly state: 'busy'; readonly memoryId: number; readonly base: Memory | null }
  /** No base reaches far enough: it was deleted meanwhile. */
  | { readonly state: 'gone' }
  | Resting;

/** The answer to whom a version is wanted by. */
export type TextAnswer =
  | {
      readonly state: 'ready';
      readonly memory: Memory;
      /** What it has cost, if it was made for this order; null for others. */
      readonly usage: TokenUsage | null;
      /** The summarizer's window in tokens, if it has turned out to be smaller. */
      readonly window?: number | undefined;
    }
  /** Nobody makes it. The caller may ask again, with the material. */
  | Extract<Claim, { state: 'wanted' }>
  /** It is being made, or follows another one. */
  | { readonly state: 'pending'; readonly base: Memory | null }
  /** It could not be made, or may not be made now. */
  | (Omit<Resting, 'retryAt'> & { readonly usage: TokenUsage | null })
  /** Its base, or the whole conversation, was deleted meanwhile. */
  | { readonly state: 'gone' };

export type TextState = TextAnswer['state'];

/** The summary for a row. */
export interface Written extends Transcript {
  /** At most 1 MB in UTF-8. */
  readonly text: string;
  readonly tokens: number;
  readonly model: string;
  /** See `Memory`. */
  readonly signed?: string | undefined;
  /** How long it took. */
  readonly ms: number;
}

/** A part of a long prefix, before the claimed boundary. */
export interface Chunk extends Written {
  readonly boundary: Boundary;
}

export interface Failure {
  /** Lower-case letters, digits and underscores; anything else is stored as `unknown`. */
  readonly error: string;
  /** The name of the error that was caught, for the log. */
  readonly cause?: string;
  /** Whether the summarizer itself has failed. */
  readonly isOutage?: boolean;
}

export interface WrittenText {
  readonly made: Result<Written, Failure>;
  readonly usage: TokenUsage;
  /** See `TextAnswer`. */
  readonly window?: number | undefined;
}

export interface FindRequest {
  readonly strategyHash: string;
  /** The boundaries that may serve, in any order. */
  readonly boundaries: readonly Boundary[];
  /** Makes the first answer hold for the whole round. */
  readonly round?: RoundHashes;
  /** Whether this answer replaces the round's first one. Absent: no. */
  readonly anew?: boolean;
}

export interface Found {
  /** The longest version that is ready, digests included. */
  readonly memory: Memory | null;
  /** Whether this round uses another memory than the previous one. */
  readonly moved: boolean;
  readonly health: HealthState;
  /**
   * The hashes up to which the digests of this and the previous round reach. Empty: no digest;
   * null: not decided.
   */
  readonly digest: { readonly here: string | null; readonly before: string | null };
  /** Whether no summary is made, since the requests never continue each other. Absent: no. */
  readonly unlinked?: boolean;
  /** Whether anything is ready for this strategy, at any boundary. */
  readonly known: boolean;
}

/** An entry of a user's memory, as a block was made of it. */
export interface BlockSource {
  /** See `sessionIn`. */
  readonly conversation: string;
  /** When the entry was made, in milliseconds. A later entry of the conversation has another. */
  readonly since: number;
}

/** The block of cross-session memory in a conversation. */
export interface FrozenBlock {
  /** Empty if there was nothing to report. */
  readonly text: string;
  readonly sources: readonly BlockSource[];
}

/** JSON values; null means absent. */
export interface Settings {
  readonly memory_strategy: unknown;
  readonly memory_injection: unknown;
}

export interface Overview extends Immutable<Omit<z.output<typeof overviewSchema>, 'memories'>> {
  readonly exists: boolean;
  readonly settings: Settings;
  /** The newest versions, newest first. */
  readonly memories: readonly ListedMemory[];
}

/** The part of an overview from which a conversation can go on. */
export interface SavedMemory extends Pick<Overview, 'settings'> {
  /** The completed version with the newest text. */
  readonly memory: ListedMemory | null;
  /** The conversation's label for logs. */
  readonly conversation: string;
}

export interface ConversationNumbers extends SummaryNumbers {
  /**
   * How many requests it had, and the newest one that is kept, with its agent, its time in
   * milliseconds and the HTTP status of its answer.
   */
  readonly requests: number;
  readonly newest: {
    readonly model: string | null;
    readonly agent: string | null;
    readonly at: number;
    readonly status: number;
  } | null;
}

/** The summaries of a conversation in numbers, and what it has cost. */
export interface SummaryNumbers {
  readonly exists: boolean;
  /** The worst of its lineages. */
  readonly health: HealthState;
  readonly stuck: boolean;
  /** Completed versions that are kept. */
  readonly versions: number;
  /** Of the newest summary; null without one. */
  readonly tokens: number | null;
  /** How long summaries took, by the day of their completion, newest first. */
  readonly days: readonly GenerationTimes[];
  readonly bills: BillSums;
}

/** Times in milliseconds. */
export interface GenerationTimes {
  /** Days since the epoch, in UTC. */
  readonly day: number;
  readonly count: number;
  readonly total_ms: number;
  readonly max_ms: number;
  /** The versions with a window, and its sizes: the sum, and the largest. */
  readonly windows: number;
  readonly total_window: number;
  readonly max_window: number | null;
}

/** What is reported to a deployer about a version that has ended: ids and numbers, and no text. */
export type SettledSummary = {
  readonly memory_id: number;
  readonly status: 'completed' | 'failed';
  /** Milliseconds. */
  readonly generation_time_ms: number;
  /** The version that it builds on; null without one. */
  readonly base_memory_id: number | null;
  /** First and last sequence number. */
  readonly start_sequence: number;
  readonly end_sequence: number;
  /** Of its text; null for one that has failed. */
  readonly tokens: number | null;
  /** Of the base's text; null without a base. */
  readonly base_tokens: number | null;
};

export type HealthState = z.output<typeof healthSchema>;

/** How summarizing has gone lately in one conversation. */
export interface Health {
  readonly state: HealthState;
  /** Failures since the last success. */
  readonly failures: number;
  /** While degraded, the time of the next attempt. */
  readonly retryAt: number;
  /** When the last failure was counted. Absent without one, and in rows from before 0.10.0. */
  readonly failedAt?: number;
}

/** Whether a conversation's requests continue each other. */
export interface Continuity {
  /** Claims in a row whose array has held nothing of the summaries before. */
  readonly unlinked: number;
  /** When another one is made, in milliseconds since the epoch. */
  readonly retryAt: number;
}

export const HEALTHY: Health = { state: 'healthy', failures: 0, retryAt: 0 };

export function afterRetry(health: Health): Health {
  return health.state === 'healthy' ? { ...health, state: 'retry' } : health;
}

/**
 * Each failure in a row doubles the rest, up to an hour. An attempt that was in progress at the
 * last failure has met the same outage, and does not count again.
 *
 * @param retryIntervalMs the first rest
 * @param began when the attempt began
 */
export function afterFailure(health: Health, now: number, retryIntervalMs: number, began = now): Health {
  const { failures, failedAt } = health;
  if (failedAt !== undefined && began <= failedAt) return health;
  const rest = Math.min(
    Math.max(retryIntervalMs, TIME_LIMITS.shortestRestMs) * 2 ** failures,
    TIME_LIMITS.longestRestMs,
  );
  return { state: 'degraded', failures: failures + 1, retryAt: now + rest, failedAt: now };
}

/**
 * Whether the newest version is there, and the summarizer has not failed since. A digest does not
 * end a failure.
 */
export function isNewestMade({ health, memories }: Pick<Overview, 'health' | 'memories'>): boolean {
  const isFailing = health === 'degraded' || health === 'recovering';
  return !isFailing && (memories[0] === undefined || memories[0].status === 'completed');
}

export function isResting({ state, retryAt }: Health, now: number): boolean {
  return state === 'degraded' && now < retryAt;
}

/**
 * SQLite limits rows and strings to 2 MB
 * (https://developers.cloudflare.com/durable-objects/platform/limits/). A local workerd does not
 * enforce it.
 */
export const LONGEST_TEXT_BYTES = 1_000_000;

/** How many versions, and how many rounds, an overview lists. */
export const LISTED = 100;

/** @throws RangeError if a text is too long to be stored */
export function assertFits(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > LONGEST_TEXT_BYTES) throw new RangeError(`a text of ${bytes} bytes is too long to be stored`);
}
