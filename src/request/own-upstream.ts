/**
 * The request's own upstream, for calls that Precis makes with the request's key: summaries,
 * digests, compactions. They get the headers and the query of the model's call, and go nowhere
 * else.
 */
import { baseUrlOf } from '../config.ts';
import type { ModelServer } from '../upstream/model-client.ts';
import { forwardedSearch, ownCallHeaders } from '../upstream/request.ts';
import { callersSearch, judgeOf, type RequestScope } from './scope.ts';

type OwnScope = Pick<RequestScope, 'services' | 'caller' | 'incoming' | 'api' | 'named'>;

/** The request as its own upstream takes further calls of Precis's. */
export function ownScope(scope: OwnScope): OwnScope {
  const { services, incoming, caller, named } = scope;
  const { api, headers } = judgeOf(incoming.headers, scope.api, services);
  if (api === scope.api) return scope;
  const asked = new Request(incoming.url, { headers });
  const own = { tenant: caller.tenant, account: { api } };
  return { services, api, incoming: asked, caller: own, ...(named && { named }) };
}

/** Never stored or logged, since headers and query may hold keys of the caller's. */
export function ownUpstream(scope: OwnScope): Required<Omit<ModelServer, 'apiKey'>> {
  const { services, caller, incoming, api } = scope;
  const { account } = caller;
  return {
    baseUrl: baseUrlOf(api, services.config),
    headers: Object.fromEntries(ownCallHeaders(incoming.headers, account)),
    search: forwardedSearch(callersSearch(scope), account),
  };
}
