/**
 * Names what makes two summaries of the same messages differ: focus, size, model, prompt
 * (docs/design.md#7-storage).
 */

import { createHash } from 'node:crypto';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import { summaryFacts } from '../memory/strategy/strategy.ts';
import { PROMPT_VERSION } from './text/prompt.ts';

/**
 * @param model the summarizer's
 * @param held a text of the caller's own that summaries are built upon: found again only by whoever
 *   holds it
 */
export function strategyHash(strategy: SummarizingStrategy, model: string, held = ''): string {
  const { mode, summary_max_tokens, summary_focus = '' } = strategy;
  const own = summaryFacts(strategy);
  const facts = [PROMPT_VERSION, mode, model, summary_max_tokens, summary_focus, held, ...own];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}
