/**
 * The version chain of summaries as plain data: what is stored, what is asked and answered, and the
 * two decisions that need no table, who holds a row and how healthy a conversation is.
 */
import type { Boundary } from '../../memory/conversation/passage.ts';

/**
 * Rows that code made, not a model, name this as their model. They are served, and never built
 * upon.
 */
export const DIGEST_MODEL = 'digest';

/**
 * A row that has been processing for so long is stuck, whatever its lease says, in milliseconds
 * (docs/design.md#7-storage).
 */
export const STUCK_MS = 300_000;

/** A rest of nothing would not double. In milliseconds. */
const SHORTEST_REST_MS = 100;

/** The longest rest between two attempts, in milliseconds. */
const LONGEST_REST_MS = 3_600_000;

export type MemoryStatus = 'processing' | 'completed' | 'failed';

/**
 * One version: a summary of the messages before a boundary, made, being made, or failed. Times in
 * milliseconds.
 */
export interface Memory {
  readonly memory_id: number;
  /** The version that it was built upon. */
  readonly base_memory_id: number | null;
  readonly prefix_hash: string;
  readonly strategy_hash: string;
  /** First and last sequence number. */
  readonly start_sequence: number;
  readonly end_sequence: number;
  readonly base_end_seq: number | null;
  readonly window_size: number | null;
  /**
   * How many messages of the array stand before the boundary; in answers to `claim` and `find`, of
   * the asking array.
   */
  readonly covers_end: number;
  readonly status: MemoryStatus;
  readonly memory_text: string | null;
  /** The ref of the transcript. */
  readonly ref: string | null;
  readonly tokens: number | null;
  readonly model: string | null;
  /** 1 from the claim on, one more with each retry and with each claim that takes over. */
  readonly attempts: number;
  /** A code, never content. */
  readonly error: string | null;
  readonly created_at: number;
  readonly generation_time_ms: number | null;
  /**
   * Where the transcript starts: the hash of what stands before it (empty: nothing), and the ref
   * that it names for that.
   */
  readonly transcript_from: string;
  readonly transcript_earlier: string | null;
}

/** A transcript's ref, and where it starts. */
export type Transcript = Pick<Memory, 'ref' | 'transcript_from' | 'transcript_earlier'>;

/** One round of a conversation. All its requests are to see the same memory. */
export interface Round {
  readonly hash: string;
  /** The round before; null in the first one. */
  readonly previous: string | null;
}

export interface ClaimRequest {
  /** The label for logs. */
  readonly conversation: string;
  readonly strategyHash: string;
  /** Of the summary that is wanted. */
  readonly boundary: Boundary;
  /** Earlier boundaries at which a summary may be taken up, in any order; none: start over. */
  readonly bases: readonly Boundary[];
  readonly startSequence: number;
  readonly windowSize: number | null;
  readonly leaseMs: number;
  /** How long a degraded conversation rests at first. */
  readonly retryIntervalMs: number;
  /**
   * `boundary`: only a summary of the same boundary in the making keeps this one waiting.
   * `conversation`: any of the same strategy.
   */
  readonly exclusive: 'boundary' | 'conversation';
  /**
   * The message with which the material begins: where no base reaches up to there, nothing is
   * claimed.
   */
  readonly from: number;
  /**
   * The round that asks, when it has asked `find` before. `find` pins nothing while there are no
   * rows, so the claim pins such a round to no memory; or its later requests would see the one that
   * is now being made.
   */
  readonly round?: Round;
}

/** The caller is the writer, and must end the claim with `complete` or `fail`. */
export interface Claimed {
  readonly state: 'claimed';
  readonly memoryId: number;
  readonly lease: string;
  readonly base: Memory | null;
}

export type Claim =
  | { readonly state: 'ready'; readonly memory: Memory }
  | Claimed
  /** Another one is the writer, of the row with this id. */
  | { readonly state: 'busy'; readonly memoryId: number; readonly base: Memory | null }
  /** There is no base that reaches far enough: it was deleted meanwhile. */
  | { readonly state: 'gone' }
  /** Degraded: no attempt before `retryAt`. */
  | { readonly state: 'resting'; readonly base: Memory | null; readonly retryAt: number };

