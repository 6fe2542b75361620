/**
 * The removals of thinking whose API binds it to what stands before it, where that has changed.
 * Nothing stands in its place, and nothing is stored, as for old reasoning.
 */
import type { History } from '../conversation/history.ts';
import type { Content } from '../conversation/message.ts';
import type { ThinkingSums } from '../replay/bound-thinking.ts';
import { NO_CALL } from './placeholder.ts';
import type { Removal } from './removal.ts';

/** The name in the place of a tool's. */
const NO_TOOL = 'reasoning';

/** All thinking of the messages before one. */
export function thinkingBefore(
  { messages }: History,
  { tokens, blocks }: ThinkingSums,
  end: number,
): readonly Removal[] {
  return messages.slice(0, end).flatMap((message, index): Removal[] => {
    const thinking = blocks.at(index) > 0 ? message.thinking() : undefined;
    if (!thinking) return [];
    const { weight, bytes, isAll } = thinking;
    const content = (): Content => ({
      text: weight.texts.join('\n'),
      type: 'text/plain; charset=utf-8',
      weight,
      room: () => bytes,
    });
    const size = tokens.at(index);
    return [
      {
        kind: 'reasoning',
        reason: 'bound_thinking',
        message: index,
        call: -1,
        tool: NO_TOOL,
        callId: NO_CALL,
        content,
        tokens: size,
        bytes,
        replacement: '',
        freed: size,
        ...(isAll ? { isAll } : {}),
      },
    ];
  });
}
