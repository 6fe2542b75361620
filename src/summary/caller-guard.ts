/**
 * The limits of a caller before the summarizer's work that no request waits for: a conversation's
 * object reserves each call, and settles it, as a request does (`request/callers/spending.ts`).
 */
import { counts, modelFault } from '../memory/money/caller-limits.ts';
import { dearestSpend, spendAtEnd } from '../memory/money/spending.ts';
import type { Budget } from '../storage/tenant/budget.ts';
import type { CallGuard, GuardedCall } from '../upstream/call-guard.ts';

/** Calls that belong to a request that has been sent: budgets hold, and no limit per minute. */
export function backgroundGuard(budget: Budget): CallGuard {
  return {
    async admit(call) {
      if (!isAllowed(call, budget)) return undefined;
      if (!counts(budget.limits)) return () => undefined;
      const most = call.most();
      const id = crypto.randomUUID();
      const at = Date.now();
      const order = { id, at, isFurther: true, isSummary: true };
      // A summary can wait for better weather.
      const reserved = await budget
        .reserve({ ...order, ...dearestSpend(most, call.schedule) })
        .catch(() => undefined);
      if (reserved !== 'unknown' && reserved?.state !== 'reserved') return undefined;
      return (end) => budget.settle({ ...order, ...spendAtEnd(end, most, call.schedule) });
    },
  };
}

function isAllowed({ model, schedule, isDeployers }: GuardedCall, { limits }: Budget): boolean {
  return isDeployers || modelFault(limits, model, schedule !== undefined) === undefined;
}
