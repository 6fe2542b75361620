/**
 * Reads of one conversation's versions. Rows match by the hash of the messages before their
 * boundary, so forks can share an object without seeing each other. Without tables nothing is
 * found.
 */
import { DAY_MS } from '../../lib/utc-time.ts';
import type { Boundary } from '../../memory/conversation/passage.ts';
import { AMONG, type LazyTables } from '../tables.ts';
import {
  DIGEST_MODEL,
  type GenerationTimes,
  LISTED,
  type ListedMemory,
  type Memory,
  type Overview,
  type SummaryNumbers,
  type TextRequest,
} from './memories.ts';

/**
 * The maximum of messages in a conversation (docs/operating.md#limits). Their hashes stay below the
 * 2 MB limit of a bound string.
 */
const MOST_CANDIDATES = 20_000;

/**
 * The sequence numbers that a version spans; null in modes without a window. The column itself has
 * the strategy's maximum, by which a writer moves the start.
 */
const OWN_WINDOW = 'CASE WHEN m.window_size IS NOT NULL THEN m.end_sequence - m.start_sequence + 1 END';

const LISTED_COLUMNS = `m.memory_id, m.base_memory_id, m.prefix_hash, m.strategy_hash, m.start_sequence, m.end_sequence,
  m.base_end_seq, ${OWN_WINDOW} AS window_size, m.covers_end, m.status, m.memory_text, m.ref, m.tokens, m.model, m.attempts, m.error,
  m.created_at, m.generation_time_ms, m.transcript_from, m.transcript_earlier`;

const COLUMNS = `${LISTED_COLUMNS}, m.signed`;

/**
 * Of several versions of a boundary the first completed counts; in the same millisecond, a digest
 * before a summary.
 */
const FIRST = `m.completed_at, m.model <> '${DIGEST_MODEL}', m.memory_id`;

/** One without an end. `lost`: how many writers in a row were lost before its own. */
type RowInTheMaking = { readonly memory_id: number; readonly attempts: number; readonly lost: number };

interface LongestOptions {
  /** No digests. */
  readonly buildable?: boolean;
  /** Only this row; null: any. */
  readonly only?: number | null;
}

/**
 * A claimed row is older than the chunks it builds on, and may be completed in the same
 * millisecond.
 */
const NEWEST = 'completed_at DESC, covers_end DESC, memory_id DESC';

export class MemoryRows {
  private readonly table: LazyTables;

  constructor(table: LazyTables) {
    this.table = table;
  }

  /** @throws if there is none */
  row(memoryId: number): Memory {
    return this.table.one(`SELECT ${COLUMNS} FROM memories m WHERE m.memory_id = ?`, memoryId);
  }

  /**
   * The completed version of the longest boundary; of several, the first. All hashes are one
   * parameter of one query. The index is named, since the other one would cost hashes × rows.
   */
  longest(
    strategyHash: string,
    boundaries: readonly Boundary[],
    { buildable = false, only = null }: LongestOptions = {},
  ): Memory | null {
    if (boundaries.length === 0) return null;
    const candidates = boundaries.toSorted((a, b) => a.end - b.end).slice(-MOST_CANDIDATES);
    const found = this.table.first<Memory & { candidate: number }>(
      `SELECT ${COLUMNS}, c.key AS candidate FROM json_each(?1) c
         CROSS JOIN memories m INDEXED BY memories_by_prefix ON m.prefix_hash = c.value AND m.strategy_hash = ?2
       WHERE m.status = 'completed' AND (?3 = 0 OR m.model <> ?4) AND (?5 IS NULL OR m.memory_id = ?5)
       ORDER BY c.key DESC, ${FIRST} LIMIT 1`,
      candidates.map(({ prefixHash }) => prefixHash),
      strategyHash,
      buildable ? 1 : 0,
      DIGEST_MODEL,
      only,
    );
    if (!found) return null;
    const { candidate, ...memory } = found;
    // The hash leaves out the preamble, so the asking array may have another count of messages.
    return { ...memory, covers_end: candidates[candidate]?.end ?? memory.covers_end };
  }

  /** The first completed version of a row's boundary. There must be such a row. */
  instead(memoryId: number): Memory | null {
    const found = this.table.first<Memory>(
      `SELECT ${COLUMNS} FROM memories mine JOIN memories m
         ON m.prefix_hash = mine.prefix_hash AND m.strategy_hash = mine.strategy_hash AND m.status = 'completed'
       WHERE mine.memory_id = ? ORDER BY ${FIRST} LIMIT 1`,
      memoryId,
    );
    return found ?? null;
  }

