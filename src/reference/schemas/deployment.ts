/** What `GET /v1/deployment` answers. */
import * as z from 'zod';
import { name } from './common.ts';

export const deployment = z.strictObject({
  object: z.literal('memory.deployment'),
  version: z.string(),
  modes: z.array(z.string()).describe('The modes that a strategy may have.'),
  agents: z.array(z.string()).describe("The deployer's agents, by name."),
  access: z.enum(['callers_keys', 'access_keys', 'local_tenant']).describe('How callers are distinguished.'),
  caller: z
    .enum(['key', 'access_key', 'local_tenant'])
    .describe("Whose data this request can see: its key's, or all callers' without a key."),
  default_strategy: z.looseObject({ mode: z.string() }),
  metrics: z.boolean().describe("Whether `GET /metrics` answers, with the operator's token."),
  retiring: z
    .array(
      z.strictObject({
        setting: z.string().describe('The variable or agent that names the model.'),
        model: z.string(),
        on: z.string().describe('The first day without it (YYYY-MM-DD).'),
        replacement: z.string().nullable().describe('The model that the vendor recommends; null if unknown.'),
      }),
    )
    .describe('Models of the deployment that their vendors have switched off, or will within 60 days.'),
  retired_variables: z.array(z.string()).describe('Variables that are set, and no longer do anything.'),
  variables: z.array(
    z.strictObject({
      name: z.string(),
      set: z.boolean(),
      value: z
        .string()
        .nullable()
        .describe('Null if the variable is not set, or if only the operator may see its value.'),
    }),
  ),
});
name(deployment, 'Deployment');

export type DeploymentFacts = z.output<typeof deployment>;
