/**
 * Shows a summary as a text by Precis, once the upstream has refused the block that its API has
 * signed (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, "Errors").
 */
import type { Call } from '../../request/call.ts';
import { noteRefused } from '../../request/model-refusals.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { Retry } from './retry.ts';

/** @param options of the views of the request */
export function withoutSignature(call: Call, options: MakeViewOptions): Retry {
  const { request, scope } = call;
  return {
    mayHelp: ({ made }, status) =>
      (status === 400 || status === 422) && made.view?.summary?.signed !== undefined,
    next: async ({ made, without }, { json }) => {
      // A gateway names the block, the field or the beta, each in its own words.
      if (!json.includes('compact')) return undefined;
      const { limit = 'none', unedited } = made;
      const again = await makeView(call, { ...options, limit, unedited, unsigned: true, refused: made });
      return { made: { ...again, unsigned: true }, without };
    },
    answered: () => {
      noteRefused('signed', request, scope);
      scope.services.log('info', 'the upstream refuses summaries that its API has signed', {
        code: 'block_refused',
      });
    },
  };
}
