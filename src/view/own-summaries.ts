/** The calls with which the upstream's API makes the summaries of a request, and signs them. */
import { scheduleOfRequest } from '../request/callers/billing.ts';
import { ownUpstream } from '../request/own-upstream.ts';
import type { OwnCompactions } from '../summary/own-compaction.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { addToList } from '../upstream/request.ts';
import type { ViewCall } from './made-view.ts';

/** Undefined if the view has none. */
export function ownSummaries({ own, tools, request, scope }: ViewCall): OwnCompactions | undefined {
  const { caller, services, api } = scope;
  if (!own || !caller.tenant) return undefined;
  const { tenant } = caller;
  const { baseUrl, search, headers: forwarded } = ownUpstream(scope);
  const headers = new Headers(forwarded);
  addToList(headers, own.beta);
  const { model = '' } = request;
  return {
    timeoutMs: TIME_LIMITS.ownSummaryMs,
    // A key of the deployer's may change, and the caller's own is the tenant.
    account: tenant.seal(`own_compaction:${baseUrl} ${api.keyIn(headers) ?? ''}`),
    call: (range) => ({
      server: { baseUrl, search, headers: Object.fromEntries(headers) },
      model,
      path: own.path,
      body: own.body({ ...range, tools: tools?.definitions }),
      timeoutMs: TIME_LIMITS.ownSummaryMs,
      backoffMs: TIME_LIMITS.longestSummaryPauseMs,
      schedule: scheduleOfRequest(request, services),
    }),
  };
}
