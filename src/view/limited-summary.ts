/** The summarizer's work under the caller's limits (docs/operating.md#budgets-and-limits). */

import { summarizes } from '../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import { dearestSpend, NO_SPEND, type Spend } from '../memory/money/spending.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import type { Call } from '../request/call.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import { answerRoom } from '../summary/summarizer.ts';

/**
 * Does what a caller asks for that no model answers: a request of its own, of which the summary is
 * paid by the deployer.
 *
 * @param strategy by which it may be summarized
 * @throws ApiError if a limit is reached or a model not allowed, and what `work` throws
 */
export function workLimited<Result>(
  work: () => Promise<Result>,
  strategy: MemoryStrategy,
  call: Pick<Call, 'request' | 'scope'>,
): Promise<Result> {
  const { spending } = call.scope;
  if (!spending) return work();
  return spending.summarizing(estimateOf(strategy, call), work);
}

/** As if the whole array were summarized. @throws ApiError for a model that is not allowed */
function estimateOf(strategy: MemoryStrategy, { request, scope }: Pick<Call, 'request' | 'scope'>): Spend {
  if (!summarizes(strategy)) return NO_SPEND;
  const target = summarizerTarget(strategy, request, scope);
  scope.spending?.checkSummarizer({ isDeployers: false, schedule: undefined, ...target });
  const input = Math.ceil(request.bytes.length / BYTES_PER_TOKEN);
  return dearestSpend({ input, output: answerRoom(target, 0) }, target.schedule);
}
