/** What a body must say of an account that several callers share. */
import type { SharedAccount } from '../../protocol/model-request.ts';
import type { RequestScope } from '../scope.ts';

/**
 * OpenAI takes keys of up to 64 characters
 * (https://platform.openai.com/docs/api-reference/responses/create, `prompt_cache_key`).
 */
export const CACHE_KEY_CHARACTERS = 40;

interface BodyUse {
  /** Whether the body is only counted. */
  readonly isCount?: boolean;
  /** Whether its conversation has a key, in the body or not. */
  readonly hasOwnKey?: boolean;
}

/**
 * Gives each tenant prompt cache keys of its own: hits on a shared one would reveal what others
 * have sent (https://developers.openai.com/api/docs/guides/prompt-caching). Upstreams that may not
 * know the field get it only from a caller that sends it, as do their counts of tokens. Where a
 * conversation has a key of its own, that one distinguishes tenants.
 */
export function sharedAccount(
  { services, caller: { tenant } }: RequestScope,
  { isCount = false, hasOwnKey = false }: BodyUse = {},
): SharedAccount | undefined {
  if (!services.config.access || !tenant) return undefined;
  const sealed = (key: string): string =>
    tenant.seal(`prompt_cache_key:${key}`).slice(0, CACHE_KEY_CHARACTERS);
  const addsKey = services.config.promptCache && !isCount && !hasOwnKey;
  return {
    stores: !isCount,
    cacheKey: (key) => (key === undefined && !addsKey ? undefined : sealed(key ?? '')),
  };
}
