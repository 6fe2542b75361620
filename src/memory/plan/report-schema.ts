/**
 * The shape of a report, the `memory` object of an answer (docs/answers-and-errors.md#the-report).
 * A member that is optional is absent where the request has nothing of it. Sizes are in tokens.
 */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { MODE_NAMES } from '../modes/meanings.ts';
import { potentialBillSchema, tokenUsageSchema } from '../money/bill-schema.ts';
import { changeSchema, droppedReasoningSchema } from '../replay/change-schema.ts';
import { nextMoveSchema, TRIGGERS } from '../replay/reasons.ts';
import { count, name, refName } from '../shapes.ts';
import { receiptSchema } from './receipt-schema.ts';
import { WARNINGS, type Warning } from './warnings.ts';

/** The levels of precedence that a strategy may come from. */
export const SOURCES = ['request', 'conversation', 'agent', 'default'] as const;

const tokens = count;

export const warningSchema = z.enum(Object.keys(WARNINGS) as Warning[]);
name(warningSchema, 'Warning');
const triggerSchema = z.enum(TRIGGERS);
name(triggerSchema, 'Trigger');

const cleared_tokens = tokens.describe('Tokens that the edit saves.');
const cleared_tool_results = count;
/** The view's savings less the savings of the other edits, so it may be below 0. */
const remaining_tokens = z.int().describe('Tokens that the edit saves.');
/** Absent if nothing is stored. */
const memoryId = z.int().describe('The id of the stored version.');

const editSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('offload'),
    cleared_tool_results,
    cleared_tokens,
    fresh: count
      .exactOptional()
      .describe('Outputs that no answer has followed yet. Absent if there are none.'),
    digests: count.exactOptional().describe('Outputs with a digest by a model. Absent if none has.'),
    usage: tokenUsageSchema.exactOptional().describe("The summarizer's usage for digests in this request."),
  }),
  z.strictObject({ type: z.literal('dedupe'), cleared_tool_results, cleared_tokens }),
  z.strictObject({
    type: z.literal('clear_reasoning'),
    messages: count.describe('Messages whose reasoning has left the view.'),
    cleared_tokens,
  }),
  z.strictObject({
    type: z.literal('compact'),
    cleared_tool_results,
    cleared_tool_inputs: count,
    cleared_parts: count.exactOptional().describe('Inline images and files. Absent if there are none.'),
    cleared_tokens,
  }),
  z.strictObject({
    type: z.literal('summarize'),
    messages: count,
    cleared_tokens: remaining_tokens,
    memory_id: memoryId.exactOptional(),
    base_memory_id: memoryId.nullable().exactOptional(),
  }),
  z.strictObject({ type: z.literal('trim'), messages: count, cleared_tokens: remaining_tokens }),
]);
name(editSchema, 'AppliedEdit');

/** The kinds of edits, in the order of reports. */
export const EDIT_TYPES = editSchema.options.flatMap(({ shape: { type } }) => [...type.values]);

/** A tool output that is after the summary. */
const outputSchema = z.strictObject({
  message: count.describe("Index in the caller's array."),
  tool_name: z.string(),
  tool_call_id: z.string(),
  tokens,
  /** Absent if the content is not stored by itself. */
  ref: refName.exactOptional(),
});

/**
 * The summary in the view. A caller that wants to keep it itself needs its text, coverage and hash
 * (`memory_summary`).
 */
export const reportedSummarySchema = z.strictObject({
  text: z.string(),
  covers: z
    .tuple([count, count])
    .describe("The first and the last message of the caller's array that it covers."),
  prefix_hash: z.string().describe('Hash of the messages up to the end of the summary.'),
  signed: z
    .literal(true)
    .exactOptional()
    .describe("It is the API's own, and in the view as the block that the API signed."),
  ref: refName.exactOptional().describe('Of the transcript of what it covers.'),
  status: z
    .enum(['completed', 'degraded', 'pending'])
    .describe('`degraded`: a digest, since the summarizer failed. `pending`: a digest for now.'),
  memory_id: memoryId.exactOptional(),
  base_memory_id: memoryId.nullable().exactOptional(),
  rehydrated: z
    .array(outputSchema)
    .exactOptional()
    .describe('Outputs that follow the summary, oldest first.'),
  usage: tokenUsageSchema.describe("The summarizer's usage for this request."),
});
name(reportedSummarySchema, 'ReportedSummary');

const sumsSchema = z.strictObject({
  before: tokens.describe("Of the caller's array."),
  after: tokens.describe('Of the view.'),
  budget: tokens.nullable(),
  soft_budget: tokens
    .exactOptional()
    .describe('Over it, only edits run that lose nothing. Without any budget it follows from the price.'),
  window: tokens,
});

const bytesSchema = z.strictObject({
  before: count.describe("Of the caller's messages and tools."),
  after: count.describe('Of the body that was sent; where none was, of the view and tools.'),
  limit: count.describe("The upstream's."),
});

const frontierSchema = z.strictObject({
  unit: count.describe('Units before it are edited.'),
  moved: z
    .boolean()
    .describe('Whether the view does not extend the one before; with the cause `unread` it may extend it.'),
});

const refSchema = z.strictObject({
  ref: refName,
  tool_name: z.string(),
  tool_call_id: z.string(),
  tokens,
  bytes: count,
});

