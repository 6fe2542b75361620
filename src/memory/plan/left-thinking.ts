/**
 * A plan without the thinking that its moves have taken along (docs/design.md#bound-thinking).
 * Nothing replaces it, and nothing is stored, as for old reasoning.
 */
import type { History } from '../conversation/history.ts';
import type { KeptReasoning } from '../conversation/kept-reasoning.ts';
import { reasoningRemoval } from '../edits/old-reasoning.ts';
import type { Removal } from '../edits/removal.ts';
import type { RecalledPlan } from '../modes/mode.ts';
import type { Planned } from '../modes/planned.ts';
import type { ThinkingSums } from '../replay/bound-thinking.ts';

/**
 * @param planned with sums that have no thinking
 * @param from the messages before this one are without theirs
 * @param kept by message
 */
export function withoutThinkingBefore<Plan extends Planned>(
  planned: Plan,
  history: History,
  thinking: ThinkingSums | undefined,
  from: number,
  kept: ReadonlyMap<number, KeptReasoning>,
): Plan {
  if (!thinking) return planned;
  const { replay } = planned;
  const { tokens, blocks } = thinking;
  const before = replay.before + tokens.total;
  const after = replay.after + tokens.total - tokens.before(from);
  const removals = thinkingBefore(history, thinking, from, kept);
  const left = {
    from,
    blocks: blocks.before(from),
    blocksBefore: blocks.before(moveBefore(planned)),
    removals,
  };
  return { ...planned, replay: { ...replay, before, after }, ...(left.blocks > 0 ? { thinking: left } : {}) };
}

/** How many messages the array had at the move before the newest one; 0 without one. */
function moveBefore({ replay, bytes }: Planned): number {
  const lists = [replay.moves.map(({ messages }) => messages), bytes?.moves ?? []];
  const newest = Math.max(...lists.map((moves) => moves.at(-1) ?? 0));
  return Math.max(...lists.map((moves) => moves.findLast((messages) => messages < newest) ?? 0));
}

/**
 * Where the thinking begins that stays around a rolling memory. Each round may have another memory,
 * and no array shows which one an answer was made after. So none stays beside a memory, nor where
 * rounds were left out, nor where the budget has no room for it.
 */
export function keptBesideMemory(
  { replay, shown, trimmed, budgets }: RecalledPlan,
  { messages }: History,
  thinking: ThinkingSums | undefined,
): number {
  const { hard = budgets.window } = budgets;
  const isWhole = !shown && !trimmed && replay.after + (thinking?.tokens.total ?? 0) <= hard;
  return isWhole ? 0 : messages.length;
}

/** All thinking of the messages before one. */
function thinkingBefore(
  { messages }: History,
  { tokens, blocks }: ThinkingSums,
  end: number,
  kept: ReadonlyMap<number, KeptReasoning>,
): readonly Removal[] {
  return messages.slice(0, end).flatMap((message, index): Removal[] => {
    const beside = blocks.at(index) > 0 ? kept.get(index) : undefined;
    if (beside) return [reasoningRemoval('bound_thinking', index, beside, tokens.at(index))];
    const thinking = blocks.at(index) > 0 ? message.thinking() : undefined;
    if (!thinking) return [];
    const removal = reasoningRemoval('bound_thinking', index, thinking, tokens.at(index));
    return [thinking.isAll ? { ...removal, isAll: true } : removal];
  });
}
