/**
 * The run event of a request: what a plan did, what the upstream counted, and how the answer ended
 * (docs/design.md#run-events). It holds closed codes, numbers, refs and names of tools, never a
 * message's content.
 */
import * as z from 'zod';
import { FATES, fateOf, REMOVAL_KINDS } from '../edits/fates.ts';
import { billSchema, potentialBillSchema, runUsageSchema } from '../money/bill-schema.ts';
import { cacheMissSchema, droppedReasoningSchema } from '../replay/change-schema.ts';
import { nextMoveSchema, refusalSchema } from '../replay/reasons.ts';
import { count } from '../shapes.ts';

const index = count;

/** A content that is under a placeholder in the view, or reasoning that has left it. */
export const runEditSchema = z.strictObject({
  /** Index in the caller's array. */
  message: index,
  kind: z.enum(REMOVAL_KINDS),
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
const leftOutSchema = z.strictObject({
  from: index,
  to: index,
  fate: z.enum(['summarized', 'trimmed']),
  /** The transcript that holds them; null if nothing is stored. */
  ref: z.string().nullable(),
});

/**
 * Milliseconds, by the runtime's clock: `first_byte` and `total` since the request came, the others
 * spent in a part; null if the part did not happen.
 */
const runTimesSchema = z.strictObject({
  plan: count.nullable(),
  store: count.nullable(),
  summary: count.nullable(),
  upstream: count.nullable(),
  first_byte: count.nullable(),
  total: count.nullable(),
});

/**
 * How an answer ended: it was cut short since it has filled the model's window, the caller has
 * left, the upstream broke it off, or it is or ends with an error.
 */
const endSchema = z.enum(['complete', 'window_full', 'caller_left', 'upstream_broke', 'error']);

export const runEventSchema = z.strictObject({
  object: z.literal('memory.request'),
  /** Counts the requests of the conversation from 1. */
  n: z.int().min(1),
  /** The answer's `x-request-id`. */
  request_id: z.string().nullable(),
  /** Seconds since 1970 on the wire, milliseconds where it is stored. */
  created_at: count,
  protocol: z.enum(['chat', 'responses', 'messages']),
  /** Whether the model was asked, or the conversation was compacted without it. */
  kind: z.enum(['answer', 'compaction']),
  model: z.string().nullable(),
  stream: z.boolean(),
  mode: z.string(),
  source: z.enum(['request', 'conversation', 'agent', 'default']),
  /** The key of the agent that it chose, also where another strategy applies. Absent without. */
  agent: z.string().exactOptional(),
  /** Whether the body was sent unchanged. All about the view is then what was planned beside it. */
  observed: z.boolean(),
  /** How many messages the caller's array has. */
  messages: count,
  tokens: z
    .strictObject({
      before: count,
      after: count,
      budget: count.nullable(),
      soft_budget: count.exactOptional(),
      window: count,
    })
    .nullable(),
  /** Where the next edit was expected. Absent where tokens do not decide, or none were counted. */
  next_edit: nextMoveSchema.exactOptional(),
  trigger: z.string(),
  frontier: z.strictObject({ unit: count, moved: z.boolean() }),
  refused: z.array(refusalSchema),
  /**
   * The settings that shape placeholders, from which their texts can be made again; null where
   * nothing is edited.
   */
  placeholders: z
    .strictObject({
      /** `compact_preview_tokens`; null: a share of the output. */
      preview_tokens: count.nullable(),
      /** Null: the model's. */
      token_estimator: z.string().nullable(),
    })
    .nullable(),
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
  /** Of Precis's messages beside the view: memory of other conversations, and memory blocks. */
  injection_tokens: count.nullable(),
  /** Blocks of thinking that the request was sent without. */
  dropped_thinking_blocks: count,
  /** The reasoning that the answer was newly made without, and why; null if there is none. */
  reasoning_dropped: droppedReasoningSchema.nullable(),
  /** The rounds of earlier answers in the view, by the message that they are before. */
  kept_rounds: z.array(z.strictObject({ message: index, rounds: count, tokens: count })),
  /** The further requests to the upstream in which the model fetched contents. */
  retrieval_rounds: count,
  warnings: z.array(z.string()),
  ms: runTimesSchema,
  usage: runUsageSchema.nullable(),
  /**
   * Tokens of the view that the upstream read from its cache: `usage.cached` of the first call.
   * Null where it does not say.
   */
  view_cached: count.nullable(),
  /** Why its answer has read less from the cache than it could have; null if it has not. */
  cache_miss: cacheMissSchema.nullable(),
  /** What the request has cost, and what it would have cost; null if there is no price. */
  bill: billSchema.nullable(),
  /** What an observed request would have saved; null if it was not observed, or has no price. */
  potential_bill: potentialBillSchema.nullable(),
  /** Of the answer to the caller. */
  status: z.int().min(100).max(599),
  /**
   * How the answer ended. `error`: it is an error, of the upstream or of Precis, or one of Precis
   * ended its stream.
   */
  ended: endSchema,
  /** The code of Precis's own error; null if there is none. */
  error: z.string().nullable(),
});

/** An event as a list has it. */
export const listedRunSchema = runEventSchema.omit({ edits: true, left_out: true });

export type RunEdit = z.output<typeof runEditSchema>;
export type LeftOut = z.output<typeof leftOutSchema>;
export type AnswerEnd = z.output<typeof endSchema>;
export type RunEvent = z.output<typeof runEventSchema>;
export type ListedRun = z.output<typeof listedRunSchema>;

/**
 * The outline of a view: what became of each message of the caller's array, from the event of the
 * request alone.
 */
export const outlinedMessageSchema = z.strictObject({
  /** Index in the caller's array. */
  index: count,
  fate: z.enum(FATES),
  /** Where a message that has left the view can be fetched; null if nothing is stored of it. */
  ref: z.string().nullable(),
  /** The contents of the message that a placeholder replaces, and those that have left. */
  edits: z.array(runEditSchema.omit({ message: true })),
});

export type OutlinedMessage = z.output<typeof outlinedMessageSchema>;

/** One entry for each message of the caller's array, in its order. */
export function outlineOfRun({
  messages,
  edits,
  left_out,
}: Pick<RunEvent, 'messages' | 'edits' | 'left_out'>): OutlinedMessage[] {
  const outline = Array.from(
    { length: messages },
    (_, index): OutlinedMessage => ({ index, fate: 'kept', ref: null, edits: [] }),
  );
  for (const { from, to, fate, ref } of left_out)
    for (const message of outline.slice(from, to + 1)) Object.assign(message, { fate, ref });
  for (const { message, ...edit } of edits) {
    const edited = outline[message];
    if (!edited) continue;
    edited.edits.push(edit);
    edited.fate = fateOf(edited.edits);
  }
  return outline;
}
