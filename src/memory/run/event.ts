/**
 * The run event of a request: what a plan did, what the upstream counted, and how the answer ended
 * (docs/design.md#run-events). It holds closed codes, numbers, refs and names of tools, never a
 * message's content.
 */
import { z } from 'zod';

const count = z.int().nonnegative();
const index = z.int().nonnegative();

/** A content that stands under a placeholder in the view. */
export const runEditSchema = z.strictObject({
  /** Index in the caller's array. */
  message: index,
  kind: z.enum(['output', 'input', 'part']),
  /** Index of the call for an input, or of the part for a part; otherwise -1. */
  call: z.int().min(-1),
  reason: z.string(),
  tool: z.string(),
  ref: z.string().nullable(),
  /** Of the removed content, and those that its placeholder saves. */
  tokens: count,
  freed: z.int(),
});

/** Messages that are not in the view, by the inclusive range of their indices. */
export const leftOutSchema = z.strictObject({
  from: index,
  to: index,
  fate: z.enum(['summarized', 'trimmed']),
});

/** A move that was due and did not happen, or a phase that did not run. */
export const refusalSchema = z.strictObject({
  phase: z.enum(['reversible', 'summarize', 'trim']),
  because: z.enum(['floor', 'regret', 'nothing_to_free']),
  /** Tokens that it would have freed, and the least that was worth a move. */
  freed: z.int(),
  least: count,
});

/** Tokens as the upstream counted them, all rounds together; null where it does not say. */
export const runUsageSchema = z.strictObject({
  input: count.nullable(),
  cached: count.nullable(),
  cache_writes: count.nullable(),
  output: count.nullable(),
});

/** Milliseconds since the request came, or spent in a part; null if the part did not happen. */
export const runTimesSchema = z.strictObject({
  plan: count.nullable(),
  store: count.nullable(),
  summary: count.nullable(),
  upstream: count.nullable(),
  first_byte: count.nullable(),
  total: count.nullable(),
});

export const runEventSchema = z.strictObject({
  object: z.literal('memory.request'),
  /** Counts the requests of the conversation from 1. */
  n: z.int().min(1),
  /** The answer's `x-request-id`. */
  request_id: z.string().nullable(),
  /** Milliseconds since 1970. */
  created_at: count,
  protocol: z.enum(['chat', 'responses']),
  model: z.string().nullable(),
  stream: z.boolean(),
  mode: z.string(),
  source: z.enum(['request', 'conversation', 'agent', 'default']),
  /** Whether the body went up as it came, with the plan beside it. */
  observed: z.boolean(),
  /** How many messages the caller's array has. */
  messages: count,
  tokens: z.strictObject({ before: count, after: count, budget: count.nullable(), window: count }).nullable(),
  trigger: z.string(),
  frontier: z.strictObject({ unit: count, moved: z.boolean() }),
  refused: z.array(refusalSchema),
  edits: z.array(runEditSchema),
  left_out: z.array(leftOutSchema),
  summary: z
    .strictObject({
      /** Its stored memory; null if nothing is stored. */
      memory_id: z.int().nullable(),
      status: z.enum(['completed', 'degraded', 'pending']),
      covers: z.tuple([index, index]),
      ref: z.string().nullable(),
      /** Of the summarizer, for this request. */
      usage: z.strictObject({ input: count, output: count }),
    })
    .nullable(),
  injection_tokens: count.nullable(),
  /** The further requests to the upstream in which the model fetched contents. */
  retrieval_rounds: count,
  warnings: z.array(z.string()),
  ms: runTimesSchema,
  usage: runUsageSchema.nullable(),
  /** Of the answer to the caller. */
  status: z.int().min(100).max(599),
  ended: z.enum(['complete', 'caller_left', 'upstream_broke', 'error']),
});

export type RunEdit = z.output<typeof runEditSchema>;
export type LeftOut = z.output<typeof leftOutSchema>;
export type Refusal = z.output<typeof refusalSchema>;
export type RunUsage = z.output<typeof runUsageSchema>;
export type RunTimes = z.output<typeof runTimesSchema>;
export type RunEvent = z.output<typeof runEventSchema>;
