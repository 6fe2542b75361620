/** What `POST /v1/compact` and `POST /v1/explain` answer, and the compaction of responses. */
import * as z from 'zod';
import { explanationSchema } from '../../memory/plan/explanation-schema.ts';
import { receiptHashesSchema } from '../../memory/plan/receipt-schema.ts';
import { reportSchema } from '../../memory/plan/report-schema.ts';
import { count, name, refName, seconds, tokens } from './common.ts';

const message = z.record(z.string(), z.unknown());

export const compactedMessages = z.strictObject({
  object: z.literal('memory.compaction'),
  messages: z.array(message).exactOptional().describe('The view, of a body with `messages`.'),
  input: z.array(message).exactOptional().describe('The view, of a body with `input`.'),
  memory: reportSchema,
});

const plainTurn = z.strictObject({
  user: z.string(),
  assistant: z.string().nullable().describe('Null until the turn is answered.'),
  ts: seconds.exactOptional().describe('When its question was first sent, in seconds since 1970.'),
  artifacts: z.array(
    z.strictObject({ ref: refName, tool_name: z.string(), tool_call_id: z.string(), tokens }),
  ),
  digest: z.strictObject({
    tools: z.array(z.strictObject({ name: z.string(), calls: count })),
    observations_summary: z.string().nullable(),
    reasoning_summary: z.string().nullable(),
  }),
});
name(plainTurn, 'PlainTurn');

export const conversationTurns = z.strictObject({
  object: z.literal('memory.compaction'),
  first_user: z.string().nullable(),
  recent_turns: z.array(plainTurn),
  pending_turns: z.array(plainTurn).describe('Earlier turns that no summary covers yet.'),
  summary: z.string().nullable().describe('With its tags, as in the view.'),
  memory: reportSchema,
});

export const compaction = z.union([compactedMessages, conversationTurns]);

export const compressed = z.strictObject({
  messages: z.array(message),
  tokens_before: tokens,
  tokens_after: tokens,
  tokens_saved: z.int(),
  compression_ratio: z.number().describe('`tokens_after` of `tokens_before`; 1 if nothing is shorter.'),
  transforms_applied: z.array(z.string()).describe('The types of `applied_edits`.'),
  ccr_hashes: z.array(z.string()).describe('The hashes in the messages.'),
  memory: reportSchema,
});

export const retrieved = z.strictObject({
  hash: z.string(),
  ref: refName,
  original_content: z.string(),
});

export const explanation = z.strictObject({
  object: z.literal('memory.explanation'),
  ...explanationSchema.shape,
  memory: reportSchema,
});
name(explanation, 'Explanation');

export const verification = z.strictObject({
  object: z.literal('memory.verification'),
  valid: z.boolean().describe('No check has failed, and the signature is right.'),
  complete: z.boolean().describe('All checks are true.'),
  checks: z.array(
    z.strictObject({
      name: z.enum(['signature', 'version', ...receiptHashesSchema.keyof().options]),
      ok: z.boolean().nullable().describe("Null if it can't be known."),
      reason: z.string().exactOptional().describe('Why it is not true.'),
    }),
  ),
});
name(verification, 'Verification');

export const responseCompaction = z.strictObject({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: seconds,
  output: z.array(message),
  usage: z.record(z.string(), z.unknown()),
  memory: reportSchema.exactOptional().describe('With `memory_report`.'),
});

export type Explained = z.output<typeof explanation>;
