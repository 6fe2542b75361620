/** The shape of an explanation: what becomes of each message of an array, and why. */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { FATES, REMOVAL_KINDS, REMOVAL_REASONS, type RemovalReason } from '../edits/fates.ts';
import { TRIGGERS } from '../replay/reasons.ts';
import { count, name, refName } from '../shapes.ts';

const tokens = count;
/** The first and the last message. */
const range = z.tuple([count, count]);

/** A content that is removed, or would be. */
const editSchema = z.strictObject({
  message: count,
  kind: z.enum(REMOVAL_KINDS),
  reason: z.enum(Object.keys(REMOVAL_REASONS) as RemovalReason[]),
  tool_name: z.string(),
  tool_call_id: z.string(),
  /** Absent if nothing is stored. */
  ref: refName.exactOptional(),
  tokens,
  freed: z.int().describe('Tokens that the replacement saves.'),
});

const shownEditSchema = editSchema.omit({ message: true }).extend({
  text: z
    .string()
    .exactOptional()
    .describe('What replaces it; absent for reasoning, which nothing replaces.'),
});

/**
 * Why a message is kept.
 *
 * - preamble: leading instructions are never edited.
 * - fresh: the model has not seen the result yet.
 * - tail: it is after the frontier.
 * - request: its turn continues after the frontier.
 * - first_request: the first request of the conversation stays in every view.
 * - held: a call of its unit waits for its result, or a late result is still in the view.
 * - unedited: no edit of the strategy applies to it, or it would not become shorter.
 */
const becauseSchema = z.enum(['preamble', 'fresh', 'tail', 'request', 'first_request', 'held', 'unedited']);

const messageSchema = z.strictObject({
  index: count,
  role: z.enum(['preamble', 'user', 'assistant', 'tool']),
  before: tokens.describe('Tokens in the array.'),
  after: tokens.describe('Tokens in the view.'),
  fate: z.enum(FATES),
  because: becauseSchema.exactOptional().describe('Why it is kept.'),
  /** Absent if it is not edited. */
  edits: z.array(shownEditSchema).exactOptional(),
  kept_rounds: z.strictObject({ rounds: count, tokens }).exactOptional().describe('They precede it.'),
});
name(messageSchema, 'ExplainedMessage');

const moveSchema = z.strictObject({
  messages: count.describe('How many messages the array had when the frontier moved.'),
  trigger: z.enum(TRIGGERS),
  frontier: count.describe('The first message that was not edited.'),
  before: tokens,
  after: tokens,
});

/** In nanodollars; null if it is not known. */
const price = count.nullable();

/** A request of a course. Before: of the array, with the tools. After: of the view. */
const courseRequestSchema = z.strictObject({
  /** How many messages the array had. */
  messages: count,
  before: count,
  after: count,
  /** Whether the frontier moved. */
  moved: z.boolean(),
  price_before: price,
  price_after: price,
});

export const explanationSchema = z.strictObject({
  messages: z.array(messageSchema),
  /** The summary in the view, with its tags. */
  summary: z.strictObject({ covers: range, tokens }).exactOptional(),
  moves: z.array(moveSchema).describe('The history of the frontier.'),
  next: z
    .strictObject({
      edits: z.array(editSchema),
      /** The messages that it would summarize. */
      summarizes: range.exactOptional(),
    })
    .exactOptional()
    .describe('What the next move would do; absent if it is not near.'),
  /** One for each request point, in order. */
  course: z.array(courseRequestSchema).exactOptional(),
});

export type KeptBecause = z.output<typeof becauseSchema>;
export type ExplainedEdit = Immutable<z.output<typeof editSchema>>;
export type ShownEdit = Immutable<z.output<typeof shownEditSchema>>;
export type ExplainedMessage = Immutable<z.output<typeof messageSchema>>;
export type ExplainedMove = Immutable<z.output<typeof moveSchema>>;
export type CourseRequest = z.output<typeof courseRequestSchema>;
export type Course = readonly CourseRequest[];
export type Explanation = Immutable<z.output<typeof explanationSchema>>;
