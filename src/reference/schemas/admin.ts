/** What the operator's routes answer. */
import { z } from 'zod';
import { name } from './common.ts';

export const PARTS = [
  'bucket',
  'conversations',
  'users',
  'tenants',
  'metrics',
  'upstream',
  'summarizer',
  'embeddings',
] as const;

export const partHealth = z.strictObject({
  name: z.enum(PARTS),
  status: z
    .enum(['ok', 'failed', 'unknown', 'off'])
    .describe('`unknown`: it answers, and does not say whether it would do its work. `off`: not configured.'),
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

export type Part = (typeof PARTS)[number];
export type PartHealth = z.output<typeof partHealth>;
export type DeploymentHealth = z.output<typeof deploymentHealth>;
