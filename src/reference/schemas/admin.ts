/** What the operator's routes answer. */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import { CALLER_STATES, callerLimitsSchema } from '../../memory/money/caller-limits.ts';
import { count, deletion, name, page, seconds, tokens } from './common.ts';
import { lossesSchema, periodShape, statsByDay } from './conversations.ts';

const PARTS = [
  'bucket',
  'conversations',
  'users',
  'tenants',
  'metrics',
  'upstream',
  'anthropic',
  'summarizer',
  'embeddings',
] as const;

const partHealth = z.strictObject({
  name: z.enum(PARTS),
  status: z
    .enum(['ok', 'failed', 'unknown', 'off'])
    .describe('`unknown`: it answers, but does not say whether it would work. `off`: not configured.'),
  ms: z.number().describe('How long it took to answer, in milliseconds.'),
  reason: z.string().nullable().describe('Why it is not `ok`, or what its `ok` leaves open; null: nothing.'),
});

export const deploymentHealth = z.strictObject({
  object: z.literal('memory.health'),
  status: z.enum(['ok', 'failed']).describe('`failed` if one of the parts has.'),
  version: z.string(),
  time: z.string().describe("The deployment's clock (ISO 8601, UTC)."),
  rotating: z.boolean().describe('Whether `PRECIS_SECRET_PREVIOUS` is set.'),
  parts: z.array(partHealth),
});
name(deploymentHealth, 'DeploymentHealth');

export const backupBody = z.strictObject({
  caller: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Only this one: its name in `GET /v1/admin/callers` or `LOCAL_TENANT`, or a tenant's id. Default: all, with the register of callers.",
    ),
  conversation: z.string().min(1).optional().describe("Only this one of the caller's, with its refs."),
  user: z.string().min(1).optional().describe('The user of the conversation, if it has one.'),
  next: z.base64().optional().describe('The record `N` of the previous answer, in base64.'),
});

/** Kinds of what is put back, and what becomes of it. */
const RESTORED_KINDS = ['tenant', 'conversation', 'user', 'ref', 'content'] as const;
const RESTORED_STATES = ['restored', 'kept', 'deleted', 'expired'] as const;

export const restoredRecords = z.strictObject({
  object: z.literal('memory.restored'),
  records: z.int().describe('How many records the request had.'),
  restored: z.array(
    z.strictObject({
      kind: z.enum(RESTORED_KINDS).describe('`content`: an object of a conversation in R2.'),
      state: z
        .enum(RESTORED_STATES)
        .describe(
          '`kept`: what is there stays. `deleted`: it was deleted after it was saved. `expired`: by `RETENTION_DAYS`.',
        ),
      count: z.int(),
    }),
  ),
});
name(restoredRecords, 'RestoredRecords');

export type Part = (typeof PARTS)[number];
export type PartHealth = z.output<typeof partHealth>;
export type DeploymentHealth = z.output<typeof deploymentHealth>;

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

const use = {
  requests: count,
  failed: count,
  paid: count.nullable().describe('In nanodollars, with the summarizer; null if it is not known.'),
  net: z.int().nullable().describe('Saved, net.'),
};

const alert = z.strictObject({
  code: z.enum(['upstream', 'failing', 'budget', 'unpriced', 'misses', 'losing', 'retiring']),
  level: z.enum(['act', 'watch']).describe('`act`: something does not work, or soon will not.'),
  caller: z.string().nullable(),
  model: z.string().nullable(),
  message: z.string(),
});
name(alert, 'OverviewAlert');

export const overview = z.strictObject({
  object: z.literal('memory.overview'),
  ...periodShape,
  read: z
    .strictObject({
      active: count.describe('Tenants that were seen in these days.'),
      read: count.describe('Active tenants that were asked, the last seen first.'),
      failed: count.describe('Tenants that did not answer, and are in no sum.'),
      storage_calls: count,
    })
    .describe('What the sums are made from.'),
  data: statsByDay.shape.data,
  losses: z.strictObject(lossesSchema),
  alerts: z.array(alert).describe('What does not work comes first.'),
  callers: z
    .array(z.strictObject({ name: z.string(), ...use, unbilled: count }))
    .describe('The dearest first, by their conversations or by what their limits count.'),
  conversations: z
    .array(
      z.strictObject({
        caller: z.string(),
        conversation: z.string().describe('Its digest, as in the log; never its name.'),
        model: z.string().nullable(),
        ...use,
      }),
    )
    .describe('The ten that have cost most.'),
});
name(overview, 'Overview');

export type ShownOverview = z.output<typeof overview>;
