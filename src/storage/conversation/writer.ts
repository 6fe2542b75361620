/**
 * All changes to one conversation's versions, and their log lines. The chain decides; it has made
 * the tables before it calls.
 */
import type { LogFields } from '../../log.ts';
import type { Boundary } from '../../memory/conversation/passage.ts';
import { windowStart } from '../../memory/conversation/sequence.ts';
import { insertInto, type LazyTables } from '../tables.ts';
import {
  type Chunk,
  DIGEST_MODEL,
  type HealthState,
  type ListedMemory,
  type Memory,
  type MemoryStatus,
  type SettledSummary,
  type TextRequest,
  type Written,
} from './memories.ts';

export interface ChainPorts {
  readonly log: (level: 'debug' | 'info' | 'warn', message: string, fields?: LogFields) => void;
  /** See `logNameOf`. */
  readonly logName: () => string;
  /**
   * Called for every summary that was written or has failed.
   *
   * @param ms how long a written one took
   */
  readonly settled?: (summary: SettledSummary) => void;
  readonly healthChanged?: (before: HealthState, health: HealthState) => void;
  /** The rows that this object makes now. */
  readonly making: () => readonly number[];
}

const KEPT_MEMORIES = 500;

/** The error of a row whose writer is lost. */
export const WRITER_LOST = 'writer_lost';

/** Values of `memories`, by column. */
type Columns = Record<string, SqlStorageValue>;

export class MemoryWriter {
  private readonly table: LazyTables;
  private readonly ports: ChainPorts;

  constructor(table: LazyTables, ports: ChainPorts) {
    this.table = table;
    this.ports = ports;
  }

  /** Adds a processing row. @param tried see `RowInTheMaking` @returns its id */
  open(
    request: TextRequest,
    lineage: string,
    base: Memory | null,
    tried: { readonly attempts: number; readonly lost: number },
  ): number {
    const memoryId = this.insert(lineage, {
      ...this.columnsOf(request),
      base_memory_id: base?.memory_id ?? null,
      base_end_seq: base?.end_sequence ?? null,
      status: 'processing',
      ...tried,
    });
    this.logStatus(memoryId, 'processing');
    return memoryId;
  }

  retry(memoryId: number, error: string): void {
    this.table.change(
      'UPDATE memories SET attempts = attempts + 1, error = ? WHERE memory_id = ?',
      codeOf(error),
      memoryId,
    );
  }

  rebase(memoryId: number, base: Memory): void {
    this.set(memoryId, { base_memory_id: base.memory_id, base_end_seq: base.end_sequence });
  }

  complete(memoryId: number, written: Written): void {
    this.set(memoryId, this.columnsOfWritten(written));
    this.reportCompleted(memoryId);
  }

  /** Ends a row without a summary. @param cause the name of the error that was caught */
  close(memoryId: number, error: string, cause?: string): void {
    const code = codeOf(error);
    this.set(memoryId, { status: 'failed', error: code });
    if (code !== 'superseded') {
      const fields = { conversation: this.ports.logName(), code, ...(cause && { error: cause }) };
      this.ports.log('warn', 'a summary could not be made', fields);
      this.ports.settled?.(this.settled(memoryId));
    }
    this.logStatus(memoryId, 'failed', { error: code });
  }

  /** Adds a completed row without a claim. @returns its id */
  keepDigest(
    request: TextRequest,
    lineage: string,
    baseMemoryId: number | null,
    digest: Omit<Written, 'model'>,
  ): number {
    const memoryId = this.insert(lineage, {
      ...this.columnsOf(request),
      base_memory_id: baseMemoryId,
      base_end_seq: this.endOf(baseMemoryId),
      ...this.columnsOfWritten({ ...digest, model: DIGEST_MODEL }),
    });
    this.logStatus(memoryId, 'completed');
    return memoryId;
  }

  /**
   * Adds a completed row beside a claimed one, with the same base and window. Does not log it yet,
   * since the claimed row must change first.
   *
   * @returns its id
   */
  branch(memoryId: number, { boundary, ...written }: Chunk): number {
    const { memory_id: _, ...claimed } = this.table.one<Columns>(
      'SELECT * FROM memories WHERE memory_id = ?',
      memoryId,
    );
    const { window_size, lineage } = claimed;
    return this.insert(String(lineage), {
      ...claimed,
      ...columnsOfBoundary(boundary),
      ...(typeof window_size === 'number'
        ? { start_sequence: windowStart(boundary.sequence, window_size) }
        : {}),
      ...this.columnsOfWritten(written),
      attempts: 1,
      error: null,
      created_at: this.table.now(),
    });
  }

