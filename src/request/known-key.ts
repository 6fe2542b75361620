/**
 * Whether the upstream accepts a caller's key (docs/design.md#10-upstream-and-access). Storing,
 * reading and expensive planning wait for that.
 *
 * The isolate remembers the verdict (`upstream/acceptance.ts`) for ten minutes, or until an answer
 * of 401; any other one for half a minute.
 */
import type { Report } from '../memory/plan/report.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { SHORTEST_TOKEN, type Tenant } from '../tenant/identity.ts';
import type { UpstreamApi } from '../upstream/api.ts';
import { ApiError } from './errors.ts';
import type { RequestScope } from './scope.ts';
import type { Services } from './services.ts';

/**
 * In bytes. Bodies up to this size are planned under any key; counting a larger one takes seconds.
 */
export const MOST_UNVERIFIED = 1024 * 1024;

/**
 * Whether a body may be planned. A large one waits until the upstream has accepted the key, and is
 * never planned under a shared key, since invented keys cost nothing.
 */
export async function mayPlan(
  { bytes }: ModelRequest,
  { caller, services, mayStore }: Pick<RequestScope, 'caller' | 'services' | 'mayStore'>,
): Promise<boolean> {
  if (bytes.length <= MOST_UNVERIFIED || !services.config.verifyKeys) return true;
  return caller.tenant !== undefined && (await mayStore(caller.tenant));
}

/**
 * Why an encoded body must not become larger than `MOST_UNVERIFIED`, since it may have been sent in
 * a thousandth of its bytes: an `invalid_api_key`. Undefined if it may, also where the upstream
 * can't be asked.
 */
export async function growthFault(scope: RequestScope): Promise<ApiError | undefined> {
  const { caller, services, api, isAccepted: mayGrow } = scope;
  const { tenant } = caller;
  if (!services.config.verifyKeys || (tenant && (await mayGrow(tenant)))) return undefined;
  return isRefused(scope) ? unaccepted(api) : undefined;
}

/** Whether the upstream is known to accept a tenant's key. Asks nobody. */
export function isAccepted({ id, isTrusted }: Tenant, { config, accepted }: Services): boolean {
  return isTrusted || !config.verifyKeys || accepted.isKnown(id);
}

/**
 * Refuses a request that was not planned because of its key, on routes that send nothing upstream.
 *
 * @throws ApiError `invalid_api_key`
 */
export function checkPlanned({ warnings }: Report, scope: RequestScope): void {
  if (warnings.includes('unverified_key') && isRefused(scope)) throw unaccepted(scope.api);
}

/** Whether the upstream is known to refuse the key, or nobody can be known by it. */
function isRefused({ caller: { tenant }, services, api }: RequestScope): boolean {
  return !tenant || services.accepted.known(tenant.id, api.name) === 'refused';
}

function unaccepted({ name }: UpstreamApi): ApiError {
  return new ApiError(
    'invalid_api_key',
    `A body of over ${MOST_UNVERIFIED} bytes needs an API key that the upstream accepts, of at least ${SHORTEST_TOKEN} characters, as Authorization: Bearer${name === 'anthropic' ? ' or as x-api-key' : ''}.`,
  );
}
