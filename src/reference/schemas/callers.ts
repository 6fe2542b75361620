/** What the operator's routes of callers answer. */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { CALLER_STATES, callerLimitsSchema } from '../../memory/money/caller-schema.ts';
import { count, deletion, name, page, seconds, tokens } from './common.ts';

const nanodollars = count;

const usage = z.strictObject({
  from: z.string().describe('The first day, of UTC.'),
  requests: z
    .strictObject({
      requests: count,
      failed: count,
      tokens_sent: tokens,
      billed: count.describe('Requests whose bill is known completely.'),
      actual: nanodollars.nullable().describe('With the summarizer; null if it is not known.'),
    })
    .describe(
      'What its conversations have reported, up to five minutes ago, without those that are deleted.',
    ),
  counted: z
    .strictObject({ requests: count, tokens, amount: nanodollars })
    .nullable()
    .describe('What is counted for its limits; null if nothing is.'),
});
name(usage, 'CallerUsage');

export const caller = z.strictObject({
  object: z.literal('memory.caller'),
  name: z.string(),
  kind: z
    .enum(['access_key', 'tenant'])
    .describe('`tenant`: a caller with its own key, under a short name made from its id.'),
  state: z.enum(CALLER_STATES),
  key: z
    .enum(['configured', 'made'])
    .nullable()
    .describe('Where its access key is from: `ACCESS_KEYS`, or made here; null without one.'),
  limits: callerLimitsSchema.nullable(),
  limits_from: z.enum(['operator', 'configuration']).nullable(),
  first_seen_at: seconds.nullable().describe('When it first stored something, once there was an operator.'),
  last_seen_at: seconds.nullable().describe('To the day, or to the hour of its last conversation.'),
  today: usage,
  month: usage,
  access_key: z
    .string()
    .exactOptional()
    .describe('A key made by this request. It is shown once, and stored as a keyed hash.'),
});
name(caller, 'Caller');

export const callerChange = z.strictObject({
  state: z.enum(['active', 'disabled']).exactOptional(),
  limits: callerLimitsSchema.nullable().exactOptional().describe('Null: the limits of the configuration.'),
  new_key: z.boolean().exactOptional().describe('Makes a new key; the previous one ends.'),
});
name(callerChange, 'CallerChange');

export const callerPage = page(caller);
export const callerDeletion = deletion('memory.caller.deleted', { name: z.string() });

export type ShownCaller = Immutable<z.output<typeof caller>>;
export type CallerChange = Immutable<z.output<typeof callerChange>>;
export type CallerDeletion = z.output<typeof callerDeletion>;
