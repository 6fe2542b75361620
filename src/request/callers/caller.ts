/** Who calls, and whose key goes upstream (docs/design.md#10-upstream-and-access). */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Access, AccessKey } from '../../access-keys.ts';
import type { CallerLimits, CallerState } from '../../memory/money/caller-limits.ts';
import type { WaitUntil } from '../../storage/refs/writer.ts';
import { SHORTEST_TOKEN, type Tenant, type Tenants, tenantsOf } from '../../tenant/identity.ts';
import { bearerToken, keysIn, OPENAI, type UpstreamApi } from '../../upstream/api.ts';
import type { UpstreamAccount } from '../../upstream/request.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';

export interface Caller {
  /** Undefined without a key, or with one that strangers share. Nothing is stored then. */
  readonly tenant: Tenant | undefined;
  /** @throws ApiError `not_forwarded` with access keys, if the deployer has no key for the API */
  readonly account: UpstreamAccount;
  /** Whether `account` throws. */
  readonly isClosed?: boolean;
  /** Of a caller of the deployer's account; absent if it has none. */
  readonly limits?: CallerLimits | undefined;
}

/**
 * @param api the one that the request speaks
 * @throws ApiError `invalid_api_key` if the deployment has access keys and the caller has none
 */
export function callerOf(headers: Headers, services: Services, api: UpstreamApi): Caller {
  const { config, tenants } = services;
  const { access } = config;
  if (access) {
    const name = accessNameIn(headers, services, api);
    return {
      tenant: tenants.ofName(name),
      get account() {
        return sharedAccount(access, api);
      },
      isClosed: keyOf(access, api) === undefined,
      limits: services.callers.limitsOf(name),
    };
  }
  const account = { api, isVendor: config.upstreamIsOpenAi };
  const identify = identity(api.keyIn(headers), config.localTenant, tenants);
  if (!identify) return { tenant: undefined, account };
  let tenant: Tenant | undefined;
  return {
    account,
    // Derived only where something is asked of it.
    get tenant() {
      tenant ??= identify();
      return tenant;
    },
  };
}

function keyOf({ apiKey, anthropicApiKey }: Access, { name }: UpstreamApi): string | undefined {
  return name === 'anthropic' ? anthropicApiKey : apiKey;
}

function sharedAccount(access: Access, api: UpstreamApi): UpstreamAccount {
  const apiKey = keyOf(access, api);
  if (apiKey !== undefined) return { api, apiKey, forwardedHeaders: access.forwardedHeaders };
  throw new ApiError(
    'not_forwarded',
    `This deployment does not forward to this API: it has access keys, but no ${api.keyVariable}.`,
  );
}

/** How to derive a caller's tenant; undefined if nothing identifies the caller. */
function identity(
  token: string | undefined,
  localTenant: Services['config']['localTenant'],
  tenants: Tenants,
): (() => Tenant) | undefined {
  if (token !== undefined && token.length >= SHORTEST_TOKEN) return () => tenants.ofToken(token);
  return localTenant === undefined ? undefined : () => tenants.ofLocal(localTenant.name);
}

/** What distinguishes a caller of stored data from others. */
export function identifiedBy(
  headers: Headers,
  { config }: Services,
  api: UpstreamApi,
): 'key' | 'access_key' | 'local_tenant' {
  if (config.access) return 'access_key';
  return (api.keyIn(headers)?.length ?? 0) >= SHORTEST_TOKEN ? 'key' : 'local_tenant';
}

/** The caller's access key. @throws ApiError `invalid_api_key` */
export function accessKeyIn(headers: Headers, keys: readonly AccessKey[]): AccessKey {
  for (const token of keysIn(headers, OPENAI)) {
    const isToken = matching(token);
    const found = keys.find(({ key }) => isToken(key));
    if (found) return found;
  }
  throw unknownKey();
}

/**
 * The name of the caller's access key, of the configuration or of the register.
 *
 * @throws ApiError `invalid_api_key`, also for a caller that is deleted; `caller_disabled`
 */
