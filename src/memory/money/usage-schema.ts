/** Tokens as an upstream counted them. */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { count, name } from '../shapes.ts';

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
