/** The shape of a receipt (docs/answers-and-errors.md#receipts). */
import * as z from 'zod';
import { count, hash, name } from '../shapes.ts';

export const receiptHashesSchema = z.strictObject({
  /** The conversation as the caller sent it. */
  array: hash,
  /** The same and the tools in their own characters, from which tokens are counted. */
  text: hash,
  /** Model, tools and limit of the answer. */
  request: hash,
  strategy: hash,
  /**
   * What is known of the model (prices, window, longest answer, marks, reasoning), how tokens are
   * counted, and the limit that the upstream stated.
   */
  prices: hash,
  /** What is edited, and why. */
  plan: hash,
  /** The conversation that was sent, without Precis's messages. */
  view: hash,
  /** The summary in the view; null without one. */
  words: hash.nullable(),
  /** The kept rounds that the view was planned with. Absent: none. */
  rounds: hash.exactOptional(),
  /** Sizes of the kept reasoning that the view was planned with. Absent: none. */
  reasoning: hash.exactOptional(),
});

export const receiptSchema = z.strictObject({
  version: z.literal(1),
  /** The version of Precis. */
  precis: z.string().min(1).max(64),
  /** Seconds since the epoch. */
  issued_at: count,
  protocol: z.enum(['chat', 'responses', 'messages']),
  /** Whether the request was sent unchanged, with the plan beside it. */
  observed: z.boolean(),
  /** The whole strategy, with its defaults. */
  strategy: z.record(z.string(), z.unknown()),
  /** A limit in tokens that the upstream has stated, by our count. */
  limit: z.strictObject({ tokens: z.int().positive(), with_answer: z.boolean() }).nullable(),
  /** A limit of the upstream in bytes that has shaped the view. Absent: none. */
  bytes: z.int().positive().exactOptional(),
  /** Kinds of items that the upstream has refused edited. Absent: none. */
  unedited: z.array(z.string().max(64)).max(64).readonly().exactOptional(),
  hashes: receiptHashesSchema,
  /** HMAC-SHA-256 of all other members, under the tenant's key. */
  signature: hash,
});
name(receiptSchema, 'Receipt');

export type ReceiptHashes = z.output<typeof receiptHashesSchema>;
export type Receipt = z.output<typeof receiptSchema>;
