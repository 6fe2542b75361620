/** The usage of several answers that a caller sees as one. */
import type { TokenUsage } from '../memory/report.ts';

type Json = Record<string, unknown>;

/** What was spent so far, and what one more answer has cost; undefined where no answer has told. */
export function addUsage(
  spent: TokenUsage | undefined,
  usage: Json | null | undefined,
): TokenUsage | undefined {
  if (!usage) return spent;
  return {
    prompt_tokens: (spent?.prompt_tokens ?? 0) + numberIn(usage, 'prompt_tokens'),
    completion_tokens: (spent?.completion_tokens ?? 0) + numberIn(usage, 'completion_tokens'),
    total_tokens: (spent?.total_tokens ?? 0) + numberIn(usage, 'total_tokens'),
  };
}

/**
 * The usage that a caller is told: the last answer's prompt, since clients decide by it when to compact, and all completions.
 *
 * @param spent by the answers before the last one
 * @param last as the upstream has counted it; its details stay
 */
export function mergedUsage(spent: TokenUsage, last: Json): Json {
  const completion = spent.completion_tokens + numberIn(last, 'completion_tokens');
  return {
    ...last,
    completion_tokens: completion,
    total_tokens: numberIn(last, 'prompt_tokens') + completion,
  };
}

function numberIn(usage: Json, key: string): number {
  const value = usage[key];
  return typeof value === 'number' ? value : 0;
}
