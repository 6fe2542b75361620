/** The usage of several answers that a caller sees as one. */
import type { TokenUsage } from '../memory/report.ts';

/** As an upstream has counted one answer. */
export type Usage = Readonly<Record<string, unknown>>;

const COMPLETION_DETAILS = 'completion_tokens_details';

/** All answers together; undefined where none has told. */
export function totalUsage(answers: readonly Usage[]): TokenUsage | undefined {
  if (answers.length === 0) return undefined;
  return {
    prompt_tokens: sumOf(answers, 'prompt_tokens'),
    completion_tokens: sumOf(answers, 'completion_tokens'),
    total_tokens: sumOf(answers, 'total_tokens'),
  };
}

/**
 * The usage that a caller is told: the last answer's prompt with its details, since clients decide by it when to compact, and all
 * completions with theirs.
 *
 * @param earlier of the answers before the last one
 */
export function mergedUsage(earlier: readonly Usage[], last: Usage): Usage {
  if (earlier.length === 0) return last;
  const all = [...earlier, last];
  const completion = sumOf(all, 'completion_tokens');
  const details = all.map((usage) => usage[COMPLETION_DETAILS]).filter(isUsage);
  return {
    ...last,
    completion_tokens: completion,
    total_tokens: numberIn(last, 'prompt_tokens') + completion,
    ...(details.length === 0 ? {} : { [COMPLETION_DETAILS]: summed(details) }),
  };
}

/** Numbers are added up; all else is what was told last. */
function summed(details: readonly Usage[]): Usage {
  const sums = Object.assign({}, ...details) as Record<string, unknown>;
  for (const [key, value] of Object.entries(sums))
    if (typeof value === 'number') sums[key] = sumOf(details, key);
  return sums;
}

function isUsage(value: unknown): value is Usage {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sumOf(usages: readonly Usage[], key: string): number {
  return usages.reduce((sum, usage) => sum + numberIn(usage, key), 0);
}

function numberIn(usage: Usage, key: string): number {
  const value = usage[key];
  return typeof value === 'number' ? value : 0;
}
