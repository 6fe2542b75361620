import { type Policy, rewriting } from '../policy.ts';
import { clearedBut } from './clear-outputs.ts';

/**
 * Anthropic's context editing, `clear_tool_uses_20250919`: when the array exceeds the trigger, all
 * tool results but the last few are cleared; inputs stay. Defaults: 100,000 input tokens, 3 uses
 * (https://docs.claude.com/en/docs/build-with-claude/context-editing).
 *
 * @param trigger in tokens of the caller's array with its tools
 * @param keep number of tool uses
 */
export function clearToolUses(trigger: number, keep: number): Policy {
  const name = `clear_tool_uses, ${trigger / 1_000}k, keep ${keep}`;
  return rewriting(name, 'peer', (messages, { tokens }) =>
    tokens > trigger ? clearedBut(messages, keep) : messages,
  );
}