/** What was made for a row. */
export interface Written extends Transcript {
  /** At most 1 MB in UTF-8. */
  readonly text: string;
  readonly tokens: number;
  readonly model: string;
  /** How long it took. */
  readonly ms: number;
}

/** A part of a long prefix, read on the way to the claimed boundary. */
export interface Chunk extends Written {
  readonly boundary: Boundary;
}

export interface Failure {
  /** A code of lower-case letters, digits and underscores; anything else is kept as `unknown`. */
  readonly error: string;
  /** Takes the place of the summary that could not be made. */
  readonly digest?: Omit<Written, 'model'>;
}

export interface FindRequest {
  readonly strategyHash: string;
  /** The boundaries of which any may serve, in any order. */
  readonly boundaries: readonly Boundary[];
  /** With it, the first answer holds for the whole round. */
  readonly round?: Round;
}

export interface Found {
  /** The longest that is ready, digests included. */
  readonly memory: Memory | null;
  /** Whether this round uses another memory than the round before. */
  readonly moved: boolean;
  readonly health: HealthState;
  /**
   * The hashes up to which the digests of this round and of the one before reach; empty: none;
   * null: not decided.
   */
  readonly digest: { readonly here: string | null; readonly before: string | null };
  /** Whether anything is ready for this strategy, of whatever boundary. */
  readonly known: boolean;
}

/** JSON values; null is absent. */
export interface Settings {
  readonly memory_strategy: unknown;
  readonly memory_injection: unknown;
}

export interface Overview {
  /** Whether anything is stored. */
  readonly exists: boolean;
  readonly settings: Settings;
  readonly health: HealthState;
  /** The text of the newest summary. */
  readonly conversation_memory: string | null;
  /** Newest first. */
  readonly memories: readonly Memory[];
  readonly stats: {
    /** Whole milliseconds; null when nothing was measured. */
    readonly avg_ms: number | null;
    readonly max_ms: number | null;
    readonly total_summaries: number;
  };
  readonly stuck: boolean;
}

export type HealthState = 'healthy' | 'retry' | 'degraded' | 'recovering';

/** How the making of summaries has gone lately in one conversation. */
export interface Health {
  readonly state: HealthState;
  /** Failures since the last success. */
  readonly failures: number;
  /** While degraded, the time of the next attempt. */
  readonly retryAt: number;
}

export const HEALTHY: Health = { state: 'healthy', failures: 0, retryAt: 0 };

export function afterRetry(health: Health): Health {
  return health.state === 'healthy' ? { ...health, state: 'retry' } : health;
}

/** Each failure in a row doubles the rest, up to an hour. @param retryIntervalMs the first rest */
export function afterFailure({ failures }: Health, now: number, retryIntervalMs: number): Health {
  const rest = Math.min(Math.max(retryIntervalMs, SHORTEST_REST_MS) * 2 ** failures, LONGEST_REST_MS);
  return { state: 'degraded', failures: failures + 1, retryAt: now + rest };
}

/** Whether a degraded conversation must wait. */
export function isResting({ state, retryAt }: Health, now: number): boolean {
  return state === 'degraded' && now < retryAt;
}

/** Whether the writer of a processing row still has its time. */
export function isHeld(row: { lease_until: number; created_at: number }, now: number): boolean {
  return now < row.lease_until && now - row.created_at < STUCK_MS;
}

/**
 * SQLite rows and strings end at 2 MB
 * (https://developers.cloudflare.com/durable-objects/platform/limits/), which a local workerd does
 * not enforce.
 */
const LONGEST_TEXT_BYTES = 1_000_000;

/** @throws RangeError when a text is too long to be stored */
export function assertFits(text: string): void {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > LONGEST_TEXT_BYTES) throw new RangeError(`a text of ${bytes} bytes is too long to be stored`);
}
