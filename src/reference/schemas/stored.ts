/** What the routes of refs, memory blocks, all data, sign-ins and the deployment answer. */
import * as z from 'zod';
import { count, deletion, name, page, refName, seconds, tokens } from './common.ts';

const facts = {
  tool_name: z.string().nullable(),
  tool_call_id: z.string().nullable(),
  conversation: z.string().nullable(),
  tokens: tokens.nullable(),
  bytes: count.nullable(),
};

export const listedRef = z.strictObject({
  id: refName,
  object: z.literal('memory.ref'),
  created_at: seconds,
  stored_bytes: count.describe('Of the stored object: the content with its facts, encrypted.'),
  ...facts,
});
name(listedRef, 'Ref');

export const refPage = page(listedRef);

/** The JSON of the header `x-memory-ref`. */
export const refFacts = z.strictObject({ created_at: seconds, ...facts });
name(refFacts, 'RefFacts');

export const deletedRef = deletion('memory.ref.deleted', { id: refName });

export const functionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()).describe('A JSON Schema.'),
  }),
});
name(functionTool, 'FunctionTool');

const label = z.string().regex(/^[\w.-]{1,64}$/);
const version = z.int().min(1);

export const listedBlock = z.strictObject({
  object: z.literal('memory.block'),
  label,
  version,
  characters: count.describe('Code points.'),
  updated_at: seconds,
});
name(listedBlock, 'ListedBlock');

export const blockList = z.strictObject({
  object: z.literal('list'),
  data: z.array(listedBlock),
  has_more: z.literal(false),
});

export const block = z.strictObject({ ...listedBlock.shape, text: z.string() });
name(block, 'MemoryBlock');

export const keptBlock = z.strictObject({
  ...block.shape,
  versions: z.array(version).describe('Versions that are kept, newest first.'),
});

export const putBlockBody = z.strictObject({
  text: z.string().describe('At most 5000 code points.'),
  version: count
    .nullish()
    .describe('The version that the block must have; 0: there must be none. Like `if-match`.'),
});

export const deletedBlock = deletion('memory.block.deleted', { label });

export const deletedTenant = deletion('memory.deleted');

export const healthy = z.strictObject({ status: z.literal('ok') });
export const unhealthy = z.strictObject({ status: z.literal('misconfigured') });

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

export const sessionBody = z.strictObject({
  keep: z
    .enum(['tab', 'browser'])
    .describe('`tab`: the answer has `kept`. `browser`: a cookie has it, which no script can read.'),
});

export const session = z.strictObject({
  object: z.literal('memory.session'),
  token: z.string().describe('Sent as `Authorization: Bearer`, instead of the key.'),
  ends_at: seconds.describe('When the token ends.'),
  expires_in: z.int().describe('The same in seconds from now, for a browser with another clock.'),
  kept_until: seconds.describe('When the sign-in ends.'),
  kept: z.string().optional().describe('Renews the sign-in, as the header `x-precis-session`.'),
  csrf: z.string().optional().describe('Renews the sign-in with the cookie, as the header `x-precis-csrf`.'),
});
name(session, 'Session');

export const deletedSession = deletion('memory.session.deleted', {
  everywhere: z.boolean().describe('Whether all sign-ins of the key are over.'),
});

export type SessionAnswer = z.output<typeof session>;
