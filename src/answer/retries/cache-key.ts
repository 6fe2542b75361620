/**
 * Keys of conversations for the upstream's prompt cache. An upstream that refuses the field is
 * asked again without, and gets none for a while.
 */
import type { ModelRequest } from '../../protocol/model-request.ts';
import { noteRefused } from '../../request/model-refusals.ts';
import type { RequestScope } from '../../request/scope.ts';
import { isOfRequest } from '../../upstream/too-long.ts';
import type { Retry } from './retry.ts';

export function withoutKey(request: ModelRequest, scope: RequestScope): Retry {
  return {
    mayHelp: ({ without }, status) => status !== undefined && isOfRequest(status) && !without.has('key'),
    next: async ({ made, without }, { json }) =>
      json.includes('prompt_cache_key') ? { made, without: new Set([...without, 'key']) } : undefined,
    answered: () => {
      noteRefused('key', request, scope);
      scope.services.log('info', 'the upstream refuses keys of its prompt cache', { code: 'key_refused' });
    },
  };
}
