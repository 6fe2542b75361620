/** The answer of `GET /v1/deployment`. */
import { z } from 'zod';

export const deploymentSchema = z.strictObject({
  object: z.literal('memory.deployment'),
  version: z.string(),
  /** The modes that a strategy may have. */
  modes: z.array(z.string()),
  /** The names of the agents in `src/agents.ts`. */
  agents: z.array(z.string()),
  /** How callers are told apart. */
  access: z.enum(['callers_keys', 'access_keys', 'local_tenant']),
  default_strategy: z.looseObject({ mode: z.string() }),
  /** Whether `GET /metrics` answers, with the operator's token. */
  metrics: z.boolean(),
  variables: z.array(
    z.strictObject({
      name: z.string(),
      set: z.boolean(),
      /** Null if the variable is not set, or if its value is for the operator alone. */
      value: z.string().nullable(),
    }),
  ),
});

export type DeploymentFacts = z.output<typeof deploymentSchema>;
