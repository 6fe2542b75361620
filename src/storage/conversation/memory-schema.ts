/**
 * The memory of a conversation, as callers read it (docs/conversations.md): versions of summaries,
 * and the rounds that use them. The object keeps the same members, with times in milliseconds.
 */
import * as z from 'zod';
import { count, hash, name, refName, seconds } from '../../memory/shapes.ts';

export const milliseconds = count.describe('In milliseconds.');

const memoryId = z.int().min(1);
const sequence = z.int().min(-1);
/** A hash of messages; empty: of none. */
const hashOrNone = z.union([z.literal(''), hash]);

/** A completed, processing or failed summary of the messages before a boundary. */
export const versionSchema = z.strictObject({
  memory_id: memoryId,
  base_memory_id: memoryId.nullable().describe('The version that it builds on.'),
  prefix_hash: hash.describe('Of the messages that it covers.'),
  strategy_hash: hash,
  /** First and last sequence number, and the last one of the base. */
  start_sequence: count,
  end_sequence: sequence,
  base_end_seq: sequence.nullable(),
  window_size: count
    .nullable()
    .describe('Sequence numbers from its first to its last; null in modes without a window.'),
  /** In answers of the object to `text` and `find`: the asking array's. */
  covers_end: count.describe('The number of messages before its end.'),
  status: z.enum(['processing', 'completed', 'failed']),
  memory_text: z.string().nullable(),
  ref: refName.nullable().describe('Of the transcript of what it covers.'),
  tokens: count.nullable(),
  model: z.string().nullable().describe('`digest` if code has written it.'),
  /** 1 for the first attempt, plus one for each further one, after a lost writer too. */
  attempts: count,
  error: z.string().nullable().describe('A code.'),
  created_at: seconds,
  /** Null unless it is completed. */
  completed_at: seconds.nullable(),
  completed_at_ms: milliseconds
    .nullable()
    .describe('The same in milliseconds, by which versions are ordered.'),
  generation_time_ms: milliseconds.nullable(),
  /**
   * Where the transcript starts: the hash of the messages before it, and the ref that it names for
   * those.
   */
  transcript_from: hashOrNone,
  transcript_earlier: refName.nullable(),
});
name(versionSchema, 'MemoryVersion');

/** The memory that a round uses. All requests of the round see the same. */
export const roundSchema = z.strictObject({
  round_hash: hash,
  strategy_hash: hash,
  memory_id: memoryId.nullable().describe('The version that the round uses.'),
  /** Null: not decided. */
  digest_hash: hashOrNone.nullable().describe('Up to where a digest reaches; empty: no digest.'),
});
name(roundSchema, 'MemoryRound');

export const healthSchema = z
  .enum(['healthy', 'retry', 'degraded', 'recovering'])
  .describe('Whether summaries have succeeded lately.');

/** How long summaries took; null if nothing was measured. */
export const timesSchema = z.strictObject({
  avg_ms: milliseconds.nullable(),
  max_ms: milliseconds.nullable(),
  total_summaries: count,
});

/** What is stored of a conversation, apart from its settings. */
export const overviewSchema = z.strictObject({
  health: healthSchema,
  conversation_memory: z.string().nullable().describe('The newest summary.'),
  memories: z.array(versionSchema).describe('The newest versions of the summary, newest first.'),
  rounds: z.array(roundSchema).describe('The newest rounds with a memory, newest first.'),
  stats: timesSchema,
  stuck: z.boolean().describe('Whether the writer of a summary is lost, and nothing has replaced it.'),
});
