import { type Policy, rewriting } from '../policy.ts';
import { clearedBut } from './clear-outputs.ts';

/**
 * Anthropic's context editing, `clear_tool_uses_20250919`: once the array is over the trigger, all
 * tool results but those of the last uses are cleared, inputs stay. By default the trigger is 100
 * 000 input tokens, and 3 uses are kept
 * (https://docs.claude.com/en/docs/build-with-claude/context-editing).
 *
 * @param trigger in tokens of the caller's array with its tools
 * @param keep tool uses
 */
export function clearToolUses(trigger: number, keep: number): Policy {
  const name = `clear_tool_uses, ${trigger / 1_000}k, keep ${keep}`;
  return rewriting(name, 'peer', (messages, { tokens }) =>
    tokens > trigger ? clearedBut(messages, keep) : messages,
  );
}
