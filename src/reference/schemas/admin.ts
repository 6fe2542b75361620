/** What the operator's routes answer. */
import * as z from 'zod';
import { name } from './common.ts';

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
  reason: z.string().nullable().describe('Why it is not `ok`; null if it is.'),
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
