/**
 * Old tool outputs become a placeholder: what most of the peers do, each with another rule for what
 * is old.
 */
import type { ChatJson } from '../conversation.ts';

export const PLACEHOLDER = '[an earlier tool output was here]';

/** The messages with those of the given indices cleared; calls and positions stay. */
export function cleared(messages: readonly ChatJson[], indices: ReadonlySet<number>): ChatJson[] {
  return messages.map((message, index) =>
    indices.has(index) ? { ...message, content: PLACEHOLDER } : message,
  );
}

/** The indices of all tool outputs, oldest first. */
export function outputsOf(messages: readonly ChatJson[]): number[] {
  return messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []));
}

/** All tool outputs but the last ones cleared. Outputs of parallel calls count one by one. */
export function clearedBut(messages: readonly ChatJson[], keep: number): ChatJson[] {
  const outputs = outputsOf(messages);
  return cleared(messages, new Set(outputs.slice(0, Math.max(0, outputs.length - keep))));
}