function accessNameIn(headers: Headers, { config, callers, tenants }: Services, api: UpstreamApi): string {
  const keys = config.access?.keys ?? [];
  for (const token of keysIn(headers, api)) {
    const isToken = matching(token);
    const configured = keys.find(({ key }) => isToken(key))?.name;
    const name = configured ?? callers.withKey(() => tenants.hashesOfKey(token))?.name;
    // A name of the configuration has the key of the configuration alone.
    if (name === undefined || (configured === undefined && keys.some((key) => key.name === name))) continue;
    checkState(callers.named(name)?.state);
    return name;
  }
  throw unknownKey();
}

function unknownKey(): ApiError {
  return new ApiError('invalid_api_key', 'Incorrect API key provided: it is not one of this deployment.');
}

/** @throws ApiError `invalid_api_key` or `caller_disabled` */
export function checkState(state: CallerState | undefined): void {
  if (state === 'deleted') throw unknownKey();
  if (state === 'disabled')
    throw new ApiError('caller_disabled', "This deployment's operator has disabled this API key.");
}

/**
 * Refuses who is no caller of this deployment, or is one no longer.
 *
 * @param waitUntil for reading the register
 * @throws ApiError `invalid_api_key`, `caller_disabled`; `key_not_checked` if that can't be known
 */
export async function checkCaller(
  headers: Headers,
  services: Services,
  api: UpstreamApi,
  waitUntil: WaitUntil,
): Promise<void> {
  const { callers, config } = services;
  const reading = callers.refresh(waitUntil);
  await reading?.catch(() => {
    if (!config.allowsUnknown)
      throw new ApiError(
        'key_not_checked',
        'Whether this API key still belongs to this deployment could not be checked; try again.',
      );
  });
  if (config.access) accessNameIn(headers, services, api);
  else checkState(callers.closedTenant(() => idsOf(callerOf(headers, services, api))));
}

/** Of the caller's tenant, under each secret. */
function idsOf({ tenant }: Caller): string[] {
  return tenant ? tenantsOf(tenant).map(({ id }) => id) : [];
}

/** Whether a request brings a secret of the deployer's as its token. */
export function isBearer(headers: Headers, secret: string): boolean {
  const token = bearerToken(headers);
  return token !== undefined && matching(token)(secret);
}

/**
 * The tenant of a request for stored data.
 *
 * @throws ApiError `invalid_api_key` without one
 */
export function tenantOf(headers: Headers, services: Services, api: UpstreamApi): Tenant {
  const { tenant } = callerOf(headers, services, api);
  if (tenant) return tenant;
  throw new ApiError(
    'invalid_api_key',
    `This needs the API key under which the content was stored, as Authorization: Bearer or as x-api-key, of at least ${SHORTEST_TOKEN} characters. Nothing is stored for shorter keys, unless the deployment sets LOCAL_TENANT.`,
  );
}

/**
 * The tenant that a sealed item is bound to.
 *
 * @throws ApiError `invalid_api_key` without one
 */
export function sealingTenant({ tenant }: Caller): Tenant {
  if (tenant) return tenant;
  throw new ApiError(
    'invalid_api_key',
    `A compaction is bound to the API key under which it is made: send one of at least ${SHORTEST_TOKEN} characters, as Authorization: Bearer or as x-api-key, or set LOCAL_TENANT in the deployment.`,
  );
}

/**
 * Whether a key or token of the deployment is the same as a request's. Compares digests, so that
 * the time taken reveals neither content nor length.
 */
function matching(token: string): (own: string) => boolean {
  const digest = sha256(token);
  return (own) => timingSafeEqual(digestOf(own), digest);
}

/** Digests of the deployment's keys and tokens, with which each request is compared. */
const digests = new Map<string, Buffer>();

function digestOf(own: string): Buffer {
  const digest = digests.get(own) ?? sha256(own);
  digests.set(own, digest);
  return digest;
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
