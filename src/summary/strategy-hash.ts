/**
 * Identifies the settings that make two summaries of the same messages differ: focus, instructions,
 * size, model, prompt (docs/design.md#7-storage).
 */

import { modeOf, type SummarizingStrategy } from '../memory/modes/table.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { PROMPT_VERSION, type SummaryHints } from './text/prompt.ts';

/** What the strategy says to the summarizer. */
export function hintsOf({ summary_focus, summary_instructions }: SummarizingStrategy): SummaryHints {
  return { focus: summary_focus, instructions: summary_instructions };
}

/**
 * @param held a summary from the caller that the new one is built on; only a caller who sends it
 *   finds the result
 */
export function strategyHash(strategy: SummarizingStrategy, model: string, held = ''): string {
  const { mode, summary_max_tokens, summary_focus = '', summary_instructions: instructions } = strategy;
  const own = modeOf(strategy).summaryFacts?.(strategy) ?? [];
  // Without instructions, the hash is the same as for versions that knew of none.
  const more = instructions === undefined ? [] : [{ instructions }];
  const facts = [PROMPT_VERSION, mode, model, summary_max_tokens, summary_focus, held, ...own, ...more];
  return sha256Hex(JSON.stringify(facts));
}
