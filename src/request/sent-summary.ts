/** The summary that a caller keeps itself and sends with its request. */
import * as z from 'zod';
import { inWords } from '../memory/strategy/hint.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from './errors.ts';

export const heldSummarySchema = z.looseObject({
  text: z.string().min(1).max(200_000),
  covers: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
  prefix_hash: z.string().regex(/^[0-9a-f]{64}$/),
  ref: z.string().optional(),
});

/**
 * The `memory_summary` in the request, which comes from an earlier report.
 *
 * @throws ApiError if it does not have the report's format
 */
export function sentSummary(request: ModelRequest): z.output<typeof heldSummarySchema> | undefined {
  const sent = request.own('memory_summary');
  if (sent === undefined) return undefined;
  const parsed = heldSummarySchema.safeParse(sent, { error: inWords });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ApiError(
    'invalid_memory_strategy',
    `${['memory_summary', ...(issue?.path ?? [])].join('.')} ${issue?.message}. It is the summary of an earlier report: text, covers and prefix_hash.`,
    'memory_summary',
  );
}
