/** Asks the upstream whether it accepts a caller's key. */
import { baseUrlOf, type Config } from '../config.ts';
import { errorFields, type Log } from '../log.ts';
import type { Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { AcceptedKeys, Verdict } from './acceptance.ts';
import type { UpstreamApi } from './api.ts';
import { fetchUpstream } from './fetch.ts';
import { requestHeaders, upstreamUrl } from './request.ts';

/**
 * A trusted tenant needs no verdict. A caller's own key needs that of the upstream.
 *
 * @param api that of the request: no other upstream gets the key
 */
export async function verdictOn(
  tenant: Tenant,
  incoming: Headers,
  api: UpstreamApi,
  { config, accepted, log }: { config: Config; accepted: AcceptedKeys; log: Log },
): Promise<Verdict> {
  if (tenant.isTrusted || !config.verifyKeys) return 'accepted';
  const ask = async (): Promise<boolean> => {
    const forwarded = requestHeaders(incoming, { api, isVendor: config.upstreamIsOpenAi });
    const headers = new Headers([...forwarded].filter(([name]) => api.accountHeaders.includes(name)));
    api.complete?.(headers);
    const url = upstreamUrl(baseUrlOf(api, config), '/models', '');
    const { response } = await fetchUpstream(
      { url, method: 'GET', headers, body: null },
      TIME_LIMITS.keyVerdictMs,
      new AbortController().signal,
    );
    await response.body?.cancel();
    // A busy or failing upstream, or one without this route, says nothing about the key.
    if (!response.ok && !REFUSALS.has(response.status)) throw new Error('the upstream does not say');
    return response.ok;
  };
  return accepted.verdictOn(tenant.id, api.name, () =>
    ask().catch((error: unknown) => {
      const fields = { code: 'unverified_key', ...errorFields(error) };
      log('warn', UNASKED, fields);
      throw error;
    }),
  );
}

const UNASKED =
  'the upstream could not be asked about a key by GET /models, and nothing is stored under it until then; VERIFY_KEYS=false trusts every key';

const REFUSALS: ReadonlySet<number> = new Set([401, 403]);
