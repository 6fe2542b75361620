/**
 * The request's own upstream, for calls that Precis makes with the request's key: summaries,
 * digests, compactions. They get the headers and the query of the model's call, and go nowhere
 * else.
 */
import { baseUrlOf } from '../config.ts';
import type { ModelServer } from '../upstream/model-client.ts';
import { forwardedSearch, ownCallHeaders } from '../upstream/request.ts';
import { callersSearch } from './callers-search.ts';
import type { RequestScope } from './scope.ts';

/** Never stored or logged, since headers and query may hold keys of the caller's. */
export function ownUpstream(
  scope: Pick<RequestScope, 'services' | 'caller' | 'incoming' | 'api' | 'named'>,
): Required<Omit<ModelServer, 'apiKey'>> {
  const { services, caller, incoming, api } = scope;
  const { account } = caller;
  return {
    baseUrl: baseUrlOf(api, services.config),
    headers: Object.fromEntries(ownCallHeaders(incoming.headers, account)),
    search: forwardedSearch(callersSearch(scope), account),
  };
}
