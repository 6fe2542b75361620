/** What the routes of refs, memory blocks, all data and the deployment answer. */
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
  stored_bytes: count.describe('Compressed and encrypted.'),
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
