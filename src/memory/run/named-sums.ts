/**
 * Sums by name, as they are added up by day: cache misses by cause (docs/money.md#misses), failures
 * by status, and requests by model.
 */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { cacheMissSchema, type MissCause } from '../replay/change-schema.ts';
import { count } from '../shapes.ts';

export const missSumSchema = z.strictObject({
  requests: count,
  tokens: count,
  /** Null if the amount of one of them is not known. */
  amount: cacheMissSchema.shape.amount,
});
type MissSum = Immutable<z.output<typeof missSumSchema>>;
export type MissSums = Readonly<Partial<Record<MissCause, MissSum>>>;

/** By the status of the answer, or `broken` for streams that the upstream has broken off. */
export type FailureSums = Readonly<Record<string, { readonly requests: number }>>;

export const modelSumSchema = z.strictObject({
  requests: count,
  /** Answers with an error's status. */
  failed: count,
  /** Requests whose bill is known completely. */
  billed: count,
  unbilled: count.describe('Answers that have no complete bill, and were not only observed.'),
  /** Bills whose cache writes are estimated. */
  about: count,
  would_be: count.describe('Of the `billed` requests, in nanodollars.'),
  sent: count.describe('Likewise, without what the summarizer has cost.'),
});

/** By the name in the request; empty where it names none. */
export type ModelSums = Readonly<Record<string, Immutable<z.output<typeof modelSumSchema>>>>;