  /** The rows without an end that a version waits for, unless their writer is lost. */
  inTheMaking({ strategyHash, boundary, exclusive }: TextRequest, lineage: string): RowInTheMaking[] {
    return this.table.all<RowInTheMaking>(
      `SELECT memory_id, attempts, lost FROM memories
       WHERE strategy_hash = ? AND status = 'processing' AND ((? AND lineage = ?) OR prefix_hash = ?)
       ORDER BY memory_id`,
      strategyHash,
      exclusive === 'conversation' ? 1 : 0,
      lineage,
      boundary.prefixHash,
    );
  }

  /** Whether there is any row, of any status. */
  any(): boolean {
    return this.has('1');
  }

  /** Whether a summarizer has written anything for a strategy in a lineage. */
  anyWritten(strategyHash: string, lineage: string): boolean {
    return this.has(
      "strategy_hash = ? AND status = 'completed' AND lineage = ? AND model <> ?",
      strategyHash,
      lineage,
      DIGEST_MODEL,
    );
  }

  /** Whether anything is completed for a strategy in a lineage, at any boundary. */
  anyCompleted(strategyHash: string, lineage: string): boolean {
    return this.has("strategy_hash = ? AND status = 'completed' AND lineage = ?", strategyHash, lineage);
  }

  /**
   * The newest versions and their statistics.
   *
   * @param making the rows that the object makes now
   */
  listing(making: readonly number[]): Omit<Overview, 'exists' | 'settings' | 'health' | 'rounds'> {
    const newest = this.table.value<string>(
      `SELECT memory_text FROM memories WHERE status = 'completed' ORDER BY ${NEWEST} LIMIT 1`,
    );
    return {
      conversation_memory: newest ?? null,
      memories: this.table.all<ListedMemory>(
        `SELECT ${LISTED_COLUMNS}, m.completed_at FROM memories m ORDER BY m.memory_id DESC LIMIT ${LISTED}`,
      ),
      stats: this.table.first(
        `SELECT CAST(round(avg(generation_time_ms)) AS INTEGER) AS avg_ms, max(generation_time_ms) AS max_ms,
           count(*) AS total_summaries
         FROM memories WHERE status = 'completed' AND generation_time_ms IS NOT NULL`,
      ) ?? { avg_ms: null, max_ms: null, total_summaries: 0 },
      stuck: this.isStuck(making),
    };
  }

  /** The versions in numbers. @param making see `listing` */
  numbers(making: readonly number[]): Omit<SummaryNumbers, 'exists' | 'health' | 'bills'> {
    const tokens = this.table.value<number | null>(
      `SELECT tokens FROM memories WHERE status = 'completed' ORDER BY ${NEWEST} LIMIT 1`,
    );
    const versions = this.table.value<number>("SELECT count(*) FROM memories WHERE status = 'completed'");
    const days = this.table.all<GenerationTimes>(
      `SELECT coalesce(completed_at, created_at) / ${DAY_MS} AS day, count(*) AS count,
         sum(generation_time_ms) AS total_ms, max(generation_time_ms) AS max_ms,
         count(${OWN_WINDOW}) AS windows, coalesce(sum(${OWN_WINDOW}), 0) AS total_window,
         max(${OWN_WINDOW}) AS max_window
       FROM memories m WHERE status = 'completed' AND generation_time_ms IS NOT NULL
       GROUP BY day ORDER BY day DESC`,
    );
    return { versions: versions ?? 0, tokens: tokens ?? null, stuck: this.isStuck(making), days };
  }

  /**
   * A row whose writer is lost is missed by nobody once its boundary has a version, or the
   * conversation has a later one.
   */
  private isStuck(making: readonly number[]): boolean {
    return this.table.has(
      `SELECT 1 FROM memories mine
       WHERE mine.status = 'processing' AND mine.memory_id NOT ${AMONG}
         AND NOT EXISTS (
           SELECT 1 FROM memories m WHERE m.strategy_hash = mine.strategy_hash AND m.status = 'completed'
             AND (m.prefix_hash = mine.prefix_hash
               OR (m.lineage = mine.lineage AND m.covers_end > mine.covers_end)))
       LIMIT 1`,
      making,
    );
  }

  private has(condition: string, ...values: (string | number)[]): boolean {
    return this.table.has(`SELECT 1 FROM memories WHERE ${condition} LIMIT 1`, ...values);
  }
}
