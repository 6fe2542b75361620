/**
 * Asks for the usage of a stream where its caller does not, so that the request has a bill; the
 * caller's stream is as if nobody had asked. An upstream that refuses the field is asked again
 * without, and gets none for a while.
 */
import { passesThrough } from '../../memory/modes/strategy.ts';
import type { Call } from '../../request/call.ts';
import { isRefused, noteRefused } from '../../request/model-refusals.ts';
import type { Retry } from './retry.ts';

/** Whether Precis asks for usage. @param isRead whether a listener reads it */
export function asksUsage({ request, chosen, scope }: Call, isRead: boolean): boolean {
  const isWanted = isRead || scope.spending !== undefined;
  if (!isWanted || passesThrough(chosen.strategy) || !request.hidesUsage) return false;
  return !isRefused('usage', request, scope);
}

export function withoutUsage({ request, scope }: Call): Retry {
  return {
    mayHelp: ({ without }, status) => (status === 400 || status === 422) && !without.has('usage'),
    next: async ({ made, without }, { json }) =>
      /stream_options|include_usage/.test(json)
        ? { made, without: new Set([...without, 'usage' as const]) }
        : undefined,
    answered: () => {
      noteRefused('usage', request, scope);
      scope.services.log('info', 'the upstream refuses to report the usage of streams', {
        code: 'usage_refused',
      });
    },
  };
}
