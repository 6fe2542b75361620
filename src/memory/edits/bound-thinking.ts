/**
 * The removals of thinking whose API binds it to what stands before it, where that has changed.
 * Nothing stands in its place, and nothing is stored, as for old reasoning.
 */
import type { History } from '../conversation/history.ts';
import type { ThinkingSums } from '../replay/bound-thinking.ts';
import { reasoningRemoval } from './old-reasoning.ts';
import type { Removal } from './removal.ts';

/** All thinking of the messages before one. */
export function thinkingBefore(
  { messages }: History,
  { tokens, blocks }: ThinkingSums,
  end: number,
): readonly Removal[] {
  return messages.slice(0, end).flatMap((message, index): Removal[] => {
    const thinking = blocks.at(index) > 0 ? message.thinking() : undefined;
    if (!thinking) return [];
    const removal = reasoningRemoval('bound_thinking', index, thinking, tokens.at(index));
    return [thinking.isAll ? { ...removal, isAll: true } : removal];
  });
}
