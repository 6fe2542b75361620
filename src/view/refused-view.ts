/** The refusal of a view over its budget (`overflow_policy: "error"`). */
import type { BudgetExceeded } from '../memory/modes/planned.ts';
import type { Call } from '../request/call.ts';
import { ApiError } from '../request/errors.ts';
import { trackWork } from '../request/pending-work.ts';
import type { TextState } from '../storage/conversation/memories.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';

/**
 * The view, if it is not refused. Nothing is answered to a refused request after which its
 * conversation is remembered, so the refusal orders the memory with which it may pass.
 *
 * @throws ApiError `memory_budget_exceeded`
 */
export async function passed(made: MadeView, call: Call, { dryRun }: MakeViewOptions): Promise<MadeView> {
  const { exceeded, remember } = made;
  if (!exceeded) return made;
  throw refusal(exceeded, dryRun ? undefined : await (remember && trackWork(remember(undefined), call)));
}

function refusal({ tokens, budget }: BudgetExceeded, order: TextState | undefined): ApiError {
  return new ApiError(
    'memory_budget_exceeded',
    `Memory and verbatim messages have ${tokens} tokens, over the ${budget} that total_max_tokens and the budget leave them. ${wayOut(order)}`,
    'memory_strategy.total_max_tokens',
  );
}

const OTHERWISE = "raise total_max_tokens, or choose another overflow_policy than 'error'";
const PENDING =
  'A memory of its earlier rounds is being made: send the request again in some seconds, or let POST /v1/compact with force wait for it.';
const FAILED = `A memory of its earlier rounds can't be made now, since the summarizer has failed: send the request again later, ${OTHERWISE}.`;
const NO_MEMORY = `No memory is being made that leaves less: ${OTHERWISE}.`;

/** What the caller can do. @param order see \`MadeView.remember\` */
function wayOut(order: TextState | undefined): string {
  if (order === undefined) return NO_MEMORY;
  return order === 'resting' ? FAILED : PENDING;
}
