/** Where the next move is expected. */
import * as z from 'zod';
import { count } from '../shapes.ts';

/**
 * What the next move waits for:
 *
 * - budget: the view reaches the budget.
 * - cost: it is worth what it costs, since the cached prefix after the first edit is paid anew.
 * - price_step: a longer request costs more per token.
 * - window: the view does not fit the model's window.
 */
export const nextMoveSchema = z.strictObject({
  tokens: count.describe('Of the view, to two digits.'),
  because: z.enum(['budget', 'cost', 'price_step', 'window']),
});

export type NextMove = z.output<typeof nextMoveSchema>;
