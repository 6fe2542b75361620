/**
 * The shape of a view as turns of plain text (docs/refs-and-retrieval.md#post-v1compact, `format`).
 */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { count, name, refName, seconds } from '../shapes.ts';

const artifactSchema = z.strictObject({
  ref: refName,
  tool_name: z.string(),
  tool_call_id: z.string(),
  tokens: count,
});

/** Steps of a turn in few words. Both summaries are null for a turn without any. */
const turnDigestSchema = z.strictObject({
  /** In the order of their first calls. */
  tools: z.array(z.strictObject({ name: z.string(), calls: count })),
  /** The beginning of each result, with its tool. */
  observations_summary: z.string().nullable(),
  /** The beginning of what the model wrote or thought beside its calls. */
  reasoning_summary: z.string().nullable(),
});

const plainTurnSchema = z.strictObject({
  user: z.string(),
  assistant: z.string().nullable().describe('Null until the turn is answered.'),
  /** Absent if it is not known. */
  ts: seconds.exactOptional().describe('When its question was first sent, in seconds since 1970.'),
  /** Contents of the turn that the view has replaced by a ref, in order. */
  artifacts: z.array(artifactSchema),
  digest: turnDigestSchema,
});
name(plainTurnSchema, 'PlainTurn');

export const turnsSchema = z.strictObject({
  /**
   * The first request, if it stays while the summary covers the rest of its turn or that turn is
   * trimmed; null otherwise.
   */
  first_user: z.string().nullable(),
  /** The newest answered turns in full, and after them the question that is open, if any. */
  recent_turns: z.array(plainTurnSchema),
  pending_turns: z.array(plainTurnSchema).describe('Earlier turns that no summary covers yet.'),
  /** Null without one. */
  summary: z.string().nullable().describe('With its tags, as in the view.'),
});

export type Artifact = Immutable<z.output<typeof artifactSchema>>;
export type TurnDigest = Immutable<z.output<typeof turnDigestSchema>>;
export type PlainTurn = Immutable<z.output<typeof plainTurnSchema>>;
export type ConversationTurns = Immutable<z.output<typeof turnsSchema>>;
