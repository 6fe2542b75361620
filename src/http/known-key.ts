/** Whether the upstream accepts a caller's key (design §10): what is stored, read or costs much waits for that. */
import type { Context } from 'hono';
import type { Tenant } from '../storage/tenant.ts';
import type { Verdict } from '../upstream/acceptance.ts';
import { fetchUpstream } from '../upstream/fetch.ts';
import { requestHeaders, upstreamUrl } from '../upstream/request.ts';
import { tenantOf } from './caller.ts';
import { ApiError } from './errors.ts';
import type { AppEnv, Services } from './services.ts';

/** How long the upstream may take to say whether it accepts a key, in milliseconds. */
const MODELS_LIMIT_MS = 5_000;

/** The headers that say for whom the upstream is asked. */
const ACCOUNT = ['authorization', 'openai-organization', 'openai-project'];

/** A deployer's own access keys are trusted; a caller's own key is when the upstream has accepted it. */
export async function verdictOn(
  tenant: Tenant,
  incoming: Headers,
  { config, accepted }: Services,
): Promise<Verdict> {
  if (config.access || !config.verifyKeys) return 'accepted';
  return accepted.verdictOn(tenant.id, async () => {
    const forwarded = requestHeaders(incoming, {});
    const headers = new Headers([...forwarded].filter(([name]) => ACCOUNT.includes(name)));
    const url = upstreamUrl(config.upstreamBaseUrl, '/models', '');
    const { response } = await fetchUpstream(
      { url, method: 'GET', headers, body: null },
      MODELS_LIMIT_MS,
      new AbortController().signal,
    );
    await response.body?.cancel();
    // An upstream that is busy, in trouble, or has no such route has said nothing about the key.
    if (!response.ok && !REFUSALS.has(response.status)) throw new Error('the upstream does not say');
    return response.ok;
  });
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/**
 * The tenant of a request about stored things. A key that was revoked opens nothing.
 *
 * @param use what can't be verified may be read where the deployment says so, and is never changed
 * @throws ApiError `invalid_api_key`, or `store_failed` when the upstream can't be asked
 */
export async function verifiedTenant(c: Context<AppEnv>, use: 'read' | 'change'): Promise<Tenant> {
  const services = c.get('services');
  const { headers } = c.req.raw;
  const tenant = tenantOf(headers, services);
  const verdict = await verdictOn(tenant, headers, services);
  if (verdict === 'accepted') return tenant;
  if (verdict === 'refused')
    throw new ApiError('invalid_api_key', 'The upstream does not accept this API key.');
  if (use === 'read' && services.config.unverifiedReads) return tenant;
  throw new ApiError('store_failed', 'The upstream could not be asked about this API key; try again.');
}
