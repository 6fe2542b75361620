/**
 * Where the next move is expected: an estimate for the caller, which nothing else depends on. It
 * takes for granted that the conversation goes on as it has, in steps of the same size whose
 * outputs may leave.
 */
import { overdueFrom } from './due.ts';
import type { NextMove } from './next-move-schema.ts';
import type { Refusal } from './refusal.ts';
import type { ReplayRule } from './rule.ts';

/**
 * @param paysFrom see `Mover`
 * @param isOpen see `dueAt`
 * @returns undefined where a move follows from turns, steps or messages, or each request makes one
 */
export function nextMove(
  rule: ReplayRule,
  view: number,
  refused: readonly Refusal[],
  paysFrom = 0,
  isOpen = false,
): NextMove | undefined {
  const { frontier, turnsDue, turnsLossy, stepsDue, messagesDue, window, hard, soft, step, limit } = rule;
  const counts = turnsDue ?? turnsLossy ?? stepsDue ?? messagesDue;
  if (frontier === 'slide' || counts !== undefined) return undefined;
  const budget = Math.min(hard ?? window, soft ?? window, window);
  // What was due and did not pay off says by how much.
  const lacking = Math.max(0, ...refused.map(({ least, freed }) => least - freed));
  const short = lacking > 0 ? view + lacking : 0;
  const latest = overdueFrom(rule, budget, isOpen);
  const cost = view > latest && short > 0 ? short : Math.min(Math.max(paysFrom, short), latest);
  let next: NextMove = { tokens: budget, because: budget < window ? 'budget' : 'window' };
  if (cost > next.tokens && limit === undefined) next = { tokens: cost, because: 'cost' };
  const sooner = (tokens: number | undefined, because: NextMove['because']) => {
    if (tokens !== undefined && tokens > budget && next.tokens > tokens) next = { tokens, because };
  };
  sooner(step, 'price_step');
  sooner(window, 'window');
  return { ...next, tokens: Number(next.tokens.toPrecision(2)) };
}
