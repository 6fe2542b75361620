/** The report: the `memory` object of an answer (docs/design.md#4-what-the-caller-gets). */
import { z } from 'zod';
import { potentialBillSchema } from '../../memory/money/bill-schema.ts';
import { receiptSchema } from '../../memory/plan/receipt-schema.ts';
import { count, name, refName, tokens, tokenUsage } from './common.ts';

export const MODE_NAMES = [
  'none',
  'trim',
  'compact',
  'summarize',
  'rolling_summary',
  'auto',
  'native',
] as const;

export const SOURCES = ['request', 'conversation', 'agent', 'default'] as const;

export const TRIGGERS = [
  'turns',
  'steps',
  'messages',
  'token_budget',
  'token_soft_budget',
  'upstream_limit',
  'force',
  'none',
] as const;

export const WARNINGS = [
  'over_budget',
  'waiting',
  'idle',
  'soft_budget_idle',
  'store_failed',
  'no_tenant',
  'unverified_key',
  'no_conversation',
  'no_user',
  'no_strategy',
  'all_recent',
  'nothing_to_remove',
  'settings_without_user',
  'user_archive_off',
  'too_many_messages',
  'summary_degraded',
  'summary_pending',
  'stale_summary',
  'retrieval_off',
  'capture_off',
  'upstream_state',
  'limit_learned',
  'thinking_dropped',
  'embeddings_failed',
] as const;

export const warning = z.enum(WARNINGS);
name(warning, 'Warning');

const trigger = z.enum(TRIGGERS);
name(trigger, 'Trigger');

const cleared_tokens = tokens.describe('Tokens that the edit saves.');
const cleared_tool_results = count;
const memoryId = z.int().describe('The id of the stored version.');

export const appliedEdit = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('condense'),
    condensed_tool_results: count,
    tokens_before: tokens.describe('Tokens of these results as they came.'),
    tokens_after: tokens.describe('Tokens of them in the view, with their marks.'),
    cleared_tokens,
  }),
  z.strictObject({
    type: z.literal('offload'),
    cleared_tool_results,
    cleared_tokens,
    digests: count.exactOptional().describe('Outputs with a digest by a model. Absent if none has.'),
    usage: tokenUsage.exactOptional().describe("The summarizer's usage for digests in this request."),
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
    cleared_tokens: z.int().describe('Tokens that the edit saves.'),
    memory_id: memoryId.exactOptional(),
    base_memory_id: memoryId.nullable().exactOptional(),
  }),
  z.strictObject({
    type: z.literal('trim'),
    messages: count,
    cleared_tokens: z.int().describe('Tokens that the edit saves.'),
  }),
]);
name(appliedEdit, 'AppliedEdit');

export const reportedSummary = z.strictObject({
  text: z.string(),
  covers: z
    .tuple([count, count])
    .describe("The first and the last message of the caller's array that it covers."),
  prefix_hash: z.string().describe('Hash of the messages up to the end of the summary.'),
  ref: refName.exactOptional().describe('Of the transcript of what it covers.'),
  status: z
    .enum(['completed', 'degraded', 'pending'])
    .describe('`degraded`: a digest, since the summarizer failed. `pending`: a digest for now.'),
  memory_id: memoryId.exactOptional(),
  base_memory_id: memoryId.nullable().exactOptional(),
  rehydrated: z
    .array(
      z.strictObject({
        message: count.describe("Index in the caller's array."),
        tool_name: z.string(),
        tool_call_id: z.string(),
        tokens,
        ref: refName.exactOptional(),
      }),
    )
    .exactOptional()
    .describe('Outputs that stand behind the summary, oldest first.'),
  usage: tokenUsage.describe("The summarizer's usage for this request."),
});
name(reportedSummary, 'ReportedSummary');

const tokenSums = z.strictObject({
  before: tokens.describe("Of the caller's array."),
  after: tokens.describe('Of the view.'),
  budget: tokens.nullable(),
  window: tokens,
});

const frontier = z.strictObject({
  unit: count.describe('Units before it are edited.'),
  moved: z.boolean().describe('Whether this request moved it; the cached prefix is then shorter.'),
});

const writtenBlock = z.strictObject({ label: z.string(), version: count });

name(receiptSchema, 'Receipt');
name(potentialBillSchema, 'PotentialBill');

export const report = z.strictObject({
  mode: z.enum(MODE_NAMES),
  source: z.enum(SOURCES).describe('Where the strategy comes from.'),
  trigger,
  tokens: tokenSums.exactOptional().describe('Absent if nothing was counted.'),
  frontier,
  applied_edits: z.array(appliedEdit),
  refs: z.array(
    z.strictObject({
      ref: refName,
      tool_name: z.string(),
      tool_call_id: z.string(),
      tokens,
      bytes: count,
    }),
  ),
  summary: reportedSummary.exactOptional(),
  retrieval: z
    .strictObject({
      rounds: count.describe('Further requests to the upstream.'),
      refs: z.array(z.string()).describe('The refs that were fetched, each once.'),
      usage: tokenUsage.exactOptional().describe('Of all rounds together.'),
      response_id: z.string().exactOptional(),
    })
    .exactOptional()
    .describe('What the model has fetched for its answer.'),
  misses: z
    .array(
      z.strictObject({
        how: z.enum(['fetched', 'repeated']),
        message: count
          .exactOptional()
          .describe("Index in the caller's array. Absent: it was fetched for this answer."),
        tool_name: z.string(),
        tool_call_id: z.string(),
        ref: refName.exactOptional(),
      }),
    )
    .exactOptional()
    .describe('Contents that were asked for again after they had left the view; the newest 50.'),
  injection: z
    .strictObject({ tokens, text: z.string() })
    .exactOptional()
    .describe('The injected block of cross-session memory.'),
  memory_blocks: z
    .strictObject({
      tokens,
      blocks: z.array(z.strictObject({ ...writtenBlock.shape, tokens })),
      written: z.array(writtenBlock).exactOptional(),
    })
    .exactOptional(),
  potential: z
    .strictObject({
      trigger,
      tokens: tokenSums.exactOptional(),
      frontier,
      applied_edits: z.array(appliedEdit),
      warnings: z.array(warning),
      refs: count,
      error: z.string().exactOptional(),
      bill: potentialBillSchema.nullable().exactOptional().describe('Null if it is not known.'),
    })
    .exactOptional()
    .describe('What the strategy would have done to a request that was only observed.'),
  warnings: z.array(warning),
  receipt: receiptSchema.exactOptional().describe('Absent without a tenant.'),
});
name(report, 'Report');
