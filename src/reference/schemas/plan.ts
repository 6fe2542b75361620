/** What `POST /v1/compact` and `POST /v1/explain` answer, and the compaction of responses. */
import * as z from 'zod';
import { explanationSchema } from '../../memory/plan/explanation-schema.ts';
import { receiptHashesSchema } from '../../memory/plan/receipt-schema.ts';
import { reportSchema } from '../../memory/plan/report-schema.ts';
import { turnsSchema } from '../../memory/plan/turns-schema.ts';
import { name, refName, seconds, tokens } from './common.ts';

const message = z.record(z.string(), z.unknown());

export const compactedMessages = z.strictObject({
  object: z.literal('memory.compaction'),
  messages: z.array(message).exactOptional().describe('The view, of a body with `messages`.'),
  input: z.array(message).exactOptional().describe('The view, of a body with `input`.'),
  memory: reportSchema,
});

export const conversationTurns = z.strictObject({
  object: z.literal('memory.compaction'),
  ...turnsSchema.shape,
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

export type Verification = z.output<typeof verification>;
export type Explained = z.output<typeof explanation>;
