/**
 * Precis's marks for the upstream's prompt cache (docs/design.md#marks). An upstream that refuses
 * them is asked again without, and gets none for a while.
 */

import type { ModelTables } from '../../memory/models/terms.ts';
import { marksChoiceOf } from '../../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../../memory/modes/table.ts';
import type { Additions, ModelRequest } from '../../protocol/model-request.ts';
import { marksMessages } from '../../request/cache-marks.ts';
import type { Call } from '../../request/call.ts';
import { noteRefused } from '../../request/model-refusals.ts';
import { termsFor } from '../../view/made-before.ts';
import type { BodyOf, Retry } from './retry.ts';

type Marks = Pick<Additions, 'marks' | 'movesMark' | 'losesMarks'>;

/**
 * The marks to write: as many of Precis's as the caller's leave room for. One moves along unless
 * the caller's do.
 */
export function marksOf(request: ModelRequest, strategy: MemoryStrategy, tables: ModelTables): Marks {
  const losesMarks = marksChoiceOf(strategy) === 'off';
  // Such requests pass as they are.
  const passes = request.upstreamState !== undefined || request.isCompaction;
  if (passes || !termsFor(request, strategy, tables).marks) return { losesMarks };
  const marks = Math.max(request.cacheMarks.most - request.marks, 0);
  return { marks, movesMark: marks > 0 && !marksMessages(request), losesMarks };
}

export function withoutMarks({ request, chosen, scope }: Call, bodyOf: BodyOf): Retry {
  const { services } = scope;
  const isMarked = (): boolean => (marksOf(request, chosen.strategy, services.config).marks ?? 0) > 0;
  return {
    mayHelp: ({ without }, status) =>
      (status === 400 || status === 422) && !without.has('marks') && isMarked(),
    next: async (refused, { json }) => {
      if (!request.cacheMarks.refusal.test(json)) return undefined;
      const without = new Set([...refused.without, 'marks' as const]);
      // Where there were none of Precis's, the upstream refuses a mark of the caller's.
      const isSame = Buffer.compare(bodyOf({ ...refused, without }).body, refused.sent) === 0;
      return isSame ? undefined : { made: refused.made, without };
    },
    answered: () => {
      noteRefused('marks', request, scope);
      services.log('info', 'the upstream refuses marks of its prompt cache', { code: 'marks_refused' });
    },
  };
}
