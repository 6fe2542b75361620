/** What a body must say of an account that several callers share. */
import type { SharedAccount } from '../protocol/model-request.ts';
import type { RequestScope } from './scope.ts';

/**
 * OpenAI takes keys of up to 64 characters
 * (https://platform.openai.com/docs/api-reference/responses/create, `prompt_cache_key`).
 */
export const CACHE_KEY_CHARACTERS = 40;

/**
 * Gives each tenant prompt cache keys of its own: hits on a shared one would reveal what others
 * have sent (https://developers.openai.com/api/docs/guides/prompt-caching). Upstreams that may not
 * know the field get it only from a caller that sends it, as do their counts of tokens.
 *
 * @param isCount whether the body is only counted
 */
export function sharedAccount(
  { services, caller: { tenant } }: RequestScope,
  isCount = false,
): SharedAccount | undefined {
  if (!services.config.access || !tenant) return undefined;
  const sealed = (key: string): string =>
    tenant.seal(`prompt_cache_key:${key}`).slice(0, CACHE_KEY_CHARACTERS);
  const addsKey = services.config.promptCache && !isCount;
  return {
    stores: !isCount,
    cacheKey: (key) => (key === undefined && !addsKey ? undefined : sealed(key ?? '')),
  };
}
