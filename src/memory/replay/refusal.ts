/** Why a phase that was due did not move. */
import * as z from 'zod';
import { count } from '../shapes.ts';

/**
 * A phase that was due and was not taken, because of
 *
 * - floor: it would have freed less than the least that is worth a move.
 * - regret: the conversation would soon have cost more than without any edit.
 * - nothing_to_free: nothing that it may edit would become shorter.
 * - not_enough: the view would have stayed over its budget.
 */
export const refusalSchema = z.strictObject({
  phase: z.enum(['reversible', 'summarize', 'trim']),
  because: z.enum(['floor', 'regret', 'nothing_to_free', 'not_enough']),
  /** Tokens that it would have freed, and the least that was worth a move. */
  freed: z.int(),
  least: count,
});

export type Refusal = z.output<typeof refusalSchema>;
