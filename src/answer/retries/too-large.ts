/**
 * Asks again with a view of fewer bytes, when the upstream says that the body has too many: images
 * and files that the model has seen leave (docs/answers-and-errors.md#when-the-body-is-too-large).
 */
import type { Call } from '../../request/call.ts';
import { limitAfter } from '../../upstream/body-limits.ts';
import { mayBeTooLarge, readTooLarge } from '../../upstream/too-large.ts';
import { learnBytes } from '../../view/learned.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { Retry } from './retry.ts';

/** @param options of the views of the request */
export function withinBytes(call: Call, options: MakeViewOptions): Retry {
  return {
    mayHelp: (_, status) => mayBeTooLarge(status),
    next: async ({ made, sent, without }, { status, json }) => {
      const refusal = status === undefined ? undefined : readTooLarge(status, json, sent.length);
      if (!refusal) return undefined;
      const byteLimit = limitAfter(refusal.limit, sent.length);
      const fields = { bytes: sent.length, limit: byteLimit, stated: refusal.limit !== undefined };
      call.scope.services.log('info', 'the upstream says that the body is too large', fields);
      learnBytes(byteLimit, call);
      const { unedited, unsigned, limit = 'none' } = made;
      // A gateway may refuse a body before anybody has seen its key.
      const smaller = await makeView(call, {
        ...options,
        unedited,
        unsigned,
        limit,
        byteLimit,
        refused: made,
      });
      const { bytes } = smaller.report;
      if (!bytes || bytes.after >= (made.report.bytes?.after ?? bytes.before)) return undefined;
      return { made: { ...smaller, report: { ...smaller.report, trigger: 'upstream_limit' } }, without };
    },
  };
}
