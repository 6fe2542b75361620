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
import { ApiError } from './errors.ts';
import type { RequestScope } from './scope.ts';
import type { Services } from './services.ts';

/**
 * In bytes. Bodies up to this size are planned under any key; counting a larger one takes seconds.
 */
const MOST_UNVERIFIED = 1024 * 1024;

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

/** Whether the upstream is known to accept a tenant's key. Asks nobody. */
export function isAccepted({ id, isTrusted }: Tenant, { config, accepted }: Services): boolean {
  return isTrusted || !config.verifyKeys || accepted.isKnown(id);
}

/**
 * Refuses a request that was not planned because of its key, on routes that send nothing upstream.
 *
 * @throws ApiError `invalid_api_key`
 */
export function checkPlanned({ warnings }: Report, { caller, services, api }: RequestScope): void {
  if (!warnings.includes('unverified_key')) return;
  if (caller.tenant && services.accepted.known(caller.tenant.id, api.name) !== 'refused') return;
  throw new ApiError(
    'invalid_api_key',
    `A body of over ${MOST_UNVERIFIED} bytes needs an API key that the upstream accepts, of at least ${SHORTEST_TOKEN} characters, as Authorization: Bearer${api.name === 'anthropic' ? ' or as x-api-key' : ''}.`,
  );
}
