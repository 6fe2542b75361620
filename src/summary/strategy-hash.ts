/**
 * Identifies the settings that make two summaries of the same messages differ: focus, size, model,
 * prompt (docs/design.md#7-storage).
 */

import type { SummarizingStrategy } from '../memory/modes/table.ts';
import { summaryFacts } from '../memory/strategy/strategy.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { PROMPT_VERSION } from './text/prompt.ts';

/**
 * @param model the summarizer's
 * @param held a summary from the caller that the new one is built on; only a caller who sends it
 *   finds the result
 */
export function strategyHash(strategy: SummarizingStrategy, model: string, held = ''): string {
  const { mode, summary_max_tokens, summary_focus = '' } = strategy;
  const own = summaryFacts(strategy);
  const facts = [PROMPT_VERSION, mode, model, summary_max_tokens, summary_focus, held, ...own];
  return sha256Hex(JSON.stringify(facts));
}
