/** `memory_blocks`: which memory blocks a request shows to the model (docs/memory-blocks.md). */
import * as z from 'zod';
import type { Immutable } from '../../lib/immutable.ts';
import type { Result } from '../../lib/result.ts';
import { isLabel, LABEL_FORM } from './block-text.ts';
import { fault, type StrategyFault, type WithNulls, withoutNulls } from './fields.ts';
import { quote, whatIsWrong } from './hint.ts';

/** The most blocks in one view. */
const MOST_LABELS = 20;

const labels = z.array(z.string()).max(MOST_LABELS);

const settings = z.strictObject({
  labels,
  // A block may repeat what a tool printed, so its role is no higher than the user's by default.
  role: z.enum(['system', 'user']).default('user'),
  /** Whether the model is given the tools that write these blocks. */
  writable: z.boolean().default(false),
  /** Whether the blocks of this conversation are read anew by this request. */
  refresh: z.boolean().default(false),
});

/** Blocks as callers write them. */
export const blocksSchema = z.union([z.literal(false), labels, settings]);

/**
 * Blocks as callers write them: null is the default of every member but `labels`. `false` or an
 * empty list overrides a lower level.
 */
export type MemoryBlocksRequest = WithNulls<z.input<typeof blocksSchema>, 'labels'>;

/** With each label once, and at least one. */
export type BlocksRequest = Immutable<z.output<typeof settings>>;

/** Reads the blocks. `off` is a value too, and takes precedence over lower levels. */
export function parseBlocks(input: unknown): Result<BlocksRequest | 'off', StrategyFault> {
  const parsed = blocksSchema.safeParse(withoutNulls(input, Object.keys(settings.shape)));
  if (!parsed.success)
    return fault(
      '',
      `memory_blocks must be false, a list of at most ${MOST_LABELS} labels, or an object of labels (such a list), role ('system' or 'user'), writable and refresh (true or false), and nothing else; ${whatIsWrong(input, Object.keys(settings.shape))}.`,
    );
  if (parsed.data === false) return { ok: true, value: 'off' };
  const requested = Array.isArray(parsed.data) ? settings.parse({ labels: parsed.data }) : parsed.data;
  const wrong = requested.labels.find((label) => !isLabel(label));
  if (wrong !== undefined)
    return fault('', `The label ${quote(wrong)} in memory_blocks is not valid; a label has ${LABEL_FORM}.`);
  const unique = [...new Set(requested.labels)];
  return { ok: true, value: unique.length === 0 ? 'off' : { ...requested, labels: unique } };
}