  /** Adds a completed row from elsewhere under its own id. */
  restore(memory: ListedMemory, lineage: string, conversation: string): void {
    this.add({ ...memory, lineage, conversation });
  }

  /** Logs a completed summary: its span, its time, and what its window has dropped. */
  reportCompleted(memoryId: number): void {
    const summary = this.settled(memoryId);
    const {
      start_sequence: start,
      end_sequence: end,
      generation_time_ms: ms,
      base_memory_id: base,
    } = summary;
    const name = this.ports.logName();
    this.ports.log('info', `Summarized messages ${start}-${end} for ${name} in ${ms}ms`);
    const before = this.table.value<number>('SELECT start_sequence FROM memories WHERE memory_id = ?', base);
    if (start > (before ?? 0))
      this.ports.log('info', `Sliding window: dropping seq 0-${start - 1} for ${name}`);
    this.ports.settled?.(summary);
    this.logStatus(memoryId, 'completed');
  }

  /** A row that has ended, as the deployer gets it. */
  private settled(memoryId: number): SettledSummary {
    return this.table.one(
      `SELECT m.memory_id, m.status, coalesce(m.generation_time_ms, 0) AS generation_time_ms,
         m.base_memory_id, m.start_sequence, m.end_sequence, m.tokens, base.tokens AS base_tokens
       FROM memories m LEFT JOIN memories base ON base.memory_id = m.base_memory_id WHERE m.memory_id = ?`,
      memoryId,
    );
  }

  private set(memoryId: number, columns: Columns): void {
    this.table.change(
      `UPDATE memories SET ${Object.keys(columns).map((name) => `${name} = ?`)} WHERE memory_id = ?`,
      ...Object.values(columns),
      memoryId,
    );
  }

  private logStatus(memoryId: number, status: MemoryStatus, fields?: LogFields): void {
    this.ports.log('debug', `Memory ${memoryId} status updated to ${status}`, fields);
  }

  /** @returns the new row's id */
  private insert(lineage: string, values: Columns): number {
    const memoryId = this.add({ ...values, lineage });
    this.prune(lineage, [...this.ports.making(), memoryId]);
    return memoryId;
  }

  /** @returns the row's id */
  private add(columns: Columns): number {
    const inserting = `${insertInto('memories', Object.keys(columns))} RETURNING memory_id`;
    return this.table.one<Pick<Memory, 'memory_id'>>(inserting, ...Object.values(columns)).memory_id;
  }

  /**
   * Prunes a lineage: failed rows first, then the oldest. Rows in the making stay, and so do their
   * bases. A row without its base is still complete, since its text covers everything
   * before its boundary.
   */
  private prune(lineage: string, kept: readonly number[]): void {
    this.table.change(
      `DELETE FROM memories WHERE memory_id IN (
       SELECT memory_id FROM memories
       WHERE lineage = ?3 AND memory_id NOT IN (SELECT value FROM json_each(?1))
         AND memory_id NOT IN (
           SELECT base_memory_id FROM memories WHERE status = 'processing' AND base_memory_id IS NOT NULL)
       ORDER BY status = 'completed', memory_id
       LIMIT max(0, (SELECT count(*) FROM memories WHERE lineage = ?3) - ?2))`,
      kept,
      KEPT_MEMORIES,
      lineage,
    );
  }

  /** The last sequence number of a row; null without a row. */
  private endOf(memoryId: number | null): number | null {
    const query = 'SELECT end_sequence FROM memories WHERE memory_id = ?';
    return this.table.value<number>(query, memoryId) ?? null;
  }

  private columnsOf(request: TextRequest): Columns {
    return {
      ...columnsOfBoundary(request.boundary),
      strategy_hash: request.strategyHash,
      start_sequence: request.startSequence,
      window_size: request.windowSize,
      conversation: request.conversation,
      created_at: this.table.now(),
    };
  }

  private columnsOfWritten(written: Written): Columns {
    const { text, signed = null, tokens, ref, transcript_from, transcript_earlier, model, ms } = written;
    const completed_at = this.table.now();
    return {
      status: 'completed',
      error: null,
      memory_text: text,
      signed,
      tokens,
      ref,
      transcript_from,
      transcript_earlier,
      model,
      generation_time_ms: ms,
      completed_at,
    };
  }
}

function columnsOfBoundary({ prefixHash, end, sequence }: Boundary): Columns {
  return { prefix_hash: prefixHash, covers_end: end, end_sequence: sequence };
}

/** Only codes are stored, since an error's text may hold content. */
function codeOf(error: string): string {
  return /^[a-z0-9_]{1,64}$/.test(error) ? error : 'unknown';
}