/** The contents that the model has fetched for its answer. */
const retrievalSchema = z.strictObject({
  rounds: count.describe('Further requests to the upstream.'),
  refs: z.array(z.string()).describe('The refs that were fetched, each once.'),
  usage: tokenUsageSchema.exactOptional().describe('Of all rounds together.'),
  /** The id with which a stored conversation continues, if the response has another one. */
  response_id: z.string().exactOptional(),
});

const missSchema = z.strictObject({
  how: z.enum(['fetched', 'repeated']),
  message: count
    .exactOptional()
    .describe("Index in the caller's array. Absent: it was fetched for this answer."),
  /** The call of that output, else the one whose output was fetched. */
  tool_name: z.string(),
  tool_call_id: z.string(),
  /** Absent if nothing is stored. */
  ref: refName.exactOptional(),
});

/** A memory block that the model has written. */
const writtenSchema = z.strictObject({ label: z.string(), version: count });

/** A memory block in the view. Version 0: there is none of this label. */
const blockSchema = z.strictObject({ ...writtenSchema.shape, tokens });

const blocksSchema = z.strictObject({
  /** Of the message that shows them. */
  tokens,
  blocks: z.array(blockSchema),
  written: z.array(writtenSchema).exactOptional(),
});

/** What reports of what is done, and of what would have been, have in common. */
const planned = {
  trigger: triggerSchema,
  tokens: sumsSchema.exactOptional(),
  frontier: frontierSchema,
  applied_edits: z.array(editSchema),
};

/** What the strategy would have done to a request that was only observed. */
const potentialSchema = z.strictObject({
  ...planned,
  warnings: z.array(warningSchema),
  /** The number of contents that would be kept under refs. */
  refs: count,
  /** The code of the error that the request would have been refused with. */
  error: z.string().exactOptional(),
  /** Absent before the answer has ended. */
  bill: potentialBillSchema.nullable().exactOptional().describe('Null if it is not known.'),
});

export const reportSchema = z.strictObject({
  mode: z.enum(MODE_NAMES),
  source: z.enum(SOURCES).describe('Where the strategy comes from.'),
  ...planned,
  tokens: sumsSchema.exactOptional().describe('Absent if nothing was counted.'),
  bytes: bytesSchema
    .exactOptional()
    .describe("Absent where no upstream's limit of bytes has shaped the view."),
  next_edit: nextMoveSchema
    .exactOptional()
    .describe('Where the next edit is expected, as an estimate. Absent where tokens do not decide.'),
  refs: z.array(refSchema),
  summary: reportedSummarySchema.exactOptional(),
  retrieval: retrievalSchema.exactOptional().describe('What the model has fetched for its answer.'),
  misses: z
    .array(missSchema)
    .exactOptional()
    .describe('Contents that were asked for again after they had left the view; the newest 50.'),
  changed: changeSchema
    .exactOptional()
    .describe('Why the request does not extend the one before, as far as it is known before the answer.'),
  dropped_thinking_blocks: count
    .exactOptional()
    .describe(
      'Blocks of thinking that the request was sent without, since what they are bound to has changed.',
    ),
  reasoning_dropped: droppedReasoningSchema
    .exactOptional()
    .describe(
      'The reasoning that this request is the first to be answered without, as far as it is known before the answer.',
    ),
  injection: z
    .strictObject({ tokens, text: z.string() })
    .exactOptional()
    .describe('The injected block of cross-session memory.'),
  kept_rounds: z
    .strictObject({ rounds: count, tokens })
    .exactOptional()
    .describe('Of earlier answers, in the view.'),
  upstream_api: z
    .strictObject({
      api: z.enum(['chat', 'responses', 'messages']),
      because: z
        .enum(['setting', 'model', 'learned', 'obstacle', 'refused'])
        .describe('Of `chat`: the request cannot be sent over another API, or that API is refused.'),
      param: z.string().exactOptional().describe('What keeps the request on chat.'),
      kept_answers: count.exactOptional().describe('Earlier answers that were sent as the model gave them.'),
      plain_answers: count
        .exactOptional()
        .describe('Messages of the model that were sent as its caller has them: nothing is kept of them.'),
      notices: z.array(z.string()).exactOptional().describe('What was translated with a difference.'),
    })
    .exactOptional()
    .describe('Absent if only chat was an option, and for other protocols.'),
  /** The memory blocks in the view. */
  memory_blocks: blocksSchema.exactOptional(),
  potential: potentialSchema
    .exactOptional()
    .describe('What the strategy would have done to a request that was only observed.'),
  warnings: z.array(warningSchema),
  /** Absent for a large body, too. */
  receipt: receiptSchema.exactOptional().describe('Absent without a tenant.'),
});
name(reportSchema, 'Report');

export type StrategySource = (typeof SOURCES)[number];
export type AppliedEdit = Immutable<z.output<typeof editSchema>>;
export type ReportedSummary = Immutable<z.output<typeof reportedSummarySchema>>;
export type ReportedOutput = Immutable<z.output<typeof outputSchema>>;
export type ReportedRef = Immutable<z.output<typeof refSchema>>;
export type ReportedMiss = Immutable<z.output<typeof missSchema>>;
export type ReportedBlock = Immutable<z.output<typeof blockSchema>>;
export type WrittenBlock = Immutable<z.output<typeof writtenSchema>>;
export type Potential = Immutable<z.output<typeof potentialSchema>>;
export type Report = Immutable<z.output<typeof reportSchema>>;
