/**
 * Asks the vendor why its cache was missed. An upstream that refuses the field is asked again
 * without, and is not asked for a while.
 */
import type { Call } from '../../request/call.ts';
import { noteRefused } from '../../request/model-refusals.ts';
import type { BodyOf, Retry } from './retry.ts';

const NAMES = /prompt_cache_options|comparison_response_id|diagnostics|previous_message_id/;

export function withoutDiagnostics({ request, scope }: Call, bodyOf: BodyOf): Retry {
  return {
    mayHelp: ({ without }, status) => (status === 400 || status === 422) && !without.has('diagnostics'),
    next: async (refused, { json }) => {
      if (!NAMES.test(json)) return undefined;
      const without = new Set([...refused.without, 'diagnostics' as const]);
      // Where nothing of Precis's was in it, the upstream refuses the caller's.
      const isSame = Buffer.compare(bodyOf({ ...refused, without }).body, refused.sent) === 0;
      return isSame ? undefined : { made: refused.made, without };
    },
    answered: () => {
      noteRefused('diagnostics', request, scope);
      scope.services.log('info', 'the upstream refuses diagnostics of its prompt cache', {
        code: 'diagnostics_refused',
      });
    },
  };
}
