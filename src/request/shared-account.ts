/** What a body must say of an account that several callers share. */
import type { SharedAccount } from '../protocol/model-request.ts';
import type { RequestScope } from './scope.ts';

/**
 * OpenAI takes keys of up to 64 characters
 * (https://platform.openai.com/docs/api-reference/responses/create, `prompt_cache_key`).
 */
const CACHE_KEY_CHARACTERS = 40;

/**
 * Makes prompt cache keys separate for each tenant: hits on a shared key would reveal what others
 * sent.
 */
export function sharedAccount({ services, caller: { tenant } }: RequestScope): SharedAccount | undefined {
  if (!services.config.access || !tenant) return undefined;
  return { cacheKey: (key) => tenant.seal(`prompt_cache_key:${key}`).slice(0, CACHE_KEY_CHARACTERS) };
}
