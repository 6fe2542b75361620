/** A plan without the thinking that its moves have taken along (docs/design.md#bound-thinking). */
import type { History } from '../conversation/history.ts';
import { thinkingBefore } from '../edits/bound-thinking.ts';
import type { RecalledPlan } from '../modes/mode.ts';
import type { ThinkingSums } from '../replay/bound-thinking.ts';
import type { Planned } from './planned.ts';

/**
 * @param planned with sums that have no thinking
 * @param from the messages before this one are without theirs
 */
export function withoutThinkingBefore<Plan extends Planned>(
  planned: Plan,
  history: History,
  thinking: ThinkingSums | undefined,
  from: number,
): Plan {
  if (!thinking) return planned;
  const { replay } = planned;
  const { tokens, blocks } = thinking;
  const before = replay.before + tokens.total;
  const after = replay.after + tokens.total - tokens.before(from);
  const removals = thinkingBefore(history, thinking, from);
  const left = { from, blocks: blocks.before(from), removals };
  return { ...planned, replay: { ...replay, before, after }, ...(left.blocks > 0 ? { thinking: left } : {}) };
}

/**
 * Where the thinking begins that stays around a rolling memory. Each round may have another memory,
 * and no array shows which one an answer was made behind. So none stays beside a memory, nor where
 * rounds were left out, nor where the budget has no room for it.
 */
export function keptBesideMemory(
  { replay, shown, dropped, budgets }: RecalledPlan,
  { messages }: History,
  thinking: ThinkingSums | undefined,
): number {
  const { hard = budgets.window } = budgets;
  const isWhole = !shown && dropped.length === 0 && replay.after + (thinking?.tokens.total ?? 0) <= hard;
  return isWhole ? 0 : messages.length;
}
