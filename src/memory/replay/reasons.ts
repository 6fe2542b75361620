/** Codes for why a replay moves, why it does not, and when it will. */
import * as z from 'zod';
import { count } from '../shapes.ts';

/** Why units are edited, in the terms of `x-memory-trigger`. */
export const TRIGGERS = [
  'turns',
  'steps',
  'messages',
  'token_budget',
  'token_soft_budget',
  'upstream_limit',
  'large_output',
  'cold_return',
  'force',
  'none',
] as const;

export type Trigger = (typeof TRIGGERS)[number];

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

/**
 * Where the next move is expected, and what it waits for:
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
