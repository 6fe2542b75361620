/** The summarizer's work under the caller's limits (docs/operating.md#budgets-and-limits). */
import type { MemoryStrategy } from '../memory/modes/table.ts';
import { estimatedSpend, NO_SPEND, type Spend } from '../memory/money/spending.ts';
import { summarizes } from '../memory/strategy/strategy.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import type { Call } from '../request/call.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import type { MadeView } from './made-view.ts';

/** Tokens that are reserved for a summary, with the reasoning before it. */
const SUMMARY_OUTPUT = 4_096;

/**
 * Makes a view for a caller who asks for nothing else: a request of its own, of which the summary
 * is paid by the deployer.
 *
 * @throws ApiError if a limit is reached, and what `make` throws
 */
export function makeLimited(
  make: () => Promise<MadeView>,
  strategy: MemoryStrategy,
  call: Pick<Call, 'request' | 'scope'>,
): Promise<MadeView> {
  const { spending } = call.scope;
  if (!spending) return make();
  return spending.summarizing(estimateOf(strategy, call), make, ({ report }) => {
    return report.summary?.usage.total_tokens ?? 0;
  });
}

/** As if the whole array were summarised. */
function estimateOf(strategy: MemoryStrategy, { request, scope }: Pick<Call, 'request' | 'scope'>): Spend {
  if (!summarizes(strategy)) return NO_SPEND;
  const { schedule } = summarizerTarget(strategy, request, scope);
  const input = Math.ceil(request.bytes.length / BYTES_PER_TOKEN);
  return estimatedSpend({ input, output: SUMMARY_OUTPUT }, schedule ?? null);
}
