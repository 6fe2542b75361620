/** What `POST /v1/compact` and `POST /v1/explain` answer, and the compaction of responses. */
import { z } from 'zod';
import { receiptHashesSchema } from '../../memory/plan/receipt-schema.ts';
import { reportSchema } from '../../memory/plan/report-schema.ts';
import { TRIGGERS } from '../../memory/replay/trigger.ts';
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
  ts: seconds.exactOptional().describe('When its question was archived, in seconds since 1970.'),
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

const editShape = {
  kind: z.enum(['output', 'input', 'part', 'reasoning']),
  reason: z.enum([
    'context_compaction',
    'offloaded',
    'duplicate',
    'superseded',
    'condensed',
    'old_reasoning',
  ]),
  tool_name: z.string(),
  tool_call_id: z.string(),
  ref: refName.exactOptional(),
  tokens,
  freed: z.int().describe('Tokens that the replacement saves.'),
};

export const explainedMessage = z.strictObject({
  index: count,
  role: z.enum(['preamble', 'user', 'assistant', 'tool']),
  before: tokens.describe('Tokens as it came.'),
  after: tokens.describe('Tokens in the view.'),
  fate: z.enum(['kept', 'condensed', 'placeholder', 'offloaded', 'cleared', 'summarized', 'trimmed']),
  because: z
    .enum(['preamble', 'fresh', 'tail', 'request', 'first_request', 'held', 'unedited'])
    .exactOptional()
    .describe('Why it is kept.'),
  edits: z
    .array(
      z.strictObject({
        ...editShape,
        text: z
          .string()
          .exactOptional()
          .describe('What stands in its place; absent for reasoning, which leaves without a word.'),
      }),
    )
    .exactOptional(),
  kept_rounds: z
    .strictObject({ rounds: count, tokens })
    .exactOptional()
    .describe('The rounds of an earlier answer that stand before it.'),
});
name(explainedMessage, 'ExplainedMessage');

const range = z.tuple([count, count]);

export const explanation = z.strictObject({
  object: z.literal('memory.explanation'),
  messages: z.array(explainedMessage),
  summary: z.strictObject({ covers: range, tokens }).exactOptional(),
  moves: z
    .array(
      z.strictObject({
        messages: count.describe('How many messages the request had that moved the frontier.'),
        trigger: z.enum(TRIGGERS),
        frontier: count.describe('The first message that was not edited.'),
        before: tokens,
        after: tokens,
      }),
    )
    .describe('The history of the frontier.'),
  next: z
    .strictObject({
      edits: z.array(z.strictObject({ message: count, ...editShape })),
      summarizes: range.exactOptional(),
    })
    .exactOptional()
    .describe('What the next move would do; absent if it is not near.'),
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
      ok: z.boolean().nullable().describe('Null where it can not be known.'),
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
