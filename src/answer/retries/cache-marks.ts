/**
 * Marks of ours for the upstream's prompt cache (docs/design.md#marks). An upstream that refuses
 * them is asked again without, and gets none for a while.
 */

import { isObject } from '../../lib/json.ts';
import { MOST_MARKS } from '../../memory/plan/marks.ts';
import type { View } from '../../memory/plan/view.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { RequestScope } from '../../request/scope.ts';
import type { BodyOf, Retry } from './retry.ts';

/** Whether the upstream is known to refuse marks for this model. */
export function refusesMarks({ model }: ModelRequest, { services, caller }: RequestScope): boolean {
  return services.refusedMarks.of(caller.tenant?.id ?? '', model) ?? false;
}

/**
 * How many marks of ours a view may get. A caller that places all marks itself gets none, and the
 * others what their own leave.
 */
export function roomForMarks(request: ModelRequest, view: View | undefined): number {
  if (!view?.marks?.length) return 0;
  const options = request.field('prompt_cache_options');
  if (isObject(options) && options.mode === 'explicit') return 0;
  const { cacheMarks, marks } = request;
  return Math.min(Math.max(cacheMarks.most - marks, 0), MOST_MARKS);
}

export function withoutMarks(
  request: ModelRequest,
  { services, caller }: RequestScope,
  bodyOf: BodyOf,
): Retry {
  return {
    mayHelp: ({ made, without }, status) =>
      (status === 400 || status === 422) && !without.has('marks') && roomForMarks(request, made.view) > 0,
    next: async (refused, { json }) => {
      if (!request.cacheMarks.refusal.test(json)) return undefined;
      const without = new Set([...refused.without, 'marks' as const]);
      // Where there was none of ours, the upstream refuses a mark of the caller's.
      const isSame = Buffer.compare(bodyOf({ ...refused, without }).body, refused.sent) === 0;
      return isSame ? undefined : { made: refused.made, without };
    },
    answered: () => {
      services.refusedMarks.note(caller.tenant?.id ?? '', request.model, true);
      services.log('info', 'the upstream refuses marks of its prompt cache', { code: 'marks_refused' });
    },
  };
}
