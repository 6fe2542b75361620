/** The shapes of bills and of their sums (docs/money.md). */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { count, name } from '../shapes.ts';

/** Nanodollars that are spent. */
const spent = count;
/** Nanodollars, negative for a loss. */
const balance = z.int();

/**
 * Tokens as the upstream counted them, of one model call or of all rounds together; null where it
 * does not say.
 */
export const runUsageSchema = z.strictObject({
  input: count.nullable(),
  /** These two are parts of `input`. */
  cached: count.nullable(),
  cache_writes: count.nullable(),
  output: count.nullable(),
});

export type RunUsage = z.output<typeof runUsageSchema>;

const pricedTokensSchema = z.strictObject({
  fresh: count,
  cached: count,
  written: count,
  output: count,
  amount: spent,
});

/** What a calculation without a cache would claim: removed tokens at the price of fresh input. */
const savingSchema = z.strictObject({ tokens: z.int(), amount: balance });

/** What bills and their sums have in common. */
const AMOUNTS = {
  /** All model calls of the request, as the upstream counted them. */
  sent: pricedTokensSchema.nullable(),
  /** The whole array in one call, with the hits that it would have had in the vendor's cache. */
  would_be: pricedTokensSchema.nullable(),
  /** `sent` and the summarizer. */
  actual: spent.nullable(),
  /** `would_be` less `actual`. */
  net: balance.nullable(),
  /** Parts of `actual` that would not have been spent. They are subtracted in `net` already. */
  debits: z.strictObject({
    summarizer: spent.nullable(),
    fetch_rounds: spent.nullable(),
    broken_cache: spent.nullable(),
  }),
  /** Removed tokens, counted in each request. */
  gross: savingSchema.nullable(),
  /** The part of `gross` that no earlier request of the conversation had. */
  unique: savingSchema.nullable(),
};

export const billSchema = z.strictObject({
  unit: z.literal('nanodollars'),
  /** Whose prices these are. */
  family: z.string(),
  /**
   * Present if cache writes that the upstream does not report are estimated, so that all amounts
   * are only about right.
   */
  about: z.literal(true).exactOptional(),
  ...AMOUNTS,
});
name(billSchema, 'Bill');

export type Bill = z.output<typeof billSchema>;
export type PricedTokens = z.output<typeof pricedTokensSchema>;
export type Saving = z.output<typeof savingSchema>;

/** Of a request that was only observed. */
export const potentialBillSchema = z.strictObject({
  unit: z.literal('nanodollars'),
  family: z.string(),
  /** See `billSchema`. */
  about: z.literal(true).exactOptional(),
  /** The array, as the upstream counted it. */
  sent: pricedTokensSchema.nullable(),
  /** The view. */
  would_be: pricedTokensSchema.nullable(),
  /** `sent` less `would_be`. Null if a summary would have been made, whose cost is not known. */
  net: z.int().nullable(),
});
name(potentialBillSchema, 'PotentialBill');

export type PotentialBill = z.output<typeof potentialBillSchema>;

/** As they are stored. All but the summarizer's are of the billed requests. */
export const billSumsSchema = z.strictObject({
  requests: count,
  /** Requests whose bill is known completely. Only these are in the sums. */
  billed: count,
  /** The billed requests with estimated cache writes; absent in sums of earlier versions. */
  about: count.exactOptional(),
  sent: pricedTokensSchema,
  would_be: pricedTokensSchema,
  fetch_rounds: spent,
  broken_cache: spent,
  gross: savingSchema,
  unique: savingSchema,
  /** All of its work for the conversation, including what no request has waited for. */
  summarizer: spent,
  /** How many of its texts have no known price. */
  unpriced: count,
});

export type BillSums = z.output<typeof billSumsSchema>;

/** Sums as callers read them. Null: nothing is known of it. */
export const shownSumsSchema = z.strictObject({
  unit: z.literal('nanodollars'),
  requests: count,
  billed: count,
  about: count
    .exactOptional()
    .describe('How many of the billed requests have estimated cache writes; absent for none.'),
  ...AMOUNTS,
});
name(shownSumsSchema, 'BillSums');

export type ShownSums = z.output<typeof shownSumsSchema>;

/** Of the summarizer, or of several answers together. All are 0 for a summary without a call. */
export const tokenUsageSchema = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  cached_tokens: count.exactOptional().describe('Of the prompt; absent if the model does not say.'),
  cache_write_tokens: count.exactOptional().describe('Of the prompt; absent if the model does not say.'),
  /** Of each call by itself. */
  cost: count
    .nullable()
    .exactOptional()
    .describe('Of the summarizer, in nanodollars; null if that is not known, absent without a call.'),
});
name(tokenUsageSchema, 'TokenUsage');

export type TokenUsage = Immutable<z.output<typeof tokenUsageSchema>>;
