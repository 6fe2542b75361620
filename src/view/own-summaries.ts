/** The calls with which the upstream's API makes the summaries of a request, and signs them. */
import { baseUrlOf } from '../config.ts';
import { urlOf } from '../lib/request-url.ts';
import { scheduleOfRequest } from '../request/billing.ts';
import type { OwnCompactions } from '../summary/own-compaction.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { bearerToken } from '../upstream/api.ts';
import { addToList, forwardedSearch, requestHeaders } from '../upstream/request.ts';
import type { ViewCall } from './made-view.ts';

/** Headers of the request that are about its own body and answer. */
const OF_THE_ANSWER = ['content-encoding', 'content-type', 'accept', 'idempotency-key'];

/** Undefined if the view has none. */
export function ownSummaries({ own, tools, request, scope }: ViewCall): OwnCompactions | undefined {
  const { caller, services, incoming, api, headers: came } = scope;
  if (!own || !caller.tenant) return undefined;
  const { tenant, account } = caller;
  const baseUrl = baseUrlOf(api, services.config);
  const headers = requestHeaders(came, account);
  for (const name of OF_THE_ANSWER) headers.delete(name);
  api.complete?.(headers);
  addToList(headers, own.beta);
  const { model = '' } = request;
  const apiKey = bearerToken(headers);
  const search = forwardedSearch(urlOf(incoming).search, account);
  return {
    timeoutMs: TIME_LIMITS.ownSummaryMs,
    // A key of the deployer's may change, and the caller's own is the tenant.
    account: tenant.seal(`own_compaction:${baseUrl} ${api.keyIn(headers) ?? ''}`),
    call: (range) => ({
      server: {
        baseUrl,
        ...(apiKey === undefined ? {} : { apiKey }),
        headers: Object.fromEntries(headers),
      },
      model,
      path: own.path,
      query: Object.fromEntries(new URLSearchParams(search)),
      body: own.body({ ...range, tools: tools?.definitions }),
      timeoutMs: TIME_LIMITS.ownSummaryMs,
      backoffMs: TIME_LIMITS.longestSummaryPauseMs,
      schedule: scheduleOfRequest(request, services),
    }),
  };
}
