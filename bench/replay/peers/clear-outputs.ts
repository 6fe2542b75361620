/** Replaces old tool outputs by a placeholder. Most peers do this, each with another rule. */
import type { ChatJson } from '../conversation.ts';

export const PLACEHOLDER = '[an earlier tool output was here]';

/** The messages with some of them cleared; calls and positions stay. */
export function cleared(messages: readonly ChatJson[], indices: ReadonlySet<number>): ChatJson[] {
  return messages.map((message, index) =>
    indices.has(index) ? { ...message, content: PLACEHOLDER } : message,
  );
}

/** The indices of all tool outputs, oldest first. */
export function outputsOf(messages: readonly ChatJson[]): number[] {
  return messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []));
}

/** Clears all tool outputs but the last ones. Outputs of parallel calls count one by one. */
export function clearedBut(messages: readonly ChatJson[], keep: number): ChatJson[] {
  const outputs = outputsOf(messages);
  return cleared(messages, new Set(outputs.slice(0, Math.max(0, outputs.length - keep))));
}
